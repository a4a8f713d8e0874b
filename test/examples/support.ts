// Starts an example as its reader would, and gives what it printed.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import path from 'node:path';

import { root } from '../support/fixtures.js';
import { copyPackage } from '../support/package-copy.js';
import { readAll } from '../support/processes.js';

export interface Printed {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface ExampleOptions {
  env?: Record<string, string>;
  /** The package whose example it is. */
  base?: string;
  /** Of another user: needs root. */
  uid?: number;
}

/** With nothing in its environment but a PATH, and what is given. */
export function startExample(
  file: string,
  args: readonly string[] = [],
  { env = {}, base = root, uid }: ExampleOptions = {},
): ChildProcess {
  return spawn(process.execPath, [path.join(base, 'examples', file), ...args], {
    cwd: base,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...env },
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
}

export async function finish(child: ChildProcess): Promise<Printed> {
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const [stdout, stderr] = await Promise.all([readAll(child.stdout!), readAll(child.stderr!)]);
  const [code, signal] = await ended;
  return { code, signal, stdout: stdout.toString(), stderr: stderr.toString() };
}

export function runExample(
  file: string,
  args?: readonly string[],
  options?: ExampleOptions,
): Promise<Printed> {
  return finish(startExample(file, args, options));
}

/** The package with its examples, for every uid. */
export function copyWithExamples(): string {
  const copy = copyPackage();
  for (const part of ['examples', 'node_modules/zod']) {
    cpSync(path.join(root, part), path.join(copy, part), { recursive: true });
  }
  return copy;
}
