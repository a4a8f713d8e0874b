// `sallyport run --credentials FILE`: what is minted, delivered, masked, refused and told.
import { randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import type { CredentialedReport } from '../../src/credentials.js';
import { FakeAws, ACCOUNT, ROLE } from '../credentials/support/fake-aws.js';
import { makeScratch } from '../support/fixtures.js';
import { waitFor } from '../support/processes.js';
import { has, needs } from '../support/tools.js';
import { type Witness, witness } from '../support/witness.js';
import { runCli, startCli } from './command-line.js';
import { KEYS, KeyboardTerminal } from './terminal.js';

const PATH = '/usr/local/bin:/usr/bin:/bin';

interface Scene {
  readonly directory: string;
  /** `--credentials` with its file. */
  readonly options: string[];
  /** Passwords that the program of the source has printed. */
  readonly minted: () => string[];
  readonly workspace: string;
}

/** A source whose program makes up a password each time, and keeps a list of them. */
function makeScene(delivery: unknown, { life = 600, more = {} } = {}): Scene {
  const directory = makeScratch();
  const list = path.join(directory, 'minted');
  const program = path.join(directory, 'mint');
  writeFileSync(
    program,
    `#!/bin/sh
password="made-up-$(od -An -N12 -tx1 /dev/urandom | tr -d ' \\n')"
echo "$password" >>'${list}'
printf '{"values":{"username":"somebody","password":"%s"},"expiresAt":"%s"}' "$password" \
  "$(date -u -d '+${life} seconds' +%Y-%m-%dT%H:%M:%SZ)"
`,
    { mode: 0o755 },
  );
  const file = path.join(directory, 'credentials.json');
  const source = {
    kind: 'command',
    name: 'database',
    reason: 'the task reads a database',
    command: ['./mint'],
    plain: ['username'],
    delivery,
    ...more,
  };
  writeFileSync(file, JSON.stringify({ version: 1, sources: [source] }));
  return {
    directory,
    options: ['--credentials', file],
    minted: () => (existsSync(list) ? readFileSync(list, 'utf8').trim().split('\n') : []),
    workspace: makeScratch(),
  };
}

/** The same, whose program waits until somebody opens the gate. */
function makeGatedScene(delivery: unknown): Scene & { begun: () => boolean; openGate: () => void } {
  const scene = makeScene(delivery);
  const program = path.join(scene.directory, 'mint');
  const gate = path.join(scene.directory, 'gate');
  const begun = path.join(scene.directory, 'begun');
  expect(spawnSync('mkfifo', [gate]).status).toBe(0);
  // Open at both ends: nobody waits for the other one.
  const fd = openSync(gate, 'r+');
  const text = readFileSync(program, 'utf8');
  writeFileSync(program, text.replace('\n', `\n: >'${begun}'; read line <'${gate}'\n`));
  return {
    ...scene,
    begun: () => existsSync(begun),
    openGate: () => {
      writeSync(fd, '\n');
    },
  };
}

const pgpass = { by: 'file', format: 'pgpass', host: 'db.example' } as const;
const byVariable = { by: 'env', variables: { PASSWORD: 'password' } } as const;

function readRecord(file: string): CredentialedReport {
  return JSON.parse(readFileSync(file, 'utf8').trim()) as CredentialedReport;
}

describe('a program that prints a credential', () => {
  it('is started for the run; its file is there, and gone at the end', async () => {
    const template = {
      by: 'file',
      format: 'template',
      path: 'app/settings.json',
      template: '{"password":"{{ password | json }}"}\n',
      variable: 'SETTINGS',
    };
    const { options, minted, workspace } = makeScene([pgpass, template]);
    const script = `stat -c %a "$PGPASSFILE" "$SETTINGS"; cut -c1-27 "$PGPASSFILE"; cut -c1-13 "$SETTINGS"
      echo "$HOME"; wc -c <"$PGPASSFILE"`;
    const args = ['run', ...options, '--workspace', workspace, 'sh', '-c', script];
    const { stdout, stderr, code } = await runCli(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const home = `${workspace}/.home`;
    const [password = ''] = minted();
    const line = `db.example:5432:*:somebody:${password}\n`;
    expect(stdout).toBe(`600\n600\n${line.slice(0, 27)}\n{"password":"\n${home}\n${line.length}\n`);
    expect(minted()).toHaveLength(1);
    expect(readdirSync(home).sort()).toEqual(['.cache']);
  });

  it('is started again before what it printed expires', async () => {
    const { options, minted } = makeScene(pgpass, { life: 2 });
    const script = `cp "$PGPASSFILE" old; while cmp -s "$PGPASSFILE" old; do sleep 0.05; done; cmp "$PGPASSFILE" old; cat old`;
    const args = ['run', ...options, '--deadline', '1m', 'sh', '-c', script];
    const { stdout, code } = await runCli(args, { cwd: makeScratch() });
    expect(stdout).toMatch(/differ.*\ndb\.example:5432:\*:somebody:\*\*\*\n$/s);
    expect(code).toBe(0);
    expect(minted().length).toBeGreaterThan(1);
  });

  it('that fails: 125, nothing is started, and nothing of what it said is told', async () => {
    const { options, directory } = makeScene(pgpass);
    const secret = `made-up-${randomBytes(9).toString('hex')}`;
    writeFileSync(
      path.join(directory, 'mint'),
      `#!/bin/sh\necho ${secret}; echo ${secret} >&2; exit 3`,
    );
    const marker = path.join(makeScratch(), 'started');
    const { stdout, stderr, code } = await runCli(['run', ...options, 'touch', marker]);
    expect({ stdout, code }).toEqual({ stdout: '', code: 125 });
    expect(stderr).toMatch(
      /^sallyport: credential database could not be minted: the program ended with exit code 3; .* nothing was started\n$/,
    );
    expect(stderr).not.toContain(secret);
    expect(existsSync(marker)).toBe(false);
  });

  needs('root').it('serves a run of another user, whose file it is', async () => {
    const { options, workspace } = makeScene(pgpass);
    // Its user must get there.
    chmodSync(workspace, 0o755);
    const script = 'id -u; stat -c "%u %g %a" "$PGPASSFILE"; cut -c1-10 "$PGPASSFILE"';
    const args = [
      'run',
      ...options,
      '--user',
      '65534',
      '--workspace',
      workspace,
      'sh',
      '-c',
      script,
    ];
    const { stdout, stderr } = await runCli(args);
    expect({ stdout, stderr }).toEqual({
      stdout: '65534\n65534 65534 600\ndb.example\n',
      stderr: '',
    });
  });
});

it('what is left by a command that was killed is no hindrance to the next', async () => {
  const { options, minted, workspace } = makeScene(pgpass);
  const file = path.join(workspace, '.home/.credentials/pgpass');
  const args = ['run', ...options, '--workspace', workspace, '--quiet', 'sh', '-c'];
  const child = startCli([...args, 'echo up; exec sleep 600'], ['ignore', 'pipe', 'inherit']);
  await once(child.stdout!, 'data');
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  expect(readFileSync(file, 'utf8')).toContain(minted()[0]);
  const ran = await runCli([...args, 'wc -l <"$PGPASSFILE"']);
  expect(ran).toMatchObject({ code: 0, stdout: '1\n', stderr: '' });
  expect(existsSync(file)).toBe(false);
});

it('a command that is killed while it mints leaves nothing in the temporary directory', async () => {
  const { options, begun, openGate } = makeGatedScene(pgpass);
  const temporary = makeScratch();
  const args = ['run', ...options, 'sh', '-c', 'echo up; exec sleep 600'];
  const start = () => startCli(args, ['ignore', 'pipe', 'inherit'], { env: { TMPDIR: temporary } });
  const killed = start();
  await waitFor('the mint', begun);
  const ended = once(killed, 'exit');
  killed.kill('SIGKILL');
  await ended;
  expect(readdirSync(temporary)).toEqual([]);
  // The control: one that has minted has made its directory there.
  const child = start();
  // Twice: the program of the first may still wait there.
  openGate();
  openGate();
  await once(child.stdout!, 'data');
  expect(readdirSync(temporary)).toEqual([expect.stringMatching(/^sallyport-credentials-/)]);
  child.kill('SIGTERM');
  await once(child, 'exit');
  expect(readdirSync(temporary)).toEqual([]);
});

describe('by variables', () => {
  it.each([[[]], [['--deadline', '1h']]])(
    'a run that may last longer than it holds is refused before it starts: %j',
    async (deadline) => {
      const { options, minted } = makeScene(byVariable);
      const marker = path.join(makeScratch(), 'started');
      const args = ['run', ...options, ...deadline, 'touch', marker];
      const { stderr, code } = await runCli(args);
      expect(code).toBe(125);
      expect(stderr).toMatch(
        /cannot change in a running process: .* deliver it by endpoint, process or file/,
      );
      expect(existsSync(marker)).toBe(false);
      expect(stderr).not.toContain(minted()[0]);
    },
  );

  it('a shorter one has it', async () => {
    const { options, minted } = makeScene(byVariable);
    const script = 'printf %s "$PASSWORD" | wc -c; printf %s "$PASSWORD"';
    const args = ['run', ...options, '--deadline', '1m', 'sh', '-c', script];
    const { stdout } = await runCli(args);
    expect(stdout).toBe(`${minted()[0]?.length ?? 0}\n***`);
  });

  it('what would be used instead may not be named as well', async () => {
    const { options } = makeScene(byVariable);
    const args = ['run', ...options, '--deadline', '1m', '--set', 'PASSWORD=mine', 'true'];
    const { stderr, code } = await runCli(args);
    expect(code).toBe(125);
    expect(stderr).toMatch(/^sallyport: --set PASSWORD: would be used instead of/);
    expect(stderr).not.toContain('mine');
  });
});

describe('what it prints', () => {
  it('is masked, also where a secret comes in two pieces; what is before it is not held up', async () => {
    const { options, minted } = makeScene(byVariable);
    const script = `printf 'first '; printf %.12s "$PASSWORD"; read go; printf %s "\${PASSWORD#????????????}"; printf ' last'`;
    const child = startCli(
      ['run', ...options, '--deadline', '1m', 'sh', '-c', script],
      ['pipe', 'pipe', 'inherit'],
    );
    let seen = '';
    const first = new Promise<void>((resolve) => {
      child.stdout!.on('data', (chunk: Buffer) => {
        seen += chunk.toString();
        if (seen.length >= 6) resolve();
      });
    });
    await first;
    expect(seen).toBe('first ');
    child.stdin!.end('go\n');
    await once(child, 'close');
    expect(seen).toBe('first *** last');
    expect(minted()).toHaveLength(1);
  });

  it('is left alone by --no-mask-credentials, and the channels inherited', async () => {
    const { options, minted } = makeScene(byVariable);
    const unmasked = ['run', ...options, '--no-mask-credentials', '--deadline', '1m'];
    const { stdout } = await runCli([...unmasked, 'sh', '-c', 'echo "$PASSWORD"']);
    expect(stdout).toBe(`${minted()[0]}\n`);
    const seen = JSON.parse((await runCli([...unmasked, witness])).stdout) as Witness;
    const plain = JSON.parse((await runCli(['run', witness])).stdout) as Witness;
    const kinds = ({ descriptors }: Witness) => descriptors.map(({ fd, type }) => [fd, type]);
    expect(kinds(seen)).toEqual(kinds(plain));
  });

  it('has no secret in the record either, where --report keeps one', async () => {
    const { options, minted, directory } = makeScene(byVariable);
    const record = path.join(directory, 'runs.jsonl');
    const args = ['--quiet', '--deadline', '1m', '--report', record, '--run-id', 'b71e04'];
    const script = 'echo "$PASSWORD"; echo "$PASSWORD" >&2; exit 3';
    const ran = await runCli(['run', ...options, ...args, 'sh', '-c', script]);
    expect(ran).toMatchObject({ code: 3, stdout: '***\n', stderr: '***\n' });
    const { credentials, outcome, output } = readRecord(record);
    expect(outcome).toMatchObject({ kind: 'exited', code: 3 });
    expect(output.stdout.bytesSeen).toBe(4);
    expect(credentials.runId).toBe('b71e04');
    expect(credentials.grants).toMatchObject([
      { name: 'database', reason: 'the task reads a database', deliveries: ['env PASSWORD'] },
    ]);
    expect(credentials.end?.filesLeft).toEqual([]);
    expect(readFileSync(record, 'utf8')).not.toContain(minted()[0]);
  });
});

describe('--explain', () => {
  it('mints and makes nothing, and says what would be delivered', async () => {
    const git = { by: 'process', for: 'git', url: 'https://git.example' };
    const { options, minted, workspace } = makeScene([pgpass, git]);
    const args = ['run', ...options, '--workspace', workspace, '--explain'];
    const { stdout, stderr, code } = await runCli([...args, 'true']);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(stdout).toMatch(/ credentials +PGPASSFILE +the task reads a database /);
    expect(stdout).toMatch(/ credentials +GIT_CONFIG_VALUE_1 /);
    expect(stdout).toContain(
      'credential   database, by file .credentials/pgpass and process git https://git.example: the task reads a database\n',
    );
    expect(stdout).toContain(`file         ${workspace}/.home/.credentials/pgpass\n`);
    const json = JSON.parse((await runCli([...args, '--json', 'true'])).stdout) as {
      credentials: unknown;
    };
    expect(json.credentials).toEqual([
      {
        name: 'database',
        reason: 'the task reads a database',
        deliveries: ['file .credentials/pgpass', 'process git https://git.example'],
        isFixed: false,
      },
    ]);
    expect(minted()).toEqual([]);
    expect(readdirSync(workspace)).toEqual([]);
  });
});

describe('a role of AWS', () => {
  it('is assumed for the run, and asked for at the endpoint by the SDK', async () => {
    const aws = await FakeAws.start(60_000);
    const directory = makeScratch();
    const file = path.join(directory, 'aws.json');
    const source = {
      kind: 'aws-assume-role',
      reason: 'the task reads a bucket',
      roleArn: ROLE,
      account: ACCOUNT,
      region: 'eu-west-1',
      policy: { Version: '2012-10-17', Statement: [] },
      client: { endpoint: aws.endpoint },
    };
    writeFileSync(file, JSON.stringify({ sources: [source] }));
    const record = path.join(directory, 'runs.jsonl');
    const client = path.join(import.meta.dirname, '../credentials/clients/s3.mjs');
    const options = ['--credentials', file, '--run-id', 'b71e04', '--quiet', '--report', record];
    const { stdout, stderr, code } = await runCli(
      ['run', ...options, '--', process.execPath, client, aws.endpoint, '1', '1'],
      { env: { AWS_ACCESS_KEY_ID: 'AKIAHARNESS', AWS_SECRET_ACCESS_KEY: 'harness', PATH } },
    );
    await aws.stop();
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ ok: 'for agent-b71e04' });
    expect(aws.assumed[0]?.get('RoleSessionName')).toBe('agent-b71e04');
    expect(JSON.parse(aws.assumed[0]?.get('Policy') ?? '')).toEqual(source.policy);
    const { credentials, inheritance } = readRecord(record);
    expect(credentials.fetches[0]).toMatchObject({
      outcome: 'served',
      executable: process.execPath,
    });
    expect(inheritance.environmentNames).not.toContain('AWS_ACCESS_KEY_ID');
    const text = readFileSync(record, 'utf8');
    expect(aws.secrets.length).toBeGreaterThan(2);
    for (const secret of aws.secrets) expect(text).not.toContain(secret);
  });
});

