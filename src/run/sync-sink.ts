// Where else a channel's output goes, for a run without the event loop: a file, a function for each line.
import { closeSync, writeSync } from 'node:fs';

import { invalid } from '../errors.js';
import { LineCutter } from './lines.js';
import { isPromise } from './sink.js';

/** Takes what is poured, in order. */
export interface SyncSink {
  /** Wherever more can be taken once it is writable again; null: everything is always taken. */
  readonly fd: number | null;
  /** @returns how much was taken: less than all where a file such as a FIFO is full */
  write(chunk: Uint8Array): number;
  /** No more comes. */
  end(): void;
  /** Why not everything was delivered, or null. */
  error: Error | null;
  /** What a function of the caller's has thrown, or null. */
  readonly fault: Error | null;
}

export class SyncFileSink implements SyncSink {
  error: Error | null = null;
  readonly fault = null;
  fd: number | null;

  /** @param fd owned from now on */
  constructor(fd: number) {
    this.fd = fd;
  }

  write(chunk: Uint8Array): number {
    if (this.error !== null || this.fd === null) return chunk.length;
    try {
      return writeSync(this.fd, chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
      this.error = error as Error;
      return chunk.length;
    }
  }

  end(): void {
    const { fd } = this;
    this.fd = null;
    if (fd === null) return;
    try {
      closeSync(fd);
    } catch (error) {
      // Some file systems say only now that there was no room.
      this.error ??= error as Error;
    }
  }
}

export class SyncLineSink implements SyncSink {
  readonly fd = null;
  error: Error | null = null;
  fault: Error | null = null;
  readonly #listener: (line: string) => unknown;
  readonly #cutter = new LineCutter();

  constructor(listener: (line: string) => unknown) {
    this.#listener = listener;
  }

  write(chunk: Uint8Array): number {
    this.#deliver(this.#cutter.cut(chunk));
    return chunk.length;
  }

  end(): void {
    this.#deliver(this.#cutter.flush());
  }

  #deliver(lines: readonly string[]): void {
    for (const line of lines) {
      if (this.fault !== null) return;
      try {
        const given = this.#listener(line);
        if (!isPromise(given)) continue;
        // Nobody else hears of its failure, which would end the process.
        Promise.resolve(given).catch(() => undefined);
        throw notWaitedFor();
      } catch (error) {
        this.fault = error instanceof Error ? error : new Error(String(error));
        this.error ??= this.fault;
      }
    }
  }
}

function notWaitedFor(): Error {
  return invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    'to',
    'returned a promise, for which runSync cannot wait: return nothing, or use run',
  );
}
