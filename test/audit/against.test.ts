// Compared with a launch plan, or with what is written down.
import { closeSync, openSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';

import {
  auditProcess,
  describePlan,
  spawn,
  type Child,
  type ProcessAudit,
} from '../../src/index.js';
import { thrown } from '../support/errors.js';

const children: Child[] = [];
afterAll(() => children.forEach((child) => child.kill('SIGKILL')));

function start(...[file, args, options]: Parameters<typeof spawn>): Child {
  const child = spawn(file, args, options);
  children.push(child);
  return child;
}

const numbers = ({ leaks }: ProcessAudit): number[] => leaks.map(({ fd }) => fd);

describe('against the plan by which it was started', () => {
  it('a child that opened nothing is clean', () => {
    const fd = openSync('/etc/hosts', 'r');
    const child = start('sleep', ['60'], { pass: [{ fd, as: 7 }] });
    closeSync(fd);
    for (const plan of [
      child.plan,
      JSON.parse(JSON.stringify(child.plan)) as typeof child.plan,
      describePlan(child.plan),
    ]) {
      expect(auditProcess(child.pid, { against: plan })).toMatchObject({
        verdict: 'clean',
        leaks: [],
      });
    }
  });

  it('what it opened itself is a leak', async () => {
    const child = start('sh', ['-c', 'exec 9</etc/passwd; echo; read line'], { stdio: 'pipe' });
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    const audit = auditProcess(child.pid, { against: child.plan });
    expect(audit.verdict).toBe('leaks');
    expect(numbers(audit)).toEqual([9]);
    const lenient = { descriptors: [0, 1, 2], openedLater: 'allow' as const };
    expect(auditProcess(child.pid, { against: lenient }).verdict).toBe('clean');
  });

  it('another object at a planned number is a leak', async () => {
    const fd = openSync('/etc/hosts', 'r');
    const child = start('sh', ['-c', 'exec 7</etc/passwd; echo; read line'], {
      stdio: 'pipe',
      pass: [{ fd, as: 7 }],
    });
    closeSync(fd);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    expect(numbers(auditProcess(child.pid, { against: child.plan }))).toEqual([7]);
  });
});

describe('against expectations', () => {
  it('numbers, and what must be behind them', () => {
    const child = start('sleep', ['60'], { stdio: 'null' });
    const audit = (descriptors: unknown): ProcessAudit =>
      auditProcess(child.pid, { against: { descriptors } as never });
    expect(audit([0, 1, 2]).verdict).toBe('clean');
    // What may be open need not be.
    expect(audit([0, 1, 2, 3]).verdict).toBe('clean');
    expect(numbers(audit([0, 2]))).toEqual([1]);
    expect(numbers(audit([0, 1, { fd: 2, expect: { kind: 'file', access: 'write' } }]))).toEqual([
      2,
    ]);
    const device = { kind: 'char-device', access: 'both', path: '/dev/null' };
    expect(audit([0, 1, { fd: 2, expect: device }]).verdict).toBe('clean');
  });

  it.each([
    [{}],
    [{ descriptors: 3 }],
    [{ descriptors: ['3'] }],
    [{ descriptors: [-1] }],
    [{ descriptors: [{ fd: 1, expect: { kind: 'x' } }] }],
    [{ descriptors: [], openedLater: 'maybe' }],
    [{ version: 2, descriptors: [] }],
    [{ version: 1, descriptors: [1] }],
    [{ descriptors: [], descriptor: 1 }],
    ['plan.json'],
  ])('refuses %j', (against) => {
    const error = thrown(() => auditProcess(process.pid, { against: against as never }));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.code).toMatch(/INVALID_ARGUMENT|UNKNOWN_OPTION/);
  });
});
