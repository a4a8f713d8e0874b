// The output channels of a run: opened, read to their end, stopped where others hold them.
import type { Readable } from 'node:stream';

import type { Child } from '../launch/child.js';
import { Channel, type OutputChannel } from './channel.js';
import type { Ending } from './ending.js';
import { FileChannel } from './file-channel.js';
import type { OpenFiles } from './files.js';
import { findHolders } from './holders.js';
import type { RunWish } from './options.js';
import type { OutputFiles } from './output-files.js';
import { Patience, pollOnce } from './patience.js';
import { pipeInode } from './pour.js';
import { limitReading } from './reading-limit.js';
import type { RunReport } from './report.js';

export interface Channels {
  readonly stdout: OutputChannel;
  readonly stderr: OutputChannel;
}

export function openChannels(
  { stdout, stderr }: Pick<Child, 'stdout' | 'stderr'>,
  { output }: RunWish,
  ending: Ending,
  files: Pick<OpenFiles, 'stdout' | 'stderr'> & { readonly outputs?: OutputFiles },
): Channels {
  const listener = {
    onExceeded: (): void => {
      ending.begin('output-limit');
    },
    onFault: (error: Error): void => {
      ending.fault ??= error;
      ending.begin('aborted');
    },
  };
  const open = (name: 'stdout' | 'stderr', stream: Readable | null): OutputChannel => {
    const file = files.outputs?.[name] ?? null;
    return file === null
      ? new Channel(stream, output[name], files[name], listener)
      : new FileChannel(file, output[name], listener.onExceeded);
  };
  return { stdout: open('stdout', stdout), stderr: open('stderr', stderr) };
}

export function isOpen({ stdout, stderr }: Channels): boolean {
  return stdout.isOpen || stderr.isOpen;
}

/** Until both have ended; or the time has passed and what is in the pipes by then has been read. */
export async function finishReading(
  { stdout, stderr }: Channels,
  time: number,
  interrupted: Promise<void>,
): Promise<void> {
  if (!isOpen({ stdout, stderr })) return;
  const closed = Promise.all([stdout.closed, stderr.closed]);
  const patience = new Patience(time);
  await Promise.race([closed, patience.over, interrupted]);
  patience.cancel();
  await Promise.race([Promise.all([stdout.drained(), stderr.drained()]), interrupted]);
}

/** @returns how many processes could not be asked whether they hold a pipe */
export async function stopReading({ stdout, stderr }: Channels): Promise<number> {
  const open = [stdout, stderr].filter((channel) => channel.isOpen);
  if (open.length === 0) return 0;
  const inodes = open.map((channel) => pipeInode(channel.stream));
  const { holders, unreadable } = findHolders(inodes.filter((inode) => inode !== undefined));
  // The holder may have let go just now.
  await pollOnce();
  for (const [index, channel] of open.entries()) {
    const heldBy = holders.get(inodes[index] ?? -1n) ?? [];
    channel.stop(heldBy.length > 0 || unreadable > 0 ? 'held' : 'cut', heldBy);
  }
  return unreadable;
}

/** What files hold is read now, while there may still be a reason to end that. */
export async function reportChannels(
  { stdout, stderr }: Channels,
  ending: Ending,
): Promise<RunReport['output']> {
  const isTooLate = limitReading(() => ending.kind !== undefined);
  return { stdout: await stdout.report(isTooLate), stderr: await stderr.report(isTooLate) };
}