describe('a module', () => {
  function makeModule(text: string, name = 'sources.mjs'): string[] {
    const file = path.join(makeScratch(), name);
    writeFileSync(file, text);
    return ['--credentials', file];
  }

  const source = (mint: string): string =>
    `{ name: 'made-up', reason: 'a test', mint: ${mint}, delivery: { by: 'env', variables: { A: 'a' } } }`;

  it.each([
    ['sources.mjs', 'export default'],
    ['sources.cjs', 'module.exports ='],
  ])('%s gives sources, or a function of the run id that does', async (name, gives) => {
    const mint = `() => ({ values: { a: 'for ' + runId }, expiresAt: null })`;
    const options = makeModule(`${gives} ({ runId }) => [${source(mint)}];`, name);
    const args = ['run', ...options, '--run-id', 'b71e04', '--no-mask-credentials'];
    const { stdout } = await runCli([...args, 'sh', '-c', 'echo "$A"']);
    expect(stdout).toBe('for b71e04\n');
  });

  it('whose error has a secret that was minted: it is taken out of what is told', async () => {
    const secret = `made-up-${randomBytes(9).toString('hex')}`;
    const mint = `() => {
      if (globalThis.again) throw new Error('refused: ${secret}');
      globalThis.again = true;
      return { values: { a: '${secret}' }, expiresAt: new Date(Date.now() + 1000) };
    }`;
    const delivery = `{ by: 'file', path: 'a', render: ({ values }) => values.a, variable: 'A' }`;
    const options = makeModule(`export default [{ ...${source(mint)}, delivery: ${delivery} }];`);
    const script = 'while test -e "$A"; do sleep 0.05; done';
    const { stderr, code } = await runCli(['run', ...options, 'sh', '-c', script]);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^sallyport: run: sh: credential made-up could not be minted since .*: refused: \*\*\*\n$/,
    );
  });

  it.each([
    ['SIGTERM', [143, null]],
    // As a script has to see it that waits for us.
    ['SIGINT', [null, 'SIGINT']],
  ] as const)('%s while it mints ends it, and nothing is started or left', async (signal, end) => {
    const options = makeModule(
      `export default [${source(`() => (process.stdout.write('minting'), new Promise(() => {}))`)}];`,
    );
    const marker = path.join(makeScratch(), 'started');
    const temporary = makeScratch();
    const child = startCli(['run', ...options, 'touch', marker], ['ignore', 'pipe', 'pipe'], {
      env: { TMPDIR: temporary },
    });
    await once(child.stdout!, 'data');
    const ended = once(child, 'exit');
    child.kill(signal);
    expect(await ended).toEqual(end);
    expect(existsSync(marker)).toBe(false);
    expect(readdirSync(temporary)).toEqual([]);
  });
});

