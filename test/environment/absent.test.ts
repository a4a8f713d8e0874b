// The report of a run that failed early names variables that programs commonly need.
import { afterEach, beforeEach, expect, it } from 'vitest';

import { createEnvironment, run } from '../../src/index.js';
import { listAbsent } from '../../src/environment/absent.js';

const before = process.env;

beforeEach(() => {
  process.env = { HOME: '/root', PATH: '/usr/bin', SSH_AUTH_SOCK: '/x', JAVA_HOME: '/y', OWN: '1' };
});

afterEach(() => {
  process.env = before;
});

const absentAfter = async (script: string, allow: string[] = []): Promise<readonly string[]> => {
  const report = await run('/bin/sh', ['-c', script], {
    containment: 'group',
    env: createEnvironment({ allow }),
  });
  return report.inheritance.absentNames;
};

it('names what we have and the program had not, and HOME in any case', async () => {
  expect(await absentAfter('exit 3')).toEqual(['HOME', 'JAVA_HOME', 'SSH_AUTH_SOCK']);
  expect(await absentAfter('exit 3', ['HOME', 'JAVA_HOME'])).toEqual(['SSH_AUTH_SOCK']);
  delete process.env['HOME'];
  expect(await absentAfter('exit 3', ['SSH_AUTH_SOCK'])).toEqual(['HOME', 'JAVA_HOME']);
});

it('none after a good end or a signal', async () => {
  expect(await absentAfter('exit 0')).toEqual([]);
  expect(await absentAfter('kill -9 $$')).toEqual([]);
});

it('none where the program failed late', () => {
  const ended = { kind: 'exited', code: 1 };
  expect(listAbsent({}, { ...ended, durationMs: 10_001 })).toEqual([]);
  expect(listAbsent({}, { ...ended, durationMs: 9_999 })).toContain('HOME');
});
