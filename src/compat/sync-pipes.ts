// Our ends of the pipes of a spawnSync, read and written when they are ready.
import { readSync, writeSync } from 'node:fs';
import { constants } from 'node:os';

import { POLLIN, POLLOUT, type SyncWait } from '../launch/sync-wait.js';
import { native } from '../native.js';

// As they are now: programs put other functions into node:fs, and these descriptors are real.
const [read, write] = [readSync, writeSync];

const { EAGAIN, EINTR } = constants.errno;

/** The first buffer; each further one has twice as much, up to `LARGEST_BUFFER`. In bytes. */
const FIRST_BUFFER = 65_536;
const LARGEST_BUFFER = 4_194_304;

/** What becomes of the pipes of one child. */
export interface PipeListener {
  onRead(count: number): void;
  /** @param errno positive; the pipe is closed by now */
  onPipeError(errno: number): void;
}

abstract class Pipe {
  readonly fd: number;
  isOpen = true;
  readonly #wait: SyncWait;
  readonly #listener: PipeListener;

  /** @param fd our end; owned from now on */
  constructor(fd: number, events: number, wait: SyncWait, listener: PipeListener) {
    this.fd = fd;
    this.#wait = wait;
    this.#listener = listener;
    wait.ownDescriptor(fd);
    wait.watch(fd, events, () => {
      this.move();
    });
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#wait.closeDescriptor(this.fd);
  }

  /** Reads or writes once, after poll(2) has said that it does not wait. */
  protected abstract move(): void;

  protected heard(count: number): void {
    this.#listener.onRead(count);
  }

  /** @param error what a function of node:fs threw */
  protected fail(error: unknown): void {
    const { errno } = error as NodeJS.ErrnoException;
    if (errno === undefined) throw error;
    if (errno === -EAGAIN || errno === -EINTR) return;
    this.close();
    this.#listener.onPipeError(-errno);
  }
}

/** To the child's input. */
export class InputPipe extends Pipe {
  #rest: Uint8Array;

  constructor(
    fd: number,
    input: ArrayBufferView | null | undefined,
    wait: SyncWait,
    listener: PipeListener,
  ) {
    super(fd, POLLOUT, wait, listener);
    // Node takes every view: its bytes, since others count in elements, and a DataView cannot be cut.
    const { buffer, byteOffset, byteLength } = input ?? new Uint8Array(0);
    this.#rest = new Uint8Array(buffer, byteOffset, byteLength);
    if (byteLength === 0) this.close();
    else native().setBlocking(fd, false);
  }

  protected override move(): void {
    try {
      this.#rest = this.#rest.subarray(write(this.fd, this.#rest));
    } catch (error) {
      this.fail(error);
      return;
    }
    if (this.#rest.length === 0) this.close();
  }
}

/** From the child's output. */
export class OutputPipe extends Pipe {
  readonly #full: Buffer[] = [];
  #buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER);
  #used = 0;

  constructor(fd: number, wait: SyncWait, listener: PipeListener) {
    super(fd, POLLIN, wait, listener);
  }

  /** All that was read. */
  take(): Buffer {
    return Buffer.concat([...this.#full, this.#buffer.subarray(0, this.#used)]);
  }

  protected override move(): void {
    if (this.#used === this.#buffer.length) this.#nextBuffer();
    let count: number;
    try {
      count = read(this.fd, this.#buffer, this.#used, this.#buffer.length - this.#used, null);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (count === 0) this.close();
    this.#used += count;
    this.heard(count);
  }

  #nextBuffer(): void {
    this.#full.push(this.#buffer);
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(this.#buffer.length * 2, LARGEST_BUFFER));
    this.#used = 0;
  }
}
