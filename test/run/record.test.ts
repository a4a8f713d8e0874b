// The record of a run, and what subscribers of diagnostics_channel hear.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { run, spawn, type RunReport } from '../../src/index.js';
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

  it('is there of a run that could not be started', async () => {
    const record = path.join(makeScratch(), 'runs.jsonl');
    await run('no-such-program', [], { ...contained, record });
    expect(readRecords(record)).toMatchObject([{ outcome: { kind: 'spawn-failed' } }]);
  });

  it('that cannot be written rejects', async () => {
    const running = run('true', [], { ...contained, record: '/dev/full' });
    await expect(running).rejects.toMatchObject({ code: 'ENOSPC', stagePath: '/dev/full' });
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
