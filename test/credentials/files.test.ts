// Files with credentials: written in one step, for their owner, past no symlink, and removed.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import {
  createCredentialBroker,
  netrcFile,
  npmrcFile,
  pgpassFile,
  templateFile,
  runWithCredentials,
  type CredentialBroker,
} from '../../src/credentials.js';
import { run } from '../../src/index.js';
import { contained } from '../run/support.js';
import { makeScratch } from '../support/fixtures.js';
import { waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { madeUpPassword, refusalOf, runId, type MadeUp } from './support/scenes.js';

const delivery = {
  by: 'file',
  path: '.config/tool/password',
  variable: 'TOOL_PASSWORD_FILE',
  needs: ['password'],
  render: ({ values }: { values: Readonly<Record<string, string>> }) =>
    `${values['password'] ?? ''}\n`,
} as const;

function open(made: MadeUp, home?: string): CredentialBroker {
  return createCredentialBroker({
    runId,
    sources: [made.source],
    ...(home === undefined ? undefined : { home }),
  });
}

describe('a file of a credential', () => {
  it('is for its owner only, named by its variable, and gone at the end with its directories', async () => {
    const home = makeScratch();
    writeFileSync(path.join(home, 'kept'), '');
    const made = madeUpPassword(60_000, { delivery });
    const broker = open(made, home);
    const { environment, files } = await broker.open();
    const file = path.join(home, '.config/tool/password');
    expect(environment['TOOL_PASSWORD_FILE']).toBe(file);
    expect(files).toEqual([file]);
    expect(readFileSync(file, 'utf8')).toBe(`${made.passwords[0] ?? ''}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    const report = await broker.close();
    expect(report.end?.filesLeft).toEqual([]);
    expect(readdirSync(home)).toEqual(['kept']);
  });

  it('is in a directory of ours where there is no home, which goes as well', async () => {
    const broker = open(madeUpPassword(60_000, { delivery }));
    const { files } = await broker.open();
    const home = path.dirname(path.dirname(path.dirname(files[0] ?? '')));
    expect(statSync(home).mode & 0o777).toBe(0o700);
    await broker.close();
    expect(existsSync(home)).toBe(false);
  });

  it('is written anew in one step: no reader finds a half or none', async () => {
    const made = madeUpPassword(150, { delivery });
    const broker = open(made, makeScratch());
    const { files } = await broker.open();
    const [file = ''] = files;
    const seen = new Set<string>();
    const inodes = new Set<number>();
    await waitFor('five passwords', () => {
      seen.add(readFileSync(file, 'utf8'));
      inodes.add(statSync(file).ino);
      return seen.size >= 5;
    });
    for (const text of seen) expect(made.passwords).toContain(text.trimEnd());
    expect(inodes.size).toBeGreaterThan(1);
    await broker.close();
  });

  it('is taken away when what it holds has expired, and comes back', async () => {
    const made = madeUpPassword(150, { delivery });
    const broker = open(made, makeScratch());
    const { files } = await broker.open();
    const [file = ''] = files;
    made.failure = new Error('not now');
    await waitFor('its end', () => !existsSync(file));
    expect(broker.status()[0]).toMatchObject({ state: 'expired', lastError: 'not now' });
    made.failure = null;
    await waitFor('its return', () => existsSync(file));
    await broker.close();
    expect(existsSync(file)).toBe(false);
  });

  it('is taken away as well while the mint of the next one hangs', async () => {
    const made = madeUpPassword(300, { delivery, mintDeadline: 60_000 });
    const { mint } = made.source;
    const hangs = () => new Promise<never>(() => undefined);
    const source = {
      ...made.source,
      mint: ((context) => (made.passwords.length > 0 ? hangs() : mint(context))) as typeof mint,
    };
    const broker = open({ ...made, source }, makeScratch());
    const { files } = await broker.open();
    const [file = ''] = files;
    expect(existsSync(file)).toBe(true);
    await waitFor('its end', () => !existsSync(file));
    expect(broker.status()[0]).toMatchObject({ state: 'refreshing', lastError: null });
    await broker.close();
  });

  it('is never written through a symlink of a hostile workspace', async () => {
    const elsewhere = makeScratch();
    for (const place of ['.config', '.config/tool', '.config/tool/password']) {
      const home = makeScratch();
      const link = path.join(home, place);
      mkdirSync(path.dirname(link), { recursive: true });
      symlinkSync(elsewhere, link);
      const broker = open(madeUpPassword(60_000, { delivery }), home);
      const refusal = await refusalOf(broker.open());
      expect(refusal).toMatchObject({ stage: 'credentials', stagePath: link });
      expect(refusal.message).toMatch(/: remove (it|that), or give another path$/);
      expect(lstatSync(link).isSymbolicLink()).toBe(true);
    }
    const home = path.join(makeScratch(), 'home');
    symlinkSync(elsewhere, home);
    const broker = open(madeUpPassword(60_000, { delivery }), home);
    await expect(broker.open()).rejects.toMatchObject({ code: 'ENOTDIR', stagePath: home });
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('nor through one that the run puts there later', async () => {
    const elsewhere = makeScratch();
    writeFileSync(path.join(elsewhere, 'password'), 'of somebody else');
    const home = makeScratch();
    const made = madeUpPassword(300, { delivery });
    const broker = open(made, home);
    await broker.open();
    const directory = path.join(home, '.config/tool');
    const moved = path.join(home, 'moved');
    renameSync(directory, moved);
    symlinkSync(elsewhere, directory);
    const before = made.passwords.length;
    await waitFor('a new one', () => made.passwords.length > before + 1);
    expect(readFileSync(path.join(elsewhere, 'password'), 'utf8')).toBe('of somebody else');
    await broker.close();
    expect(existsSync(path.join(moved, 'password'))).toBe(false);
    expect(readFileSync(path.join(elsewhere, 'password'), 'utf8')).toBe('of somebody else');
  });

  it('does not replace one that is there', async () => {
    const home = makeScratch();
    writeFileSync(path.join(home, '.netrc'), 'mine');
    const made = madeUpPassword(60_000, { delivery: netrcFile({ host: 'git.example' }) });
    await expect(open(made, home).open()).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(path.join(home, '.netrc'), 'utf8')).toBe('mine');
  });

  it('of a run that goes on is not replaced, also in the folder that is ours', async () => {
    const home = makeScratch();
    const of = () => madeUpPassword(300, { delivery: pgpassFile({ host: 'db.example' }) });
    const first = of();
    const running = open(first, home);
    await running.open();
    await expect(open(of(), home).open()).rejects.toMatchObject({ code: 'EEXIST' });
    // Nor after it was written anew.
    await waitFor('a new one', () => first.passwords.length > 2);
    await expect(open(of(), home).open()).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readdirSync(path.join(home, '.credentials'))).toEqual(['pgpass']);
    await running.close();
    expect(readdirSync(home)).toEqual([]);
  });

  it('of a run that was killed is replaced there, and nothing else', async () => {
    const home = makeScratch();
    const folder = path.join(home, '.credentials');
    mkdirSync(folder);
    const delivery = pgpassFile({ host: 'db.example' });
    const again = () => open(madeUpPassword(60_000, { delivery }), home);
    writeFileSync(path.join(folder, 'pgpass'), 'left');
    const broker = again();
    await broker.open();
    expect(readFileSync(path.join(folder, 'pgpass'), 'utf8')).toMatch(/^db\.example:/);
    await broker.close();
    expect(readdirSync(folder)).toEqual([]);
    const target = path.join(makeScratch(), 'target');
    writeFileSync(target, 'of somebody else');
    symlinkSync(target, path.join(folder, 'pgpass'));
    await expect(again().open()).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(target, 'utf8')).toBe('of somebody else');
  });

  it('whose rendering fails is a mint that failed', async () => {
    const made = madeUpPassword(60_000, {
      delivery: netrcFile({ host: 'git.example' }),
      mint: () => ({ values: { username: 'x', password: 'with blank' }, expiresAt: null }),
    });
    const refusal = await refusalOf(open(made, makeScratch()).open());
    expect(refusal).toMatchObject({ code: 'ERR_SALLYPORT_CREDENTIAL_UNAVAILABLE' });
    expect(String(refusal)).not.toContain('with blank');
  });

  needs('root').it('belongs to the user of the run, who can read it', async () => {
    const owner = { uid: 65534, gid: 65534 };
    const { source, passwords } = madeUpPassword(60_000, { delivery });
    const mine = createCredentialBroker({ runId, sources: [source] });
    const theirs = createCredentialBroker({ runId, sources: [source], owner });
    const options = { ...contained, user: 65534, group: 65534, groups: [], cwd: '/' };
    const read = ['-c', 'cat "$TOOL_PASSWORD_FILE" | wc -c'];
    const failed = await runWithCredentials(mine, 'sh', read, options);
    expect(failed.output.stderr.text).toContain('Permission denied');
    const report = await runWithCredentials(theirs, 'sh', read, options);
    expect(report.output.stdout.text.trim()).toBe(String((passwords[1]?.length ?? 0) + 1));
  });
});

describe('the files of many runs', () => {
  it('have one listener for the end of this process, and none afterwards', async () => {
    const before = process.listenerCount('exit');
    const brokers = Array.from({ length: 12 }, () => open(madeUpPassword(60_000, { delivery })));
    await Promise.all(brokers.map((broker) => broker.open()));
    expect(process.listenerCount('exit')).toBe(before + 1);
    await Promise.all(brokers.map((broker) => broker.close()));
    expect(process.listenerCount('exit')).toBe(before);
  });

  it('are refused with their stage where no directory can be made', async () => {
    const { TMPDIR } = process.env;
    process.env['TMPDIR'] = '/nowhere';
    const opening = open(madeUpPassword(60_000, { delivery })).open();
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
    await expect(opening).rejects.toMatchObject({ code: 'ENOENT', stage: 'credentials' });
  });

  it('are refused with their stage where the name is none', async () => {
    const long = { ...delivery, path: 'x'.repeat(300) };
    const opening = open(madeUpPassword(60_000, { delivery: long })).open();
    await expect(opening).rejects.toMatchObject({ code: 'ENAMETOOLONG', stage: 'credentials' });
  });

  it('are not written where render gives no string', async () => {
    const render = (() => Promise.reject(new Error('late'))) as never;
    const opening = open(madeUpPassword(60_000, { delivery: { ...delivery, render } })).open();
    await expect(opening).rejects.toThrow('render of .config/tool/password gave no string');
  });
});

describe('the files of other programs', () => {
  it('have several sources in one, each with its line', async () => {
    const home = makeScratch();
    const hosts = ['a.example', 'b.example'];
    const made = hosts.map((host) =>
      madeUpPassword(60_000, { name: host, delivery: netrcFile({ host }) }),
    );
    const broker = createCredentialBroker({
      runId,
      sources: made.map(({ source }) => source),
      home,
    });
    await broker.open();
    const lines = made.map(
      ({ passwords }, index) =>
        `machine ${hosts[index] ?? ''} login somebody password ${passwords[0] ?? ''}\n`,
    );
    expect(readFileSync(path.join(home, '.netrc'), 'utf8')).toBe(lines.join(''));
    await broker.close();
  });

  it('have any text, by a template', async () => {
    const home = makeScratch();
    const made = madeUpPassword(60_000, {
      mint: () => ({ values: { user: 'a"b', password: 'p/w d' }, expiresAt: null }),
      delivery: templateFile({
        path: 'app.json',
        template:
          '{"user":"{{ user|json }}","url":"x://{{user|url}}:{{password | url}}@y","{{":"{{password}}"}',
        variable: 'APP',
      }),
    });
    const broker = open(made, home);
    const { environment } = await broker.open();
    const text = readFileSync(environment['APP'] ?? '', 'utf8');
    expect(JSON.parse(text)).toEqual({ user: 'a"b', url: 'x://a%22b:p%2Fw%20d@y', '{{': 'p/w d' });
    await broker.close();
    expect(templateFile({ path: 'a', template: '{{x}}{{y|url}}{{x}}' }).needs).toEqual(['x', 'y']);
  });

  it.each([
    ['no value', 'nothing', 'must have a {{name}}'],
    ['a form that there is not', '{{a|base64}}', '{{a|base64}}: the forms are json and url'],
    ['no text', 7 as never, 'must be text'],
  ])('by a template with %s are refused', (_, template, sentence) => {
    expect(() => templateFile({ path: 'a', template })).toThrow(sentence);
  });

  it('by a template need what it names, without a line end', async () => {
    const delivery = templateFile({ path: 'a', template: '{{token}}' });
    const missing = madeUpPassword(60_000, { delivery });
    expect(String(await refusalOf(open(missing, makeScratch()).open()))).toContain('gave no token');
    const mint = () => ({ values: { token: 'made\nup' }, expiresAt: null });
    const broken = madeUpPassword(60_000, { delivery, mint });
    expect(String(await refusalOf(open(broken, makeScratch()).open()))).toContain('line end');
  });

  it('escape what pgpass escapes', () => {
    const values = { username: 'a:b', password: 'c\\d:e' };
    const { render } = pgpassFile({ host: '::1', database: 'x' });
    expect(render({ values, expiresAt: null })).toBe('\\:\\:1:5432:x:a\\:b:c\\\\d\\:e\n');
  });

  needs('npm').it('are read by npm', async () => {
    const delivered = npmrcFile({ registry: 'http://127.0.0.1:9/npm', scope: '@made-up' });
    const { source } = madeUpPassword(60_000, {
      delivery: delivered,
      mint: () => ({ values: { token: 'npm_made_up_token' }, expiresAt: null }),
    });
    const home = makeScratch();
    const broker = createCredentialBroker({ runId, sources: [source], home });
    const { environment } = await broker.open();
    const PATH = `${path.dirname(process.execPath)}:/usr/bin:/bin`;
    const options = { ...contained, env: { ...environment, PATH, HOME: home }, cwd: home };
    const config = await run('npm', ['config', 'get', '@made-up:registry'], options);
    expect(config.output.stdout.text.trim()).toBe('http://127.0.0.1:9/npm/');
    // npm shows that there is a token, and protects it.
    const list = await run('npm', ['config', 'list'], options);
    expect(list.output.stdout.text).toContain('//127.0.0.1:9/npm/:_authToken = (protected)');
    await broker.close();
  });
});
