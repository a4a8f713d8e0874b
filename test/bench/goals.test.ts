// The table of goals: a ratio is of one run, and a miss says by how much.
import { describe, expect, it } from 'vitest';

import { evaluateGoals } from '../../bench/goals.mjs';

const row = (id: string, values: Record<string, number>) => ({ id, values });

function find(sections: unknown[], what: string, target: string) {
  const goal = evaluateGoals(sections).find((one) => one.what === what && one.target === target);
  if (goal === undefined) throw new Error(`no goal ${what} ${target}`);
  return goal;
}

describe('evaluateGoals', () => {
  const calls = {
    id: 'calls true',
    rows: [
      row('launch', { blockedP50: 30, exitedP50: 700 }),
      row('node', { blockedP50: 500, exitedP50: 900 }),
      row('bun', { blockedP50: 100, exitedP50: 500 }),
    ],
  };

  it('says by how much a limit is missed', () => {
    expect(find([calls], 'launch() blocks, /bin/true', '≤ 0.05 × Node')).toMatchObject({
      seen: '0.060 × (30.0 of 500.0 µs)',
      met: 'no, 20 % over',
    });
    expect(find([calls], 'launch() blocks, /bin/true', '≤ 0.4 × Bun').met).toBe('yes');
  });

  it('measures throughput the other way round', () => {
    const rates = { id: 'throughput true', rows: [row('launch', { 8: 60 }), row('c', { 8: 100 })] };
    expect(find([rates], 'launch() 8 in flight, /bin/true', '≥ 0.85 × C').met).toBe(
      'no, 29 % short',
    );
  });

  it('takes the best of several peers', () => {
    const rows = [row('spawn', { read: 2 }), row('node', { read: 2 }), row('bun', { read: 4 })];
    const seen = find(
      [{ id: 'pipes', rows }],
      'reading from a child',
      '≥ 1 × the best of Node and Bun',
    );
    expect(seen.seen).toBe('0.50 × (2.00 of 4.00 GiB/s)');
  });

  it('compares within one section only, and never guesses', () => {
    const heap = (rows: unknown[]) => ({ id: 'heap buffers 1', rows });
    const apart = [
      heap([row('launch', { 'p50 1': 10 }), row('bun', { 'p50 1': 60 })]),
      heap([row('spawn', { 'p50 1': 100 }), row('node', { 'p50 1': 40_000 })]),
    ];
    expect(find(apart, 'launch() blocks at 1 GiB', '≤ 0.01 × Node').seen).toBe('not measured');
    expect(find(apart, 'spawn() blocks at 1 GiB', '≤ 0.01 × Node').met).toBe('yes');
  });
});
