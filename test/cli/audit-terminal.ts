// All that a command prints on a terminal of a given width, until it ends.
import { spawn } from 'node:child_process';
import path from 'node:path';

import { readAll } from '../support/processes.js';
import { cli } from './terminal.js';

export async function withTerminal(
  args: readonly string[],
  { columns, env }: { columns: number; env: Record<string, string> },
): Promise<string> {
  const driver = path.join(import.meta.dirname, 'pty_driver.py');
  const child = spawn('python3', [driver, '24', String(columns), process.execPath, cli, ...args], {
    // Open: its end is a terminal that is hung up.
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], TERM: 'xterm', ...env },
  });
  const lines = String(await readAll(child.stdout))
    .trimEnd()
    .split('\n');
  const messages = lines.map((line) => JSON.parse(line) as { out?: string });
  return messages.map(({ out }) => out ?? '').join('');
}
