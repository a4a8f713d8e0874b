// `umask`, `nice`, `ioPriority`, `oomScoreAdjust`, `cpuAffinity`: asked of the child and of /proc.
import { readFileSync, statSync } from 'node:fs';
import { getPriority } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { launch, spawn, type SpawnOptions } from '../../../src/index.js';
import { makeScratch } from '../../support/fixtures.js';
import { readStatus } from '../../support/processes.js';
import { needs } from '../../support/tools.js';
import { readWitness, witness, type Witness } from '../../support/witness.js';

const ask = (options: SpawnOptions): Promise<Witness> => readWitness(spawn(witness, [], options));

const plain = await ask({});

/** A child that holds on until `look` has seen it. */
async function whileHeld<T>(options: SpawnOptions, look: (pid: number) => T): Promise<T> {
  const child = spawn(witness, ['--quiet', '--hold'], { stdio: 'null', ...options });
  const seen = look(child.pid);
  child.kill('SIGKILL');
  await child.exited;
  return seen;
}

describe('umask', () => {
  it.each([0, 0o027, 0o077, 0o777])('%i', async (umask) => {
    expect((await ask({ umask })).umask).toBe(umask);
    const seen = await whileHeld({ umask }, (pid) => readStatus(pid)['Umask']);
    expect(seen).toBe(umask.toString(8).padStart(4, '0'));
  });

  it('decides the mode of a new file, and ours stays as it is', async () => {
    const before = readStatus()['Umask'];
    const file = path.join(makeScratch(), 'made');
    await spawn('/bin/sh', ['-c', ': > "$0"', file], { umask: 0o137, stdio: 'null' }).exited;
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(readStatus()['Umask']).toBe(before);
  });
});

describe('nice', () => {
  it.each([0, 1, 7, 19])('%i', async (nice) => {
    expect((await ask({ nice })).nice).toBe(nice);
    expect((await ask({ nice, noNewPrivileges: false })).nice).toBe(nice);
    expect(await whileHeld({ nice }, (pid) => getPriority(pid))).toBe(nice);
  });

  it('goes with the child and not with its lane', async () => {
    await ask({ nice: 9 });
    const children = Array.from({ length: 10 }, () => launch(witness));
    const seen = await Promise.all(children.map(async (child) => readWitness(await child)));
    expect(new Set(seen.map(({ nice }) => nice))).toEqual(new Set([plain.nice]));
    expect(getPriority()).toBe(plain.nice);
  });

  needs('raised priority').it('below zero, where we may', async () => {
    // -1 is the number that stands for an id to look up, elsewhere.
    for (const nice of [-1, -5, -20]) expect((await ask({ nice })).nice).toBe(nice);
  });
});

describe('ioPriority', () => {
  const BEST_EFFORT = 2 << 13;
  const IDLE = 3 << 13;
  it.each<[NonNullable<SpawnOptions['ioPriority']>, number]>([
    [{ class: 'best-effort' }, BEST_EFFORT | 4],
    [{ class: 'best-effort', level: 0 }, BEST_EFFORT],
    [{ class: 'best-effort', level: 7 }, BEST_EFFORT | 7],
    [{ class: 'idle' }, IDLE],
  ])('%j', async (ioPriority, expected) => {
    expect((await ask({ ioPriority })).ioPriority).toBe(expected);
  });

  needs('raised priority').it('realtime, where we may', async () => {
    const seen = await ask({ ioPriority: { class: 'realtime', level: 3 } });
    expect(seen.ioPriority).toBe((1 << 13) | 3);
  });
});

describe('oomScoreAdjust', () => {
  const own = Number(readFileSync('/proc/self/oom_score_adj', 'latin1'));

  // Lowering it needs a privilege that root lacks in many containers.
  it.each([own, 1, 500, 1000].filter((value) => value >= own))('%i', async (oomScoreAdjust) => {
    expect((await ask({ oomScoreAdjust })).oomScoreAdjust).toBe(oomScoreAdjust);
    const look = (pid: number) => readFileSync(`/proc/${pid}/oom_score_adj`, 'latin1').trim();
    expect(await whileHeld({ oomScoreAdjust }, look)).toBe(`${oomScoreAdjust}`);
  });

  it('below zero: done, or refused as a privilege; in no case misread', async () => {
    try {
      expect((await ask({ oomScoreAdjust: -1000 })).oomScoreAdjust).toBe(-1000);
    } catch (error) {
      // EINVAL would be for a number that is none.
      expect(error).toMatchObject({ code: 'EACCES', stage: 'oomScoreAdjust' });
    }
  });

  it('leaves ours as it is', async () => {
    await ask({ oomScoreAdjust: 1000 });
    expect(Number(readFileSync('/proc/self/oom_score_adj', 'latin1'))).toBe(own);
    expect((await ask({})).oomScoreAdjust).toBe(own);
  });
});

describe('cpuAffinity', () => {
  const [first = 0] = plain.processors;
  const last = plain.processors.at(-1) ?? 0;

  it.each([[[first]], [[last]], [plain.processors], [[last, first, first]]])(
    '%j',
    async (cpuAffinity) => {
      const expected = [...new Set(cpuAffinity)].sort((a, b) => a - b);
      expect((await ask({ cpuAffinity })).processors).toEqual(expected);
    },
  );

  it('stands in /proc, and ours stays as it is', async () => {
    const list = 'Cpus_allowed_list';
    const before = readStatus()[list];
    const seen = await whileHeld({ cpuAffinity: [last] }, (pid) => readStatus(pid)[list]);
    expect(seen).toBe(String(last));
    expect(readStatus()[list]).toBe(before);
    expect((await ask({})).processors).toEqual(plain.processors);
  });

  it('takes those that are there, of numbers that are not', async () => {
    expect((await ask({ cpuAffinity: [first, 8191] })).processors).toEqual([first]);
  });
});

it('all of them at once, by every route', async () => {
  const [cpu = 0] = plain.processors;
  const options: SpawnOptions = {
    umask: 0o70,
    nice: 3,
    ioPriority: { class: 'best-effort', level: 6 },
    oomScoreAdjust: 1000,
    cpuAffinity: [cpu],
  };
  const expected = {
    umask: 0o70,
    nice: 3,
    ioPriority: (2 << 13) | 6,
    oomScoreAdjust: 1000,
    processors: [cpu],
  };
  expect(await ask(options)).toMatchObject(expected);
  expect(await ask({ ...options, noNewPrivileges: false })).toMatchObject(expected);
  expect(await readWitness(await launch(witness, [], options))).toMatchObject(expected);
});
