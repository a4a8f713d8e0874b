// Starts the crowd (test/fixtures/crowd.c): a process with many descriptors of every kind.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

import { fixture, makeScratch } from './fixtures.js';

export interface Crowd {
  pid: number;
  directory: string;
  child: ChildProcess;
  end(): void;
}

/** Resolves once all is open. */
export async function startCrowd(
  args: readonly string[],
  wrap: readonly string[] = [],
): Promise<Crowd> {
  const directory = makeScratch();
  const words = [...wrap, fixture('crowd'), ...args, directory];
  const [command = '', ...rest] = words;
  const child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  const { pid, stdin, stdout } = child;
  if (pid === undefined || stdin === null || stdout === null) throw new Error('no crowd');
  await Promise.race([
    once(stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error('the crowd ended'))),
  ]);
  return { pid, directory, child, end: () => stdin.end() };
}