describe('what cannot be meant', () => {
  const command = { kind: 'command', name: 'a', reason: 'r', command: ['x'] };
  const whole = { ...command, delivery: byVariable };
  it.each([
    [{ ...whole, kind: 'comand' }, 'sources.0.kind: must be one of aws-assume-role, command, file'],
    [{ ...whole, nam: 'x' }, 'sources.0.nam is unknown: did you mean name?'],
    [command, 'sources.0.delivery: '],
    [{ ...whole, reason: '' }, 'sources[0].reason: must say why'],
    [{ ...whole, command: [] }, 'sources.0.command: must have a program'],
    [
      { ...whole, delivery: { by: 'file', format: 'pgpas' } },
      'sources.0.delivery.format: must be one of pgpass, netrc, npmrc, template',
    ],
    [{ ...whole, delivery: { by: 'post' } }, 'sources.0.delivery.by: must be one of endpoint'],
    [
      { ...whole, delivery: { by: 'process', for: 'git', url: 'git.example' } },
      'sources[0].delivery.url: must be an http',
    ],
    [
      { ...whole, delivery: { by: 'file', format: 'template', path: '../x', template: '{{a}}' } },
      'sources[0].delivery.path: must be a relative path',
    ],
    [
      { kind: 'aws-assume-role', reason: 'r', roleArn: ROLE, account: '999999999999' },
      'sources.0: roleArn: must be a role of the account',
    ],
  ])('%j', async (source, sentence) => {
    const file = path.join(makeScratch(), 'credentials.json');
    writeFileSync(file, JSON.stringify({ sources: [source] }));
    const marker = path.join(makeScratch(), 'started');
    const ran = await runCli(['run', '--credentials', file, 'touch', marker]);
    expect(ran).toMatchObject({ code: 125, stdout: '' });
    expect(ran.stderr.match(/\n/g)).toHaveLength(1);
    expect(ran.stderr).toContain(`sallyport: --credentials ${file}: ${sentence}`);
    expect(existsSync(marker)).toBe(false);
  });

  it.each([
    [
      ['--credentials', '/srv/missing.json'],
      '--credentials /srv/missing.json: cannot be read: ENOENT',
    ],
    [
      ['--no-mask-credentials'],
      '--no-mask-credentials: there are none to mask: give --credentials FILE too',
    ],
    [['--credentials', '/etc/passwd'], 'is no JSON'],
  ])('%j', async (options, sentence) => {
    const { stderr, code } = await runCli(['run', ...options, 'true']);
    expect(code).toBe(125);
    expect(stderr).toContain(sentence);
  });

  it.each([
    ['export default () => new Promise(() => {})', 'ended this process, or waits for what never'],
    ['await new Promise(() => {})', 'ended this process, or waits for what never comes'],
    ['process.exit(0)', 'ended this process, or waits for what never comes: nothing was started'],
    ["throw new Error('of https://me:made-up-5c@host')", 'cannot be loaded: of https://***@host'],
  ])('a module: %s', async (text, sentence) => {
    const file = path.join(makeScratch(), 'sources.mjs');
    writeFileSync(file, text);
    const marker = path.join(makeScratch(), 'started');
    const { code, stderr } = await runCli(['run', '--credentials', file, 'touch', marker]);
    expect(code).toBe(125);
    expect(stderr.match(/\n/g)).toHaveLength(1);
    expect(stderr).toContain(`sallyport: --credentials ${file}: ${sentence}`);
    expect(existsSync(marker)).toBe(false);
  });

  it('no source that keeps something open holds up the end where it cannot mint', async () => {
    const file = path.join(makeScratch(), 'sources.mjs');
    const source = `{ name: 'x', reason: 'y', mint, delivery: { by: 'env', variables: { X: 'x' } } }`;
    const mint = `const mint = () => { setInterval(() => {}, 1000); throw new Error('refused'); };`;
    writeFileSync(file, `${mint} export default [${source}];`);
    const { code, stderr } = await runCli(['run', '--credentials', file, 'true']);
    expect(code).toBe(125);
    expect(stderr).toContain('credential x could not be minted: refused');
  });

  it('a byte order mark is none', async () => {
    const { options } = makeScene(pgpass);
    const [, file = ''] = options;
    writeFileSync(file, `\uFEFF${readFileSync(file, 'utf8')}`);
    expect(await runCli(['run', ...options, 'true'])).toMatchObject({ code: 0, stderr: '' });
  });

  it('a name stands there once', async () => {
    const file = path.join(makeScratch(), 'sources.json');
    writeFileSync(file, '{"sources":[{"kind":"command","kind":"file"}]}');
    const { code, stderr } = await runCli(['run', '--credentials', file, 'true']);
    expect(code).toBe(125);
    expect(stderr).toContain(`${file}: sources.0.kind stands there twice`);
  });
});

