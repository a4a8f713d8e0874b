// What tracing.cjs gives.
import type { Storm } from './storm.js';

export interface Look {
  pid: number;
  /** `clone`: before its first instruction. `exec`: when it calls execve. */
  at: 'clone' | 'exec';
  descriptors: Array<{ fd: number; closeOnExec: boolean; link: string }>;
}

export interface Tracer {
  pid: number;
  /** All that were ever held, in that order. */
  held: number[];
  /** Those that ended while they were held. */
  gone: number[];
  /** Keeps the next children between clone and exec. */
  hold(count: number): Promise<void>;
  /** Looks at the next children again when they call execve. */
  seeExec(count: number): Promise<void>;
  /** Without a pid: all of them. */
  release(pid?: number): Promise<void>;
  waitForHeld(count: number): Promise<number[]>;
  looks(): Look[];
  stop(): Promise<void>;
}

/** From now on every child of this process is looked at before it runs. */
export function traceSelf(storm: Storm, scratch: string): Promise<Tracer>;
