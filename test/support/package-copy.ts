// The built package and the fixtures, copied to where every uid can read them.
import { chmodSync, cpSync, existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';

import { makeScratch, root } from './fixtures.js';

const PARTS = [
  'package.json',
  'dist',
  'build/Release/sallyport.node',
  'build/Release/sallyport-launcher',
  'build/Release/sallyport-probe',
  'prebuilds',
  'node_modules/node-gyp-build',
  'node_modules/commander',
  'test/fixtures/parent.cjs',
  'test/fixtures/build',
  'test/support/processes.cjs',
  'test/support/lanes.cjs',
  'test/support/failing-calls.cjs',
];

/** Of a copy's own, the launcher. */
export const launcherOf = (copy: string): string =>
  path.join(copy, 'build/Release/sallyport-launcher');

export function copyPackage(): string {
  const directory = makeScratch();
  for (const part of PARTS) {
    if (!existsSync(path.join(root, part))) continue;
    const target = path.join(directory, part);
    mkdirSync(path.dirname(target), { recursive: true });
    cpSync(path.join(root, part), target, { recursive: true });
  }
  chmodSync(directory, 0o755);
  return directory;
}
