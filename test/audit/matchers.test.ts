// The matchers for users' own suites, as their vitest, a plain extend and a require get them.
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { spawn, type Child } from '../../src/index.js';
import { matchers } from '../../src/vitest.mjs';
import { makeScratch, root } from '../support/fixtures.js';

const children: Child[] = [];
afterAll(() => children.forEach((child) => child.kill('SIGKILL')));

function start(): Child {
  const child = spawn('sleep', ['60'], { stdio: 'null', env: { A: 'made up', B: '' } });
  children.push(child);
  return child;
}

const failureOf = (assertion: () => unknown): string => {
  try {
    assertion();
  } catch (error) {
    return (error as Error).message;
  }
  return 'passed';
};

describe('toHaveOnlyDescriptors', () => {
  it('means all of them and no other', () => {
    const child = start();
    expect(child).toHaveOnlyDescriptors([0, 1, 2]);
    expect(child.pid).toHaveOnlyDescriptors([2, 1, 0]);
    expect(child).not.toHaveOnlyDescriptors([0, 1]);
    expect(child).not.toHaveOnlyDescriptors([0, 1, 2, 3]);
    expect(failureOf(() => expect(child).toHaveOnlyDescriptors([0, 1, 7]))).toContain(
      'open beyond them: 2 char-device /dev/null (both); not open: 7',
    );
    expect(failureOf(() => expect(child).not.toHaveOnlyDescriptors([0, 1, 2]))).toContain('other');
  });

  it('refuses what is no process', () => {
    expect(failureOf(() => expect('x').toHaveOnlyDescriptors([]))).toContain('process id');
    expect(failureOf(() => expect(null).toHaveOnlyDescriptors([]))).toContain('process id');
    expect(failureOf(() => expect(2 ** 22).toHaveOnlyDescriptors([]))).toContain('ESRCH');
  });

  it('refuses what is no list of numbers', () => {
    for (const wrong of [3, undefined, ['0']] as unknown[]) {
      const numbers = wrong as number[];
      expect(failureOf(() => expect(start()).toHaveOnlyDescriptors(numbers))).toBe(
        'expected an array of numbers to compare with',
      );
    }
  });
});

describe('toHaveOnlyEnvironment', () => {
  it('means all of them and no other, and shows no value', () => {
    const child = start();
    expect(child).toHaveOnlyEnvironment(['A', 'B']);
    expect(child).not.toHaveOnlyEnvironment(['A']);
    const failure = failureOf(() => expect(child).toHaveOnlyEnvironment(['B', 'C']));
    expect(failure).toContain('beyond them: A; missing: C');
    expect(failure).not.toContain('made up');
  });

  it('shows names in which a terminal finds nothing to obey', () => {
    const child = spawn('sleep', ['60'], { stdio: 'null', env: { 'A\u001b[2J': '' } });
    children.push(child);
    expect(failureOf(() => expect(child).toHaveOnlyEnvironment([]))).toContain('A\\x1b[2J');
  });

  it('refuses what is no list of names', () => {
    for (const wrong of ['AB', undefined, [1]] as unknown[]) {
      const names = wrong as string[];
      expect(failureOf(() => expect(start()).toHaveOnlyEnvironment(names))).toBe(
        'expected an array of strings to compare with',
      );
    }
  });

  it('what cannot be read fails both ways', () => {
    const nobody = 2 ** 22;
    expect(failureOf(() => expect(nobody).toHaveOnlyEnvironment([]))).toContain('cannot be told');
    expect(failureOf(() => expect(nobody).not.toHaveOnlyEnvironment([]))).toContain(
      'cannot be told',
    );
  });
});

describe('sallyport/vitest', () => {
  it('is required with the same matchers', () => {
    const required = createRequire(import.meta.url)(root + '/dist/vitest.js') as {
      matchers: object;
    };
    expect(Object.keys(required.matchers)).toEqual(Object.keys(matchers));
  });

  it('is imported by a suite of a user', () => {
    const folder = makeScratch();
    mkdirSync(path.join(folder, 'node_modules'));
    symlinkSync(root, path.join(folder, 'node_modules/sallyport'));
    symlinkSync(path.join(root, 'node_modules/vitest'), path.join(folder, 'node_modules/vitest'));
    writeFileSync(
      path.join(folder, 'own.test.mjs'),
      `import 'sallyport/vitest';
       import { spawn } from 'sallyport';
       import { expect, it } from 'vitest';
       it('has only these', () => {
         const child = spawn('sleep', ['9'], { stdio: 'null', env: {} });
         expect(child).toHaveOnlyDescriptors([0, 1, 2]);
         expect(child).toHaveOnlyEnvironment([]);
         child.kill();
       });`,
    );
    const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
    const { status, stdout } = spawnSync(process.execPath, [vitest, 'run', '--root', folder], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], NO_COLOR: '1' },
    });
    expect(stdout).toContain('1 passed');
    expect(status).toBe(0);
  });
});
