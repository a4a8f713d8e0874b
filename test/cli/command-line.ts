// Runs the built command with no terminal, as a script or a service would.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';

import { readAll } from '../support/processes.js';
import { cli } from './terminal.js';

export interface Ran {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface RunSettings {
  env?: Record<string, string>;
  cwd?: string;
  input?: string;
}

/** A child of this process: to be ended by the test. */
export function startCli(
  args: readonly string[],
  stdio: StdioOptions,
  settings: RunSettings = {},
): ChildProcess {
  return spawn(process.execPath, [cli, ...args], {
    stdio,
    cwd: settings.cwd,
    env: { PATH: '/usr/bin:/bin', ...settings.env },
  });
}

export async function runCli(args: readonly string[], settings: RunSettings = {}): Promise<Ran> {
  const child = startCli(args, ['pipe', 'pipe', 'pipe'], settings);
  child.stdin!.on('error', () => undefined).end(settings.input ?? '');
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const [stdout, stderr] = await Promise.all([readAll(child.stdout!), readAll(child.stderr!)]);
  const [code, signal] = await ended;
  return { code, signal, stdout: stdout.toString(), stderr: stderr.toString() };
}
