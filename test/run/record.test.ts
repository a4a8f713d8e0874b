// The record of a run, and what subscribers of diagnostics_channel hear.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';

import {
  createEnvironment,
  run,
  runSync,
  spawn,
  type RunReport,
  type SallyportError,
} from '../../src/index.js';
import { native } from '../../src/native.js';
import { thrown } from '../support/errors.js';
import { makeScratch } from '../support/fixtures.js';
import { contained } from './support.js';

function readRecords(file: string): RunReport[] {
  const text = readFileSync(file, 'utf8');
  expect(text.endsWith('\n')).toBe(true);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as RunReport);
}

describe('record', () => {
  it('is one line for each run, whole also when many end at once', async () => {
    const record = path.join(makeScratch(), 'runs.jsonl');
    const options = { ...contained, record };
    await Promise.all(
      Array.from({ length: 20 }, (_, code) => run('sh', ['-c', `exit ${code}`], options)),
    );
    const records = readRecords(record);
    const codes = records.map(({ outcome }) => outcome.code ?? -1).sort((a, b) => a - b);
    expect(codes).toEqual(Array.from({ length: 20 }, (_, code) => code));
    expect(statSync(record).mode & 0o777).toBe(0o600);
  });

  it('is the report, without a value and without output', async () => {
    const record = path.join(makeScratch(), 'runs.jsonl');
    const report = await run('sh', ['-c', 'echo made-up-output', 'made-up-argument'], {
      ...contained,
      record,
      input: 'made-up-input',
      env: { NAME: 'made-up-value', PATH: '/usr/bin:/bin' },
    });
    expect(readRecords(record)).toEqual([
      { ...JSON.parse(JSON.stringify(report)), chain: { previous: null, index: 0 } },
    ]);
    expect(readFileSync(record, 'utf8')).not.toContain('made-up');
    expect(readRecords(record)[0]?.plan).toMatchObject({ file: 'sh' });
  });

  it('has what was handed over by its identity, what was granted with its reason, and what nobody looked at', async () => {
    const record = path.join(makeScratch(), 'runs.jsonl');
    const file = path.join(path.dirname(record), 'input');
    writeFileSync(file, 'x');
    const fd = openSync(file, 'r+');
    process.env['MADE_UP_TOKEN'] = 'made-up-value';
    try {
      await run('true', [], {
        ...contained,
        record,
        pass: [{ fd, as: 5 }],
        env: createEnvironment({
          allow: [{ name: 'MADE_UP_TOKEN', reason: 'the registry' }],
          set: { MADE_UP_MODE: 'made-up-value' },
        }),
      });
    } finally {
      delete process.env['MADE_UP_TOKEN'];
    }
    const { dev, ino } = fstatSync(fd, { bigint: true });
    closeSync(fd);
    const [written] = readRecords(record);
    expect(written).toMatchObject({
      admission: { decision: 'unreviewed', planDigest: written?.plan?.digest },
      outcome: { kind: 'exited', code: 0 },
      authorization: 'not assessed',
      complete: true,
    });
    // An empty pass list would still have the first three.
    expect(
      written?.plan?.descriptors.map(({ target, channel, object }) => [
        target,
        channel,
        object && [object.kind, object.access, object.dev, object.inode],
      ]),
    ).toEqual([
      [0, 'null', null],
      [1, 'pipe', null],
      [2, 'pipe', null],
      [5, 'descriptor', ['file', 'both', Number(dev), String(ino)]],
    ]);
    const { names, grants, passedThrough } = written!.plan!.environment;
    expect(names).toEqual(expect.arrayContaining(['MADE_UP_MODE', 'MADE_UP_TOKEN', 'PATH']));
    expect(grants).toEqual([
      { name: 'MADE_UP_TOKEN', origin: 'allowed', reason: 'the registry' },
      { name: 'MADE_UP_MODE', origin: 'set', reason: 'no reason given' },
    ]);
    expect(passedThrough).not.toContain('MADE_UP_TOKEN');
    for (const category of ['admission', 'inheritance', 'cleanup', 'effects']) {
      expect(written?.notTested.join('\n')).toContain(`${category}: `);
    }
    expect(readFileSync(record, 'utf8')).not.toContain('made-up-value');
  });

  it('is there of a run that could not be started', async () => {
    const record = path.join(makeScratch(), 'runs.jsonl');
    await run('no-such-program', [], { ...contained, record });
    expect(readRecords(record)).toMatchObject([{ outcome: { kind: 'spawn-failed' } }]);
  });

  it('whose file somebody has locked is waited for beside the event loop', async () => {
    const record = path.join(makeScratch(), 'runs.jsonl');
    const lock = openSync(record, 'a');
    expect(native().tryLockFile(lock)).toBe(0);
    // Only a loop that goes on can let go of it.
    const letGo = (): void => {
      unsubscribe('sallyport:exit', letGo);
      setTimeout(() => closeSync(lock), 100);
    };
    subscribe('sallyport:exit', letGo);
    await run('true', [], { ...contained, record });
    expect(readRecords(record)).toHaveLength(1);
  });

  it('whose file stays locked rejects, and says so', async () => {
    const record = path.join(makeScratch(), 'runs.jsonl');
    const lock = openSync(record, 'a');
    expect(native().tryLockFile(lock)).toBe(0);
    const message = expect.stringContaining('another process has locked it') as string;
    await expect(run('true', [], { ...contained, record })).rejects.toMatchObject({ message });
    expect(() => runSync('true', [], { ...contained, record })).toThrow(
      'another process has locked it',
    );
    closeSync(lock);
    expect(readFileSync(record, 'utf8')).toBe('');
    runSync('true', [], { ...contained, record });
    expect(readRecords(record)).toHaveLength(1);
  });

  it('that cannot be written rejects, and the report is not lost with it', async () => {
    const options = { ...contained, record: '/dev/full' };
    const caught = (error: unknown) => error as SallyportError;
    const errors = [
      await run('sh', ['-c', 'echo done'], options).then(() => null, caught),
      thrown(() => runSync('sh', ['-c', 'echo done'], options)),
    ];
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'ENOSPC', stagePath: '/dev/full' });
      const { outcome, output } = error?.report as RunReport;
      expect([outcome.kind, output.stdout.text]).toEqual(['exited', 'done\n']);
      // What a program printed is in no log of errors.
      expect(inspect(error)).not.toContain('done');
    }
  });
});

