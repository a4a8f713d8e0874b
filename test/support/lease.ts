// A program whose exec hangs until it is let go, as one on a dead mount does (test/fixtures/lease.c).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

import { fixture } from './fixtures.js';

export interface Lease {
  /** The process that holds it: a child of this one. */
  pid: number | undefined;
  /** Resolved when an exec hangs. */
  waitedFor(): Promise<void>;
  letGo(): Promise<void>;
}

/** Nobody may have the file open. */
export async function holdExecutable(file: string): Promise<Lease> {
  const lease = spawn(fixture('lease'), [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(lease, 'exit');
  onTestFinished(() => {
    lease.kill('SIGKILL');
  });
  const lines = createInterface(lease.stdout)[Symbol.asyncIterator]();
  const expect = async (word: string): Promise<void> => {
    const said = (await lines.next()).value as string | undefined;
    if (said !== word) throw new Error(`lease: ${said ?? 'ended'} instead of ${word}`);
  };
  await expect('held');
  return {
    pid: lease.pid,
    waitedFor: () => expect('waited'),
    async letGo() {
      lease.stdin.end();
      await ended;
    },
  };
}
