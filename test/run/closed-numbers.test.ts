// A descriptor that is named and not open is refused: no file that a run opens for itself takes its place.
import { closeSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import { run, runPipeline, runSync, type RunSyncOptions } from '../../src/index.js';
import { makeScratch } from '../support/fixtures.js';

const scratch = makeScratch();
const at = (name: string): string => path.join(scratch, name);

/** The number that the next file gets. */
function nextNumber(): number {
  const fd = openSync('/dev/null', 'r');
  closeSync(fd);
  return fd;
}

// Lanes, and what is loaded once.
beforeAll(() => run('true'));

const opening: RunSyncOptions[] = [
  {},
  { record: at('record') },
  { input: { file: '/etc/hostname' } },
  { output: { stderr: { to: at('errors') } } },
  { output: { stdout: { via: 'memfd' } } },
  { output: { stdout: { via: { file: at('output') } } } },
];
const refusedWith = (fd: number): object => ({
  outcome: {
    kind: 'spawn-failed',
    error: { code: 'EBADF', stage: 'descriptor', stagePath: String(fd) },
  },
});

describe.each(opening)('with %j', (options) => {
  it.each(['run', 'runSync'])('%s', async (name) => {
    const fd = nextNumber();
    const given = { ...options, pass: [{ fd, as: 9 }] };
    const report = await (name === 'run' ? run('true', [], given) : runSync('true', [], given));
    expect(report).toMatchObject(refusedWith(fd));
    if (options.record === undefined) return;
    const last = readFileSync(at('record'), 'utf8').trimEnd().split('\n').at(-1) ?? '';
    expect(JSON.parse(last)).toMatchObject(refusedWith(fd));
  });
});

it('runPipeline', async () => {
  const fd = nextNumber();
  const { stages } = await runPipeline([['true'], ['true', [], { pass: [{ fd, as: 9 }] }]]);
  expect(stages[0]?.outcome.kind).toBe('exited');
  expect(stages[1]).toMatchObject(refusedWith(fd));
});
