// What every command prints as JSON fits the schema that is published for it, whatever is in the names.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import type { CommandModel } from '../../src/cli/command-model.js';
import { runExample } from '../examples/support.js';
import { readDocument } from '../docs/markdown.js';
import { makeScratch, root } from '../support/fixtures.js';
import { copyPackage } from '../support/package-copy.js';
import { waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { runCli, startCli, type RunSettings } from './command-line.js';
import {
  checked,
  expectFits,
  expectPrinted,
  findMisfits,
  readSchema,
  schemaNames,
} from './json-support.js';

/** Escapes, a newline, quotes, a byte that is no UTF-8 by itself. */
const HOSTILE = '\x1b[31m"evil\\\n\x07\u009b\u2028';

const folder = makeScratch();
const hostile = path.join(folder, HOSTILE);
mkdirSync(hostile);
const file = path.join(hostile, `${HOSTILE}.txt`);
writeFileSync(file, 'text\n');
const example = path.join(root, 'examples/text-summary');

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Its form is what is tested; these are the members that are looked at besides. */
interface Printed {
  processes?: object[];
  broken?: object | null;
  last?: string | null;
  leaks?: object[];
  holders?: object[];
  explanation?: object | null;
  inherited?: { suspects: object[] };
}

async function print(
  name: string,
  args: readonly string[],
  settings?: RunSettings,
): Promise<{ value: Printed; code: number | null }> {
  const { code, stdout, stderr } = await runCli(args, settings);
  if (stdout === '') throw new Error(`nothing printed; ${stderr}`);
  return { value: expectPrinted(name, stdout) as Printed, code };
}

/** By a shell, which opens what is passed. */
function printByShell(name: string, script: string, ...args: string[]): unknown {
  const main = path.join(root, 'dist/cli/main.js');
  const command = [script, process.execPath, main, ...args];
  const { stdout, stderr } = spawnSync('bash', ['-c', ...command], { encoding: 'utf8' });
  if (stdout === '') throw new Error(`nothing printed; ${stderr}`);
  return expectPrinted(name, stdout);
}

/** A process with a hostile name, that has a hostile file open. */
async function startHostile(): Promise<number> {
  const script =
    'printf "\\033[31mx\\"\\n" >/proc/$$/comm; exec 7<"$1"; exec 8>/dev/null; echo up; read x; :';
  const child = spawn('sh', ['-c', script, HOSTILE, file], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child.pid!;
}

describe('schema/', () => {
  it('is up to date: else run npm run schemas', async () => {
    const { makeSchemas, printSchema, schemaFile } = (await import(
      path.join(root, 'scripts/schemas.mjs')
    )) as {
      makeSchemas: () => Map<string, object>;
      printSchema: (schema: object) => string;
      schemaFile: (name: string) => string;
    };
    const schemas = makeSchemas();
    expect([...schemas.keys()].sort()).toEqual([...schemaNames].sort());
    for (const [name, schema] of schemas) {
      expect(readFileSync(schemaFile(name), 'utf8')).toBe(printSchema(schema));
    }
  });

  it('has one for each command that takes --json', () => {
    const { stdout } = spawnSync(
      process.execPath,
      [path.join(root, 'dist/cli/main.js'), 'completion', 'json'],
      { encoding: 'utf8' },
    );
    const { program } = JSON.parse(stdout) as { program: CommandModel };
    const descriptions = schemaNames.map((name) => String(readSchema(name)['description']));
    const commands = program.commands
      .filter(({ options }) => options.some(({ long }) => long === '--json'))
      .map(({ name }) => name);
    expect(commands.length).toBeGreaterThan(6);
    const without = commands.filter(
      (name) =>
        !descriptions.some((text) => new RegExp(`sallyport ${name} [^\`]*--json`).test(text)),
    );
    expect(without).toEqual([]);
  });

  it('is listed in docs/json.md, by what prints it', () => {
    const rows = readDocument('docs/json.md').sections.flatMap((section) => section.rows);
    const listed = rows.flatMap(
      ([name = '']) => /schema\/([\w-]+)\.v1\.json\)/.exec(name)?.[1] ?? [],
    );
    expect(listed.sort()).toEqual([...schemaNames, 'profile'].sort());
  });

  it('is found by the name of the package', () => {
    const require = createRequire(path.join(root, 'package.json'));
    for (const name of schemaNames) {
      const schema = require(`sallyport/schema/${name}.v1.json`) as { $id: string };
      expect(schema.$id).toBe(`https://sallyport.dev/${name}.v1.json`);
    }
  });

  it('tells what does not fit', async () => {
    const { value } = await print('audit', ['audit', '--json', String(process.pid)]);
    const [first] = value.processes!;
    const change = (changes: object): object => ({
      ...value,
      processes: [{ ...first, ...changes }],
    });
    expect(findMisfits('audit', change({ more: 1 }))).toEqual([
      'processes.0: Unrecognized key: "more"',
    ]);
    expect(findMisfits('audit', change({ pid: '1' }))).toHaveLength(1);
    expect(findMisfits('audit', change({ pid: undefined }))).toHaveLength(1);
    expect(findMisfits('audit', change({ verdict: 'fine' }))).toHaveLength(1);
    expect(findMisfits('audit', { ...value, version: 2 })).toHaveLength(1);
  });
});

describe('what a run prints and records', () => {
  it('plan: with hostile names of variables, files, arguments and directories', () => {
    const value = printByShell(
      'plan',
      `exec 7<"$3"; exec "$0" "$1" run --explain --json --pass 7=9 --cwd "$2" --set "$4=x" \\
        --limit nofile=64:128 --allow-env ABSENT:"$4" --preset node --session group sh -c "$4"`,
      hostile,
      file,
      HOSTILE,
    );
    expect(value).toMatchObject({
      cwd: hostile,
      descriptors: [{}, {}, {}, { target: 9, object: { target: file } }],
    });
  });

  it('plan: as few options as there can be, and a workspace', async () => {
    await print('plan', ['run', '--explain', '--json', 'true']);
    const options = ['--workspace', hostile, '--run-id', 'a1', '--cache', 'playwright:why'];
    await print('plan', ['run', '--explain', '--json', ...options, 'true'], {
      env: { HOME: folder },
    });
  });

  it('ledger', () => {
    printByShell(
      'ledger',
      'exec "$0" "$1" run --profile "$2/profile.json" --explain --json <"$2/notes.txt"',
      example,
    );
  });

  it('run-record: every kind of end; record-chain and record-differences', async () => {
    const records = path.join(folder, 'records.jsonl');
    const other = path.join(folder, 'other.jsonl');
    const runs: Array<[kind: string, args: string[]]> = [
      ['exited', ['sh', '-c', 'echo out; echo err >&2; exit 3', HOSTILE]],
      ['exited', ['--cwd', hostile, '--set', `${HOSTILE}=1`, 'sh', '-c', 'sleep 300 & :']],
      ['signaled', ['sh', '-c', 'kill -9 $$']],
      [
        'deadline',
        ['--deadline', '0.2', '--grace', '0.1', 'sh', '-c', 'trap "" TERM; sleep 300; :'],
      ],
      ['stalled', ['--stall', '0.3', 'sleep', '300']],
      ['output-limit', ['--max-output', '10', 'sh', '-c', 'yes']],
      ['spawn-failed', [path.join(hostile, 'no-such-program')]],
      ['spawn-failed', ['--cwd', `${hostile}/none`, 'true']],
    ];
    for (const [kind, args] of runs) {
      await runCli(['run', '--report', records, ...args]);
      const lines = readFileSync(records, 'utf8').trimEnd().split('\n');
      const record = JSON.parse(lines.at(-1)!) as { outcome: { kind: string } };
      expect(record.outcome.kind).toBe(kind);
      expectFits('run-record', record);
      await print('run-record', ['report', '--json', records]);
    }
    const chain = await print('record-chain', ['report', '--verify', '--json', records]);
    const kept = ['--kept', String(chain.value.last)];
    await print('record-chain', ['report', '--verify', ...kept, '--json', records]);
    await runCli(['run', '--report', other, 'true']);
    const { code } = await print('record-differences', ['report', '--json', records, other]);
    expect(code).toBe(1);
    const text = readFileSync(records, 'utf8');
    writeFileSync(records, text.slice(text.indexOf('\n') + 1));
    const broken = await print('record-chain', ['report', '--verify', '--json', records]);
    expect(broken.value.broken).not.toBeNull();
  });

  it('run-record: by a profile, accepted and rejected', () => {
    const records = path.join(folder, 'reviewed.jsonl');
    const script = '"$0" "$1" run --profile "$2/profile.json" --report "$3"';
    for (const more of ['', '--env CI=1']) {
      spawnSync('bash', [
        '-c',
        `${script} ${more} <"$2/notes.txt" 2>/dev/null`,
        process.execPath,
        path.join(root, 'dist/cli/main.js'),
        example,
        records,
      ]);
    }
    const lines = readFileSync(records, 'utf8').trimEnd().split('\n');
    const decisions = lines.map((line) => {
      const record = JSON.parse(line) as { admission: { decision: string } };
      expectFits('run-record', record);
      return record.admission.decision;
    });
    expect(decisions).toEqual(['accept', 'reject']);
  });

  it('run-record: with credentials', async () => {
    const records = path.join(folder, 'minted.jsonl');
    const task = path.join(root, 'examples/agent-harness/task.mjs');
    await runExample('agent-harness/harness.mjs', [task, records]);
    const record = JSON.parse(readFileSync(records, 'utf8')) as { credentials: object };
    expect(record.credentials).toMatchObject({ version: 1 });
    expectFits('run-record', record);
  });
});

describe('what is open', () => {
  it('audit: a process with hostile names, compared with a plan, and a tree', async () => {
    const pid = await startHostile();
    const plan = path.join(folder, 'plan.json');
    writeFileSync(plan, (await runCli(['run', '--explain', '--json', 'true'])).stdout);
    const { value } = await print('audit', ['audit', '--json', '--against', plan, String(pid)]);
    expect(value).toMatchObject({
      processes: [{ command: expect.stringContaining('\x1b[31m'), verdict: 'leaks' }],
    });
    expect(JSON.stringify(value)).toContain(JSON.stringify(file));
    await print('audit', ['audit', '--json', '--tree', String(process.pid)]);
  });

  needs('root').it('audit and leaks: a process that may not be read', () => {
    const main = path.join(copyPackage(), 'dist/cli/main.js');
    for (const [name, words] of [
      ['audit', ['audit', '--json']],
      ['leaks', ['leaks', '--json']],
    ] as const) {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [main, ...words, String(process.pid)],
        { encoding: 'utf8', uid: 65534, gid: 65534 },
      );
      expect({ status, stderr }).toEqual({ status: 2, stderr: '' });
      expect(JSON.stringify(expectPrinted(name, stdout))).toContain('"unreadable":"');
    }
  });

  it('audit-change: a line for each', async () => {
    const script =
      'read x; exec 7<"$1"; read y; exec 7<&-; exec 7>/dev/null; read z; exec 7>&-; read w';
    const child = spawn('sh', ['-c', script, 'sh', file], { stdio: ['pipe', 'ignore', 'ignore'] });
    children.push(child);
    const watcher = startCli(
      ['audit', '--watch', '--interval', '5', '--json', String(child.pid)],
      ['ignore', 'pipe', 'inherit'],
    );
    children.push(watcher);
    let printed = '';
    watcher.stdout!.setEncoding('utf8').on('data', (text: string) => (printed += text));
    const seen = (type: string) => (): boolean => printed.includes(`"type":"${type}"`);
    // It has looked once when it waits.
    await waitFor('the first look', () =>
      readFileSync(`/proc/${String(watcher.pid)}/wchan`, 'latin1').includes('poll'),
    );
    const steps: Array<() => boolean> = [
      () => printed.split('\n').some((line) => line.includes('"fd":7')),
      seen('changed'),
      seen('vanished'),
    ];
    for (const step of steps) {
      child.stdin.write('\n');
      await waitFor('the change', step);
    }
    child.stdin.end('\n');
    await waitFor('the end', () => watcher.exitCode !== null);
    const lines = printed.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expectPrinted('audit-change', line);
  });

  it('leaks: of a process, and of a program', async () => {
    const pid = await startHostile();
    const { value } = await print('leaks', ['leaks', '--json', String(pid)]);
    expect(value.leaks).toHaveLength(2);
    const ran = printByShell(
      'leaks-of-program',
      `exec 24<"$2"; exec "$0" "$1" leaks --json -- "$0" -e '
         require("node:child_process").spawnSync("true")'`,
      file,
    );
    expect(ran).toMatchObject({ children: [{ leaks: [{ fd: 24 }] }] });
  });

  it('holders: of a path and a port; listeners: all, one port, one that is released', async () => {
    await startHostile();
    const byPath = await print('holders', ['holders', '--json', file]);
    expect(byPath.value.holders!.length).toBeGreaterThan(0);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await print('holders', ['holders', '--json', String(port)]);
    await print('listeners', ['listeners', '--json']);
    const { value } = await print('listeners', ['listeners', '--json', String(port)]);
    expect(value.explanation).not.toBeNull();
    await print('released-listeners', [
      'listeners',
      String(port),
      '--release',
      '--yes',
      '--force',
      '--json',
    ]);
    server.close();
  });
});

