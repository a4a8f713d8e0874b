// What the tests of runs share: the ways of containment, and trees of processes to end.
import { randomUUID } from 'node:crypto';

import { afterAll, expect } from 'vitest';

import {
  run,
  type ContainmentMethod,
  type ContainmentWish,
  type Run,
  type RunOptions,
} from '../../src/index.js';
import { listCgroups, makeCgroup, removeCgroup } from '../support/cgroups.js';
import { fixture } from '../support/fixtures.js';
import { listMarked, waitFor } from '../support/processes.js';

const parent = makeCgroup();

/** What there is everywhere, by name. */
export const methods: readonly ContainmentMethod[] = ['init', 'group'];

/** Every case that concerns the end of a run is tried with each of these. */
export const ways: ReadonlyArray<readonly [ContainmentMethod, ContainmentWish]> = [
  ...methods.map((method) => [method, method] as const),
  // Where none can be made, cgroup.test.ts says so.
  ...(parent === undefined ? [] : [['cgroup', { require: 'cgroup', cgroup: { parent } }] as const]),
];

afterAll(() => {
  if (parent === undefined) return;
  expect(listCgroups(parent)).toEqual([]);
  removeCgroup(parent);
});

/** For cases that do not concern it: the default. */
export const contained = {} as const;

export interface TreeRun {
  readonly running: Run;
  /** Stands in the arguments of each of its processes. */
  readonly mark: string;
  /** MEMBER → pid, as they said themselves. */
  readonly pids: Promise<ReadonlyMap<string, number>>;
}

/** A tree of test/fixtures/tree.c; `pids` once each member is what it should be. */
export function runTree(members: readonly string[], options: RunOptions): TreeRun {
  const mark = randomUUID();
  const pids = new Map<string, number>();
  let tell!: (pids: ReadonlyMap<string, number>) => void;
  const told = new Promise<ReadonlyMap<string, number>>((resolve) => {
    tell = resolve;
  });
  const to = (line: string): void => {
    const [member = '', pid] = line.split(' ');
    pids.set(member, Number(pid));
    if (pids.size === members.length + 1) tell(pids);
  };
  const running = run(fixture('tree'), [mark, ...members], {
    ...options,
    output: { stdout: { to } },
  });
  return { running, mark, pids: told };
}

/** Zombies of others may take a moment to be reaped; whoever runs may not. */
export async function expectNobody(mark: string): Promise<void> {
  await waitFor('nobody with the mark', () => listMarked(mark).length === 0, 1_000);
}
