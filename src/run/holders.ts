// Who else has a pipe of ours open: other processes' descriptor tables, by the pipe's inode.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

import { isInitOfOurs } from '../launch/init-link.js';
import { isNumber, listPids, readExecutable } from './processes.js';
import { unlessShort, withSpares } from './spare.js';

/** A process that holds a pipe of the run. */
export interface PipeHolder {
  /** Process id. */
  readonly pid: number;
  /** Null where it could not be read. */
  readonly executable: string | null;
  /** Number of the descriptor there. */
  readonly fd: number;
}

export interface HolderScan<Key> {
  readonly holders: ReadonlyMap<Key, readonly PipeHolder[]>;
  /** How many processes could not be looked into: another user's, or one that is hidden. */
  readonly unreadable: number;
}

/** Only those that can write: the other end is what keeps a pipe from ending. By inode. */
export function findHolders(inodes: readonly bigint[]): HolderScan<bigint> {
  return scan(new Map(inodes.map((inode) => [`pipe:[${inode}]`, inode])));
}

/** Likewise. @param targets what /proc shows of the files, as it shows them to us */
export function findHoldersOf(targets: readonly string[]): HolderScan<string> {
  return scan(new Map(targets.map((target) => [target, target])));
}

function scan<Key>(byTarget: ReadonlyMap<string, Key>): HolderScan<Key> {
  const holders = new Map<Key, PipeHolder[]>();
  let unreadable = 0;
  // Of a list that cannot be read nobody knows whether somebody is in it.
  for (const pid of unlessShort(listPids) ?? [undefined]) {
    if (pid === undefined) unreadable += 1;
    if (pid === undefined || pid === process.pid || isInitOfOurs(pid)) continue;
    const numbers = readTable(pid);
    if (numbers === undefined) unreadable += 1;
    for (const fd of numbers ?? []) {
      const key = byTarget.get(readTarget(pid, fd));
      if (key === undefined || !canWrite(pid, fd)) continue;
      const found = holders.get(key) ?? [];
      found.push({ pid, executable: readExecutable(pid), fd });
      holders.set(key, found);
    }
  }
  return { holders, unreadable };
}

/** undefined: it may not be read. A process that is gone holds nothing. */
function readTable(pid: number): number[] | undefined {
  try {
    return withSpares(() => readdirSync(`/proc/${pid}/fd`))
      .filter(isNumber)
      .map(Number);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ESRCH' ? [] : undefined;
  }
}

function readTarget(pid: number, fd: number): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return '';
  }
}

function canWrite(pid: number, fd: number): boolean {
  try {
    const text = withSpares(() => readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'latin1'));
    const flags = /^flags:\s*([0-7]+)/m.exec(text);
    return (Number.parseInt(flags?.[1] ?? '1', 8) & 3) !== 0;
  } catch {
    return true;
  }
}
