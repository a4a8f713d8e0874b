// A channel that is a file and no pipe: what the program has written is there, however early it ended.
import { closeSync, constants, fstatSync, openSync, read, readlinkSync, readSync } from 'node:fs';
import { promisify } from 'node:util';

import { systemError } from '../errors.js';
import type { Timers } from '../launch/timers.js';
import { adviseLimit } from '../limits.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { findHoldersOf, type PipeHolder } from './holders.js';
import type { ChannelWish } from './output-options.js';
import { openRegularFile, refusal } from './record.js';

const { O_APPEND, O_RDWR, O_WRONLY } = constants;

/** How often it is looked how large the file has become, in milliseconds. */
const LOOK_INTERVAL = 20;
/** Read at a time, at the end. */
const PIECE = 1 << 18;

let opened = 0;

/** Without one, the channel is what stdio says. @throws {SallyportError} what the system refuses */
export function openOutputFile(
  { via }: ChannelWish,
  name: 'stdout' | 'stderr',
  program: string,
): OutputFile | null {
  if (via === 'pipe') return null;
  const fd = via === 'memfd' ? openMemory(name, program) : openRegularFile(via.file, program);
  try {
    return new OutputFile(fd, via, program);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

export class OutputFile {
  /** By performance.now(): the last look that found it larger. */
  lastOutput = performance.now();
  readonly #fd: number;
  /** The program's: it may write at the end, and nothing else. */
  #childEnd: number | null;
  #size = 0;
  #stopLooking: (() => void) | undefined;
  #isClosed = false;

  /** @param fd owned by this from now on, unless it throws */
  constructor(fd: number, via: ChannelWish['via'], program: string) {
    this.#fd = fd;
    // Another open file: its own access, and an offset that we do not move.
    try {
      const flags = O_WRONLY | O_APPEND;
      this.#childEnd = openSync(`/proc/self/fd/${fd}`, flags);
    } catch (error) {
      throw refusal(error, 'open', typeof via === 'object' ? via.file : 'memfd', program);
    }
  }

  /** What the program gets as its channel. */
  get childEnd(): number {
    if (this.#childEnd === null) throw new Error('the program has it already');
    return this.#childEnd;
  }

  /** The program has its own now. */
  closeChildEnd(): void {
    if (this.#childEnd !== null) closeSync(this.#childEnd);
    this.#childEnd = null;
  }

  /** Bytes, as they are now. */
  look(): number {
    if (this.#isClosed) return this.#size;
    const { size } = fstatSync(this.#fd);
    if (size > this.#size) this.lastOutput = performance.now();
    this.#size = size;
    return size;
  }

  /** @param call after each look, until `close` */
  watch(timers: Timers, call: (size: number) => void): void {
    this.#stopLooking = timers.after(LOOK_INTERVAL, () => {
      call(this.look());
      if (this.#stopLooking !== undefined) this.watch(timers, call);
    });
  }

  stopLooking(): void {
    this.#stopLooking?.();
    this.#stopLooking = undefined;
  }

  /** Who else may still write to it. */
  listHolders(): readonly PipeHolder[] {
    const target = readlinkSync(`/proc/self/fd/${this.#fd}`);
    return findHoldersOf([target]).holders.get(target) ?? [];
  }

  /** From its beginning to `end`, piece by piece; each is valid until the next. */
  async *read(end: number): AsyncGenerator<Uint8Array, void> {
    const buffer = Buffer.allocUnsafeSlow(PIECE);
    const readAt = promisify(read);
    for (let at = 0; at < end;) {
      const length = Math.min(PIECE, end - at);
      const { bytesRead } = await readAt(this.#fd, buffer, 0, length, at);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  *readSync(end: number): Generator<Uint8Array, void> {
    const buffer = Buffer.allocUnsafeSlow(PIECE);
    for (let at = 0; at < end;) {
      const length = readSync(this.#fd, buffer, 0, Math.min(PIECE, end - at), at);
      if (length === 0) return;
      yield buffer.subarray(0, length);
      at += length;
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.stopLooking();
    this.closeChildEnd();
    closeSync(this.#fd);
  }
}

function openMemory(name: string, program: string): number {
  // The number tells one from the other in /proc.
  const fd = native().openMemoryFile(`sallyport-${name}-${process.pid}-${++opened}`);
  if (!isFailure(fd)) return openAgain(fd, program);
  throw systemError(fd.errno, 'memfd_create', adviseLimit(fd.errno), {
    syscall: `spawn ${program}`,
    path: program,
    stage: 'descriptor',
    stageSource: 'reported',
  });
}

/** By node:fs: it closes what it has opened, also where a Worker is terminated. */
function openAgain(fd: number, program: string): number {
  try {
    return openSync(`/proc/self/fd/${fd}`, O_RDWR);
  } catch (error) {
    throw refusal(error, 'open', 'memfd', program);
  } finally {
    native().releaseDescriptors(Int32Array.of(fd));
  }
}