describe('what a run receives and reaches, and what was approved', () => {
  it('env: hostile names and values, with and without a command', async () => {
    const env = {
      [`TOKEN${HOSTILE.replaceAll('=', '')}`]: HOSTILE,
      LD_PRELOAD: '',
      DATABASE_URL: `postgres://u:${encodeURIComponent(HOSTILE)}@host/db`,
    };
    const { value } = await print('env', ['env', '--json'], {
      env,
    });
    expect(value.inherited!.suspects.length).toBeGreaterThan(1);
    await print('env', ['env', '--json', '--workspace', hostile, '--allow-env', 'CI', 'true'], {
      env,
    });
  });

  it('gaps', async () => {
    await print('gaps', ['gaps', '--json'], { env: { HOME: hostile } });
  });

  it('review: accepted and rejected; review-cards', async () => {
    const script = '"$0" "$1" review --json --profile "$2/profile.json"';
    for (const more of ['', '--env CI=1']) {
      printByShell('review', `${script} ${more} <"$2/notes.txt"`, example);
    }
    printByShell(
      'review',
      `${script} --cwd "$3" -- "$3/none" "$4" <"$2/notes.txt" || "$0" "$1" review --json --profile "$2/profile.json" --cwd "$3" -- /bin/echo "$4" <"$2/notes.txt"`,
      example,
      hostile,
      HOSTILE,
    );
    await print('review-cards', ['review', '--cards', '--json']);
  });

  it('commands', async () => {
    await print('commands', ['completion', 'json']);
  });

  it('every schema was put to the test', () => {
    expect([...checked].sort()).toEqual([...schemaNames].sort());
  });
});
