// Asks for native scans, and says why a process could not be read.
import { readFileSync } from 'node:fs';

import { describeErrno, systemError } from '../errors.js';
import { adviseLimit } from '../limits.js';
import {
  isFailure,
  SCAN_EVERY,
  SCAN_FACTS_ONLY,
  SCAN_LISTENERS,
  SCAN_SOCKETS,
} from '../native-binding.js';
import { native } from '../native.js';
import type { Holding, ProcessAudit } from './record.js';
import { localPort } from './port.js';
import { unpackScan, type Scanned, type ScannedProcess } from './unpack.js';

export interface ScanWish {
  /** Every process that /proc shows, where it is left out. */
  pids?: readonly number[] | undefined;
}

const NOTHING = new Float64Array();

/** @throws {SallyportError} stage `audit`: /proc cannot be listed */
function look(what: number, { pids }: ScanWish, only = NOTHING, port = 0): Scanned {
  const bits = what | (pids === undefined ? SCAN_EVERY : 0);
  const packed = native().scanProcesses(Int32Array.from(pids ?? []), bits, only, port);
  if (!isFailure(packed)) return unpackScan(packed);
  throw systemError(packed.errno, 'opendir', adviseLimit(packed.errno), {
    syscall: 'audit',
    stage: 'audit',
    stagePath: packed.path,
    stageSource: 'reported',
  });
}

/** All descriptors, with what the kernel's tables say of their sockets. */
export function scan(wish: ScanWish = {}): Scanned {
  return look(SCAN_SOCKETS, wish);
}

/** As `scanListeners`, without anybody's descriptors. */
export function scanSockets(port: number): Scanned {
  const scanned = look(SCAN_FACTS_ONLY | SCAN_SOCKETS | SCAN_LISTENERS, {}, NOTHING, port);
  const sockets = scanned.sockets.filter(({ facts }) => port === 0 || localPort(facts) === port);
  return { ...scanned, sockets };
}

/**
 * Listeners of every network namespace, whoever has them, and all sockets with this local port; and
 * every process, with its descriptors of these sockets only. From the kernel's tables to the processes:
 * a third of the cost of the other way.
 *
 * @param port only listeners on it; 0: all of them
 */
export function scanListeners(port: number): Scanned {
  const scanned = scanSockets(port);
  const { sockets } = scanned;
  const byInode = new Map(sockets.map((socket) => [socket.inode, socket]));
  byInode.delete('0'); // TIME-WAIT: of no process
  const holders = new Map(scanFor(byInode.keys()).map((process) => [process.pid, process]));
  const processes = scanned.processes.map((process) => {
    const holder = holders.get(process.pid);
    if (holder?.startTime !== process.startTime) return process;
    for (const record of holder.descriptors) {
      const facts = byInode.get(record.inode)?.facts;
      if (facts === undefined) continue;
      record.socket = facts;
      if (facts.state === 'LISTEN') record.kind = 'listener';
    }
    const { descriptors, refusal, errno } = holder;
    return { ...process, descriptors, refusal, errno };
  });
  return { ...scanned, processes, sockets };
}

/** Only what is said of each process, and no descriptors. */
export function scanFacts(wish: ScanWish = {}): ScannedProcess[] {
  return look(SCAN_FACTS_ONLY, wish).processes;
}

/** Who has pipes or sockets with these inodes: each process with these only. */
export function scanFor(inodes: Iterable<string>, wish: ScanWish = {}): ScannedProcess[] {
  const only = Float64Array.from(inodes, Number);
  return only.length === 0 ? [] : look(0, wish, only).processes;
}

/** Undefined where all of it was read. */
export function describeRefusal({ refusal, errno, pid }: ScannedProcess): string | undefined {
  const why = errno === 0 ? '' : `: ${describeErrno(errno).name}, ${describeErrno(errno).text}`;
  switch (refusal) {
    case 'none':
      return undefined;
    case 'process':
      return `/proc/${pid} cannot be read${why}`;
    case 'descriptors':
      return `its descriptors cannot be read${why} (another user's process, one that changed its ids or shields itself, the init of a run, or a program that may be executed and not read; or this process may not look at it)`;
    case 'details':
      return `flags and close-on-exec of its descriptors cannot be read${why}`;
    case 'threads':
      return `the descriptor tables of its threads cannot be read${why}`;
    case 'ended':
      return 'it ended while it was read';
    case 'executed':
      return 'it executed other programs, time and again, while it was read';
    case 'loading':
      return 'it hangs in an exec: its old program is gone and the new one is not loaded (its file may be on a mount that does not answer)';
  }
}

export interface Unreadable {
  readonly pid: number;
  readonly reason: string;
}

/**
 * Of all processes those that could not be read. Where /proc hides other users' processes (hidepid)
 * the first of all is missing, as are others that nobody can name.
 */
export function findUnreadable(everybody: readonly ScannedProcess[]): Unreadable[] {
  const unreadable = everybody.flatMap((process) => {
    const reason = describeRefusal(process);
    return reason === undefined ? [] : [{ pid: process.pid, reason }];
  });
  if (everybody.some(({ pid }) => pid === FIRST_PROCESS)) return unreadable;
  const reason = "/proc shows neither it nor other users' processes (hidepid)";
  return [{ pid: FIRST_PROCESS, reason }, ...unreadable];
}

const FIRST_PROCESS = 1;

// Clock ticks are hundredths of a second to user space on every architecture that Node runs on.
const TICKS_PER_SECOND = 100;

let bootTime: number | undefined;

/** Milliseconds after 1970. */
function readBootTime(): number {
  const line = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'latin1'));
  return Number(line?.[1] ?? 0) * 1000;
}

export function startedAt(startTime: number): Date {
  bootTime ??= readBootTime();
  return new Date(bootTime + (startTime / TICKS_PER_SECOND) * 1000);
}

export function toAudit(process: ScannedProcess): ProcessAudit {
  const unreadable = describeRefusal(process);
  return {
    pid: process.pid,
    startTime: process.startTime,
    startedAt: startedAt(process.startTime),
    state: process.state,
    command: process.command,
    executable: process.executable,
    commandLine: process.commandLine,
    uid: process.uid,
    sessionId: process.sessionId,
    groupId: process.groupId,
    parentPid: process.parentPid,
    descriptors: process.descriptors,
    leaks: [],
    ...(unreadable === undefined ? undefined : { unreadable }),
  };
}

/** By inode: who has these pipes and sockets. */
export function indexHoldings(
  inodes: ReadonlySet<string>,
  processes: readonly ScannedProcess[],
): Map<string, Array<Holding & { access: string }>> {
  const index = new Map<string, Array<Holding & { access: string }>>();
  for (const { pid, command, descriptors } of processes) {
    for (const { fd, kind, inode, access } of descriptors) {
      // Only their inodes are numbers of one filesystem each, of which there is one.
      const isInternal = kind === 'pipe' || kind === 'socket' || kind === 'listener';
      if (!isInternal || !inodes.has(inode)) continue;
      const holding = { pid, fd, command, access };
      const holdings = index.get(inode);
      if (holdings === undefined) index.set(inode, [holding]);
      else holdings.push(holding);
    }
  }
  return index;
}
