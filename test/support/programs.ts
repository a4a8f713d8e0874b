// Runs a program under a Node, plainly or registered, in surroundings of which nothing leaks in.
import path from 'node:path';
import { text } from 'node:stream/consumers';

import { spawn, type PassEntry } from '../../src/index.js';
import { root } from './fixtures.js';

export const register = path.join(root, 'dist/register.js');

export interface Printed {
  code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

export interface ProgramOptions {
  /** Flags of Node. */
  flags?: readonly string[];
  env?: Record<string, string>;
  /** Descriptors that it has besides. */
  pass?: readonly PassEntry[];
  cwd?: string;
  /** A command in front of Node. */
  wrap?: readonly string[];
  /** Milliseconds until it is killed. */
  deadline?: number;
}

/** @param words flags, a script, and its arguments */
export async function runNode(
  node: string,
  words: readonly string[],
  {
    flags = [],
    env = {},
    pass = [],
    cwd = root,
    wrap = [],
    deadline = 60_000,
  }: ProgramOptions = {},
): Promise<Printed> {
  const [command = node, ...args] = [...wrap, node, ...flags, ...words];
  const { PATH = '', HOME = '' } = process.env;
  await using child = spawn(command, args, {
    cwd,
    pass,
    env: { PATH, HOME, ...env },
    // As for a program at a shell.
    noNewPrivileges: false,
    killSignal: 'SIGKILL',
    timeout: deadline,
  });
  const [stdout, stderr, { code, signal }] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    child.exited,
  ]);
  // The number of the process in Node's own warnings.
  return { code, signal, stdout, stderr: stderr.replace(/\(node:\d+\)/g, '(node)') };
}

/** With what `--require sallyport/register` does. */
export function runRegistered(
  node: string,
  words: readonly string[],
  options: ProgramOptions = {},
): Promise<Printed> {
  const flags = ['--require', register, ...(options.flags ?? [])];
  return runNode(node, words, { ...options, flags });
}
