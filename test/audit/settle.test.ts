// A program that is still being loaded has files open which nobody handed to it.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';

import { auditProcess, spawn, type Child } from '../../src/index.js';
import { scanOne } from '../../src/audit/audit.js';
import { settle } from '../../src/audit/settle.js';
import { makeScratch } from '../support/fixtures.js';

const children: Child[] = [];
afterAll(() => children.forEach((child) => child.kill('SIGKILL')));

const isStandard = ({ fd }: { fd: number }): boolean => fd < 3;

/** Opens a file as a loader does, says so, and then: `wait`. Node opens everything close-on-exec. */
async function startOpener(wait: string): Promise<{ child: Child; file: string; flag: string }> {
  const folder = makeScratch();
  const [file, flag] = [path.join(folder, 'library'), path.join(folder, 'flag')];
  writeFileSync(file, '');
  const script = `const fs = require('fs');
    const fd = fs.openSync(${JSON.stringify(file)});
    const flag = ${JSON.stringify(flag)};
    fs.writeSync(1, 'opened');
    ${wait}`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['null', 'pipe', 'inherit'] });
  children.push(child);
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  return { child, file, flag };
}

const SPIN = 'while (!fs.existsSync(flag));';
const isOpen = (file: string, descriptors: ReadonlyArray<{ target: string }>): boolean =>
  descriptors.some(({ target }) => target === file);

it('is looked at again until they are closed', async () => {
  const { child, file, flag } = await startOpener(
    `${SPIN} fs.closeSync(fd); setInterval(() => {}, 1e6)`,
  );
  const first = scanOne(child.pid);
  expect(isOpen(file, first.descriptors)).toBe(true);
  let looks = 0;
  const settled = settle(
    first,
    () => {
      if (++looks === 3) writeFileSync(flag, '');
      return scanOne(child.pid);
    },
    isStandard,
  );
  expect(looks).toBeGreaterThanOrEqual(3);
  expect(isOpen(file, settled.descriptors)).toBe(false);
});

it('has them told where they stay open', async () => {
  const { child, file } = await startOpener(SPIN);
  const { verdict, leaks } = auditProcess(child.pid, { against: child.plan });
  expect(verdict).toBe('leaks');
  expect(isOpen(file, leaks)).toBe(true);
});

it('is not looked at again where it sleeps, or they are planned', async () => {
  const { child, file } = await startOpener(
    'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
  );
  const never = (): never => {
    throw new Error('looked again');
  };
  const asleep = { ...scanOne(child.pid), state: 'S' };
  expect(isOpen(file, settle(asleep, never, isStandard).descriptors)).toBe(true);
  const awake = { ...asleep, state: 'R' };
  expect(settle(awake, never, () => true)).toBe(awake);
  // The check can fail.
  expect(() => settle(awake, never, isStandard)).toThrow('looked again');
});