describe.skipIf(!has('bash'))('on a terminal', () => {
  const open = () => KeyboardTerminal.shell(['bash', '--norc', '--noprofile', '-i']);

  it('a prompt appears at once, secrets are masked, ^C and ^Z do what they do', async () => {
    const { options, minted } = makeScene(byVariable);
    await using tty = await open();
    const run = `$S run --quiet --deadline 1m ${options.join(' ')}`;
    tty.type(
      `${run} sh -c 'printf "na""me: "; read x; echo "got $x $PASSWORD"; read x; echo "th""en $x"; read x'`,
    );
    await tty.expect('name: ');
    tty.type('42');
    await tty.expect('got 42 ***\r\n');
    tty.send(KEYS.stop);
    await tty.expect(/Stopped.*<148>\$ /s);
    tty.type('fg');
    // bash says what goes on, and reads no more.
    await tty.expect(/fg\r\n.*run --quiet/);
    tty.type('43');
    await tty.expect('then 43\r\n');
    tty.send(KEYS.interrupt);
    await tty.expect('<130>$ ');
    expect(minted()).toHaveLength(1);
  });

  /** Until the shell has its prompt back. */
  async function stopWhileMinting(
    tty: KeyboardTerminal,
    { options, begun }: ReturnType<typeof makeGatedScene>,
    script: string,
  ): Promise<void> {
    tty.type(`$S run --quiet --deadline 1m ${options.join(' ')} sh -c '${script}'`);
    await waitFor('the mint', begun);
    tty.send(KEYS.stop);
    await tty.expect(/Stopped.*<148>\$ /s);
  }

  it('^Z while credentials are minted stops it; fg continues it at the keyboard', async () => {
    const scene = makeGatedScene(byVariable);
    const { minted, openGate } = scene;
    await using tty = await open();
    await stopWhileMinting(tty, scene, 'read x; echo "got $x $PASSWORD"');
    expect(tty.foreground()).toBe(tty.pid);
    tty.type('fg');
    await tty.expect(/fg\r\n.*run --quiet/);
    openGate();
    tty.type('42');
    await tty.expect('got 42 ***\r\n');
    await tty.expect('<0>$ ');
    expect(minted()).toHaveLength(1);
  });

  it('^Z while credentials are minted, then bg: the program runs, and the shell keeps the keyboard', async () => {
    const scene = makeGatedScene(byVariable);
    await using tty = await open();
    await stopWhileMinting(tty, scene, 'echo "ru""ns"; read x; echo "got $x"');
    tty.type('bg');
    await tty.expect('<0>$ ');
    scene.openGate();
    await tty.expect('runs');
    // It wants to read, and is stopped for it as in the background.
    tty.type('wait; echo shell has i""t');
    await tty.expect('shell has it');
    expect(tty.foreground()).toBe(tty.pid);
    tty.type('fg');
    await tty.expect(/fg\r\n.*run --quiet/);
    tty.type('42');
    await tty.expect('got 42\r\n');
    await tty.expect('<0>$ ');
  });

  it('a prompt appears that ends as a secret begins', async () => {
    const { options, minted } = makeScene(byVariable);
    await using tty = await open();
    const run = `$S run --quiet --deadline 1m ${options.join(' ')}`;
    tty.type(
      `${run} sh -c 'printf "%s %.1s" pro""mpt $PASSWORD; read x; printf "%s" \${PASSWORD#?}'`,
    );
    await tty.expect('prompt m');
    tty.send('\r');
    await tty.expect('***<0>$ ');
    expect(minted()).toHaveLength(1);
  });

  it('it is one with --no-mask-credentials', async () => {
    const { options } = makeScene(byVariable);
    await using tty = await open();
    const run = `$S run --deadline 1m --no-mask-credentials ${options.join(' ')}`;
    tty.type(`${run} sh -c 'test -t 1 && test -t 2 && test "$PASSWORD" && echo ye""s'`);
    await tty.expect('yes\r\n<0>$ ');
  });
});
