// Runs a node script that ends itself, and sees what it leaves behind.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

import { fixture } from './fixtures.js';
import { hasEnded, listChildren, waitFor } from './processes.js';

export interface Ending {
  /** 128 + the signal where one ended it. */
  code: number;
  stdout: string;
  stderr: string;
  /** Pids that were left behind and have not ended, once all but `expected` of them have. */
  survivors: number[];
  /** How many processes were left behind in all. */
  orphans: number;
}

/**
 * @param source a CommonJS script, which prints nothing but what the test wants to see
 * @param countKnown from what the script printed: how many may live on
 */
export async function endOf(
  source: string,
  countKnown: (stdout: string) => number = () => 0,
): Promise<Ending> {
  // By the subreaper, which adopts them: they cannot hide behind init.
  const parent = spawn(fixture('subreaper'), [process.execPath, '-e', source], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  parent.stdout?.on('data', (piece: Buffer) => (stdout += piece.toString()));
  parent.stderr?.on('data', (piece: Buffer) => (stderr += piece.toString()));
  const said = new Map<string, number>();
  createInterface({ input: parent.stdio[3] as Readable }).on('line', (line) => {
    const [word = '', count] = line.split(' ');
    said.set(word, Number(count));
  });
  const pid = parent.pid ?? 0;
  const alive = () =>
    listChildren(pid)
      .map((child) => child.pid)
      .filter((child) => !hasEnded(child));
  const closed = once(parent, 'close');
  try {
    await waitFor('the end of the script', () => said.has('ended'));
    const last = `${stdout}${stderr}`;
    await waitFor(`the end of what nobody knows of (the script said: ${last})`, () => {
      return alive().length <= countKnown(stdout);
    });
    const survivors = alive();
    for (const survivor of survivors) process.kill(survivor, 'SIGKILL');
    await closed;
    return {
      code: said.get('ended') ?? -1,
      stdout,
      stderr,
      survivors,
      orphans: said.get('alone') ?? -1,
    };
  } finally {
    for (const left of alive()) process.kill(left, 'SIGKILL');
  }
}
