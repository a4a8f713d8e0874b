// Looks at processes through /proc: who there is, how each is doing, who comes from whom.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

import { native } from '../native.js';
import { isShort, withSpares } from './spare.js';

export interface ProcessFacts {
  readonly pid: number;
  readonly ppid: number;
  readonly pgid: number;
  readonly sid: number;
  /** One letter, proc_pid_stat(5). */
  readonly state: string;
  /** Clock ticks since boot; with the pid it names one process for ever. */
  readonly startTime: number;
  /** Milliseconds of processor time, without that of its children. */
  readonly cpuMs: number;
  /** False for a zombie: it runs no more, and its parent has not asked yet. */
  readonly alive: boolean;
}

/** USER_HZ: what /proc counts in, on every architecture that Node runs on. */
const TICK_MS = 10;

/** undefined: there is no such process. @throws where no more files may be opened: nobody knows then */
export function readProcess(pid: number): ProcessFacts | undefined {
  let text: string;
  try {
    text = withSpares(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch (error) {
    if (isShort(error)) throw error;
    return undefined;
  }
  // The name stands in brackets and may itself hold blanks and brackets: read from the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const at = (index: number): number => Number(fields[index]);
  const state = fields[0] ?? '?';
  const threads = at(17);
  return {
    pid,
    ppid: at(1),
    pgid: at(2),
    sid: at(3),
    state,
    startTime: at(19),
    cpuMs: (at(11) + at(12)) * TICK_MS,
    // Of a process whose first thread has ended the others may still run.
    alive: (state !== 'Z' && state !== 'X') || threads > 1,
  };
}

/** @throws as `readProcess` */
export function listPids(): number[] {
  return withSpares(() => readdirSync('/proc'))
    .filter(isNumber)
    .map(Number);
}

/** @throws as `readProcess` */
export function listProcesses(): ProcessFacts[] {
  return listPids().flatMap((pid) => readProcess(pid) ?? []);
}

/** Whoever comes from one of `roots` by parents that are still there, without the roots. */
export function listDescendants(
  processes: readonly ProcessFacts[],
  roots: ReadonlySet<number>,
): ProcessFacts[] {
  const children = new Map<number, ProcessFacts[]>();
  for (const process of processes) {
    const siblings = children.get(process.ppid);
    if (siblings === undefined) children.set(process.ppid, [process]);
    else siblings.push(process);
  }
  const found: ProcessFacts[] = [];
  const queue = [...roots];
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    for (const child of children.get(pid) ?? []) {
      if (roots.has(child.pid)) continue;
      found.push(child);
      queue.push(child.pid);
    }
  }
  return found;
}

/** By pidfd, and only if it is that very process. 0 or a positive errno. */
export function signalProcess(
  { pid, startTime }: Pick<ProcessFacts, 'pid' | 'startTime'>,
  signal: number,
): number {
  try {
    return withSpares(() => {
      const errno = native().signalProcess(pid, startTime, signal);
      // As what can be told from other refusals and tried again.
      if (isShort({ errno: -errno })) throw Object.assign(new Error(), { errno: -errno });
      return errno;
    });
  } catch (error) {
    return -((error as NodeJS.ErrnoException).errno ?? 0);
  }
}

/** Null for a kernel thread, for another user's process, and for one that is gone. */
export function readExecutable(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return null;
  }
}

export function isNumber(name: string): boolean {
  return /^\d+$/.test(name);
}
