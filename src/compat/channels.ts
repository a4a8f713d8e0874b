// stdio as Node hands it down → the child's table, with our ends of what is between us.
import { constants } from 'node:os';

import { isFailure, TABLE_HELD, TABLE_NULL, type NativeFailure } from '../native-binding.js';
import { native } from '../native.js';
import type { ProgramCall, StdioEntry } from './node-internals.js';

const { EINVAL } = constants.errno;

export interface Channels {
  /** Of a NativeRequest. Its descriptors are copies, which the addon takes over. */
  readonly table: Int32Array;
  /** Our ends, blocking, by their number in the child. */
  readonly ours: ReadonlyMap<number, number>;
}

/**
 * @param passed numbers that go along where a plain spawn would hand them over
 * @returns or a negative errno, with nothing left open
 */
export function openChannels(
  stdio: ProgramCall['stdio'],
  passed: readonly number[],
): Channels | number {
  const draft = new Draft();
  for (const [target, entry] of stdio.entries()) {
    const refusal = draft.add(target, entry);
    if (refusal !== 0) {
      draft.discard();
      return -refusal;
    }
  }
  // Of stdio shorter than that, /dev/null as well: a program's first file must not become its stdin.
  for (let target = stdio.length; target < 3; target++) draft.table.push(target, TABLE_NULL, -1);
  for (const fd of passed) {
    // Of those that a plain spawn would hand over: where the number is not open as the program began,
    // Node has one of its own there.
    if (!draft.has(fd) && native().survivesExec(fd)) draft.share(fd, fd);
  }
  return { table: Int32Array.from(draft.table), ours: draft.ours };
}

class Draft {
  readonly table: number[] = [];
  readonly ours = new Map<number, number>();
  readonly #targets = new Set<number>();

  has(target: number): boolean {
    return this.#targets.has(target);
  }

  /** @returns 0 or a positive errno */
  add(target: number, entry: StdioEntry): number {
    switch (entry.type) {
      case 'ignore':
        if (target < 3) this.table.push(target, TABLE_NULL, -1);
        return 0;
      case 'pipe':
      case 'overlapped':
        return this.#connect(target, entry.ipc === true);
      default:
        return this.share(target, (entry.type === 'wrap' ? entry.handle?.fd : entry.fd) ?? -1);
    }
  }

  /** @returns 0 or a positive errno */
  share(target: number, fd: number): number {
    if (!Number.isInteger(fd) || fd < 0) return EINVAL;
    const held = native().holdDescriptors(Int32Array.of(fd));
    if (isFailure(held)) return held.errno;
    const [[copy]] = held as [[number, unknown]];
    // As libuv does it: programs do not expect what Node makes of its own terminals and pipes.
    if (target < 3) native().setBlocking(copy, true);
    this.#place(target, copy);
    return 0;
  }

  discard(): void {
    const theirs = this.table.filter((_, index) => index % 3 === 2).filter((fd) => fd !== -1);
    native().releaseDescriptors(Int32Array.from([...theirs, ...this.ours.values()]));
  }

  /** @returns 0 or a positive errno */
  #connect(target: number, isIpc: boolean): number {
    // Real pipes for the standard channels, so that the child can open /dev/stdout. Both directions
    // beyond them, and for messages.
    const isPipe = target < 3 && !isIpc;
    const ends: [number, number] | NativeFailure = isPipe
      ? native().openPipe()
      : native().openSocketPair();
    if (isFailure(ends)) return ends.errno;
    const [readEnd, writeEnd] = ends;
    // As much as Node's socket pairs hold: a Node program that calls process.exit() loses what does not
    // fit.
    if (isPipe) native().enlargePipe(readEnd);
    const [ours, theirs] = target === 0 ? [writeEnd, readEnd] : [readEnd, writeEnd];
    this.ours.set(target, ours);
    this.#place(target, theirs);
    return 0;
  }

  #place(target: number, held: number): void {
    this.table.push(target, TABLE_HELD, held);
    this.#targets.add(target);
  }
}