describe('a record whose file the program removes', () => {
  const remove = ['-c', 'rm "$1"; test ! -e "$1"', 'sh'];

  it('rejects, and says so', async () => {
    const record = path.join(makeScratch(), 'runs.jsonl');
    const options = { ...contained, record };
    const expected = {
      code: 'ENOENT',
      stagePath: record,
      message: expect.stringContaining('removed during the run') as string,
      report: { outcome: { kind: 'exited', code: 0 } },
    };
    const running = run('sh', [...remove, record], options);
    await expect(running).rejects.toMatchObject(expected);
    expect(thrown(() => runSync('sh', [...remove, record], options))).toMatchObject(expected);
  });

  it('does so where another one has its name', async () => {
    const record = path.join(makeScratch(), 'runs.jsonl');
    const replace = 'echo "{}" >"$1.new"; mv "$1.new" "$1"';
    await expect(
      run('sh', ['-c', replace, 'sh', record], { ...contained, record }),
    ).rejects.toMatchObject({ code: 'ENOENT', stagePath: record });
    expect(readFileSync(record, 'utf8')).toBe('{}\n');
  });

  it('is kept where it was moved, or never had a name', async () => {
    const record = path.join(makeScratch(), 'runs.jsonl');
    const moved = `${record}.1`;
    await run('mv', [record, moved], { ...contained, record });
    expect(readRecords(moved)).toHaveLength(1);
    const fd = openSync(record, 'w+');
    unlinkSync(record);
    await run('true', [], { ...contained, record: `/proc/self/fd/${fd}` });
    expect(readRecords(`/proc/self/fd/${fd}`)).toHaveLength(1);
    closeSync(fd);
  });
});

describe('diagnostics_channel', () => {
  it('tells of every launch and exit, and no value', async () => {
    const heard: Array<[name: string | symbol, message: unknown]> = [];
    const listen = (message: unknown, name: string | symbol): void =>
      void heard.push([name, message]);
    subscribe('sallyport:launch', listen);
    subscribe('sallyport:exit', listen);
    try {
      const running = run('sh', ['-c', 'exit 5'], { ...contained, env: { NAME: 'made-up-value' } });
      const pid = await running.started;
      await running;
      const child = spawn('true', { stdio: 'null' });
      await child.exited;
      expect(heard).toMatchObject([
        ['sallyport:launch', { pid, plan: { file: 'sh', environment: { names: ['NAME'] } } }],
        ['sallyport:exit', { pid, file: 'sh', status: { code: 5 } }],
        ['sallyport:launch', { pid: child.pid, plan: { file: 'true' } }],
        ['sallyport:exit', { pid: child.pid, status: { code: 0 } }],
      ]);
      expect(JSON.stringify(heard)).not.toContain('made-up-value');
    } finally {
      unsubscribe('sallyport:launch', listen);
      unsubscribe('sallyport:exit', listen);
    }
  });
});
