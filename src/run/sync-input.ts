// Feeds the target's stdin without the event loop, and counts what it took.
import { closeSync, readSync } from 'node:fs';

import { writeOpened } from '../descriptor-io.js';
import { POLLIN, POLLOUT, type SyncWait } from '../launch/sync-wait.js';
import type { InputReport } from './report.js';

/** Read from a file, and offered to the pipe, at a time. */
const PIECE = 65_536;

/** Bytes, or a file that is open already, so that its absence was noticed before the start. */
export type SyncSource = Uint8Array | { readonly fd: number };

export class SyncFeeder {
  readonly #wait: SyncWait;
  #bytesWritten = 0;
  #error: 'EPIPE' | null = null;
  #sourceError: string | null = null;
  #stdin: number | null = null;
  #file: number | null = null;
  #rest: Uint8Array = new Uint8Array();
  #buffer: Buffer | undefined;
  #isEmpty: boolean;

  /** @param source a file is owned from now on */
  constructor(source: SyncSource | undefined, wait: SyncWait) {
    this.#wait = wait;
    this.#isEmpty = source === undefined;
    if (source instanceof Uint8Array) this.#rest = source;
    else this.#file = source?.fd ?? null;
  }

  /** @param stdin our end of a pipe to the child, non-blocking; owned from now on */
  start(stdin: number | null): void {
    this.#stdin = stdin;
    this.#next();
  }

  /** Nobody reads any more. What has not been written will not be. */
  stop(): InputReport {
    if (!this.#isEmpty) {
      this.#error = 'EPIPE';
      this.#finish();
    }
    return {
      bytesWritten: this.#bytesWritten,
      error: this.#error,
      sourceError: this.#sourceError,
    };
  }

  /** Waits for the pipe while there is something to write, for the file while there is not. */
  #next(): void {
    const stdin = this.#stdin;
    if (this.#rest.length === 0 && this.#file === null) {
      this.#finish();
      return;
    }
    if (stdin === null) return;
    if (this.#file !== null && this.#rest.length === 0) {
      const file = this.#file;
      this.#wait.watch(file, POLLIN, () => {
        this.#read(file);
      });
      // Not for room: only to hear that nobody reads any more.
      this.#wait.watch(stdin, 0, () => {
        this.#breakOff();
      });
      return;
    }
    if (this.#file !== null) this.#wait.unwatch(this.#file);
    this.#wait.watch(stdin, POLLOUT, () => {
      this.#write(stdin);
    });
  }

  #read(file: number): void {
    this.#buffer ??= Buffer.allocUnsafeSlow(PIECE);
    try {
      const length = readSync(file, this.#buffer);
      this.#rest = this.#buffer.subarray(0, length);
      if (length === 0) this.#closeFile();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return;
      this.#sourceError = (error as Error).message;
      this.#closeFile();
    }
    this.#next();
  }

  #write(stdin: number): void {
    try {
      const taken = writeOpened(stdin, this.#rest.subarray(0, PIECE));
      this.#bytesWritten += taken;
      this.#rest = this.#rest.subarray(taken);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return;
      this.#breakOff();
      return;
    }
    if (this.#rest.length === 0) this.#next();
  }

  #breakOff(): void {
    this.#error = 'EPIPE';
    this.#finish();
  }

  #finish(): void {
    this.#isEmpty = true;
    this.#rest = new Uint8Array();
    this.#closeFile();
    const stdin = this.#stdin;
    this.#stdin = null;
    if (stdin === null) return;
    this.#wait.closeDescriptor(stdin);
  }

  #closeFile(): void {
    const file = this.#file;
    this.#file = null;
    if (file === null) return;
    this.#wait.unwatch(file);
    closeSync(file);
  }
}
