// Our ends of the pipes of a spawnSync, read and written between two looks at all of them.
import { readSync, writeSync } from 'node:fs';
import { constants } from 'node:os';

import { native } from '../native.js';

// As they are now: programs put other functions into node:fs, and these descriptors are real.
const [read, write] = [readSync, writeSync];

const { EAGAIN, EINTR } = constants.errno;

/** What a new pipe holds, pipe(7). */
const PIPE_CAPACITY = 65_536;

/** Buffers double up to this many bytes. */
const LARGEST_BUFFER = 4_194_304;

/** Positive errno of what a function of node:fs threw. */
function errnoOf(error: unknown): number {
  const { errno } = error as NodeJS.ErrnoException;
  if (errno === undefined) throw error;
  return -errno;
}

abstract class Pipe {
  readonly fd: number;
  isOpen = true;

  constructor(fd: number) {
    this.fd = fd;
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    // Not by node:fs: a Worker warns of descriptors that it did not open there.
    native().releaseDescriptors(Int32Array.of(this.fd));
  }
}

/** To the child's input. */
export class InputPipe extends Pipe {
  #rest: Uint8Array;

  constructor(fd: number, input: ArrayBufferView = new Uint8Array(0)) {
    super(fd);
    // Node takes every view: its bytes, since others count in elements, and a DataView cannot be cut.
    this.#rest = new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    if (input.byteLength === 0) {
      this.close();
      return;
    }
    native().setBlocking(fd, false);
    // Node's sockets take about 200 KB before the child has read any.
    if (input.byteLength > PIPE_CAPACITY) native().enlargePipe(fd);
  }

  /** What fits now. @returns 0 or a positive errno, and the pipe is closed then */
  write(): number {
    if (!this.isOpen) return 0;
    try {
      this.#rest = this.#rest.subarray(write(this.fd, this.#rest));
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === EAGAIN || errno === EINTR) return 0;
      this.close();
      return errno;
    }
    if (this.#rest.length === 0) this.close();
    return 0;
  }
}

/** From the child's output. */
export class OutputPipe extends Pipe {
  readonly #full: Buffer[] = [];
  #buffer = Buffer.allocUnsafeSlow(PIPE_CAPACITY);
  #used = 0;
  #isEnlarged = false;

  /** Once, after poll(2) has said that it does not wait. `errno` is positive, or 0. */
  read(): { count: number; errno: number } {
    if (this.#used === this.#buffer.length) this.#nextBuffer();
    let count: number;
    try {
      count = read(this.fd, this.#buffer, this.#used, this.#buffer.length - this.#used, null);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === EAGAIN || errno === EINTR) return { count: 0, errno: 0 };
      this.close();
      return { count: 0, errno };
    }
    if (count === 0) this.close();
    this.#used += count;
    return { count, errno: 0 };
  }

  /** All that was read. */
  take(): Buffer {
    return Buffer.concat([...this.#full, this.#buffer.subarray(0, this.#used)]);
  }

  #nextBuffer(): void {
    this.#full.push(this.#buffer);
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(this.#buffer.length * 2, LARGEST_BUFFER));
    this.#used = 0;
    if (this.#isEnlarged) return;
    this.#isEnlarged = true;
    // A child that has this much to say gets on with it while we read.
    native().enlargePipe(this.fd);
  }
}
