// Where the compiled fixtures are, and directories that last as long as a test file.
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';

import type { Storm } from './storm.js';

export const root = path.join(import.meta.dirname, '../..');
export const fixtures = path.join(root, 'test/fixtures');

export const fixture = (name: string): string => path.join(fixtures, 'build', name);

export const loadStorm = (): Storm =>
  createRequire(import.meta.url)(fixture('storm.node')) as Storm;

const scratches: string[] = [];

/** Not in the repository: that may be unreadable to the other uids which some tests use. */
export function makeScratch(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'sallyport-test-'));
  scratches.push(directory);
  return directory;
}

/** A copy of a compiled fixture that every uid can run. */
export function publicFixture(name: string): string {
  const directory = makeScratch();
  chmodSync(directory, 0o755);
  const copy = path.join(directory, name);
  copyFileSync(fixture(name), copy);
  chmodSync(copy, 0o755);
  return copy;
}

afterAll(() => {
  for (const directory of scratches) rmSync(directory, { recursive: true, force: true });
});
