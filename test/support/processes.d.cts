// What processes.cjs gives.
import type { Readable } from 'node:stream';

export interface ProcessStat {
  state: string;
  ppid: number;
  pgid: number;
  sid: number;
  /** Device number of the controlling terminal, 0 without one. */
  terminal: number;
  /** Its foreground process group, -1 without one. */
  foreground: number;
}

export type Pid = number | 'self';

/** Ascending, without the one that the look itself opened. */
export function listDescriptors(pid?: Pid, thread?: number): number[];
/** One count for each thread. */
/** How many are open, sockets apart: a lane that starts meanwhile has one, and stays. */
export function countBesidesSockets(pid?: Pid): number;
export function countDescriptors(pid?: Pid): number[];
export function countThreads(pid?: Pid): number;
/** The name of each thread. */
export function listThreads(pid?: Pid): string[];
export function readStat(pid: number): ProcessStat | undefined;
export function listChildren(pid?: number): Array<{ pid: number } & ProcessStat>;
export function listZombies(pid?: number): Array<{ pid: number } & ProcessStat>;
/** Pids of running processes with this word among their arguments. */
export function listMarked(mark: string): number[];
/** Gone or a zombie. */
export function hasEnded(pid: number): boolean;
export function isGone(pid: number): boolean;
/** The bytes of /proc/<pid>/environ. */
export function readEnvironment(pid: number): Buffer;
export function readStatus(pid?: Pid): Record<string, string>;
/** Polls until `probe` answers truthy; at the deadline (milliseconds) it throws what it saw. */
export function waitFor<T>(
  what: string,
  probe: () => T | Promise<T>,
  deadline?: number,
): Promise<Exclude<T, undefined | null | false | 0 | ''>>;
export function readAll(stream: Readable): Promise<Buffer>;
