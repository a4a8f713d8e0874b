// Where else a channel's output goes: a file, a stream, a function for each line.
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';

import { LineCutter } from './lines.js';

/**
 * Is called for each line of a channel, without its newline. A promise that it returns is waited
 * for.
 */
export type LineListener = (line: string) => void | Promise<void>;

/** Takes what is poured, in order, and says when it has enough for the moment. */
export interface Sink {
  /** The chunk is only valid during the call. @returns what to wait for before the next one */
  write(chunk: Uint8Array): Promise<void> | undefined;
  /** No more comes. Resolves once all has been delivered. */
  end(): Promise<void>;
  /** It is waited for no longer. */
  abandon(): void;
  /** Why not everything was delivered, or null. */
  readonly error: Error | null;
  /** What a function of the caller's has thrown, or null. */
  readonly fault: Error | null;
}

export const ABANDONED = 'the run was over before everything was delivered';

export function sinkToFile(fd: number): Sink {
  return new StreamSink(createWriteStream('', { fd }), true);
}

/** The stream is not ended: it is the caller's. */
export function sinkToStream(stream: Writable): Sink {
  return new StreamSink(stream, false);
}

class StreamSink implements Sink {
  error: Error | null = null;
  readonly fault = null;
  readonly #stream: Writable;
  readonly #ends: boolean;
  #wake: (() => void) | undefined;
  /** Written, and not taken yet: `drain` comes only after more than the stream wanted. */
  #pending = 0;

  constructor(stream: Writable, ends: boolean) {
    this.#stream = stream;
    this.#ends = ends;
    stream.on('error', this.#fail).on('close', this.#closed).on('drain', this.#drained);
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.error !== null) return undefined;
    if (this.#stream.destroyed || this.#stream.writableEnded) {
      this.#closed();
      return undefined;
    }
    this.#pending += 1;
    try {
      if (this.#stream.write(Buffer.from(chunk), this.#taken)) return undefined;
    } catch (error) {
      // A stream may throw where it should have failed: its `write` is somebody else's.
      this.#fail(error instanceof Error ? error : new Error(String(error)));
      return undefined;
    }
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async end(): Promise<void> {
    if (this.error === null) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (this.#ends) this.#stream.end();
        else if (this.#pending === 0) resolve();
      });
    }
    this.#leave();
  }

  abandon(): void {
    this.#fail(new Error(ABANDONED));
    this.#leave();
    if (this.#ends) this.#stream.destroy();
  }

  #leave(): void {
    this.#stream.off('close', this.#closed).off('drain', this.#drained);
    // For a stream of ours that fails while it closes nobody else listens.
    if (!this.#ends) this.#stream.off('error', this.#fail);
  }

  readonly #taken = (error?: Error | null): void => {
    this.#pending -= 1;
    // The event comes after this, when nobody may be waiting any more.
    if (error) this.error ??= error;
    // What is to be closed is delivered when it is: some file systems say only then that they failed.
    if (this.#pending === 0 && !(this.#ends && this.#stream.writableEnded)) this.#drained();
  };

  readonly #fail = (error: Error): void => {
    this.error ??= error;
    this.#drained();
  };

  readonly #closed = (): void => {
    if (!this.#stream.writableFinished || !this.#ends) {
      this.error ??= new Error('the stream was closed before the output ended');
    }
    this.#drained();
  };

  readonly #drained = (): void => {
    this.#wake?.();
    this.#wake = undefined;
  };
}

/** Calls one after the other: a promise is waited for, and holds the child up meanwhile. */
export function sinkToLines(listener: LineListener): Sink {
  return new LineSink(listener);
}

class LineSink implements Sink {
  error: Error | null = null;
  fault: Error | null = null;
  readonly #listener: LineListener;
  readonly #cutter = new LineCutter();
  #queue: Promise<void> | undefined;

  constructor(listener: LineListener) {
    this.#listener = listener;
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    return this.#deliver(this.#cutter.cut(chunk));
  }

  async end(): Promise<void> {
    await this.#queue;
    await this.#deliver(this.#cutter.flush());
  }

  abandon(): void {
    this.error ??= new Error(ABANDONED);
  }

  #deliver(lines: readonly string[]): Promise<void> | undefined {
    if (this.error !== null) return undefined;
    if (this.#queue !== undefined) {
      return this.#enqueue(this.#queue.then(() => this.#deliverFrom(lines, 0)));
    }
    for (const [index, line] of lines.entries()) {
      try {
        const wait: unknown = this.#listener(line);
        if (isPromise(wait)) {
          const rest = Promise.resolve(wait).then(() => this.#deliverFrom(lines, index + 1));
          return this.#enqueue(rest);
        }
      } catch (error) {
        this.#fail(error);
        return undefined;
      }
    }
    return undefined;
  }

  async #deliverFrom(lines: readonly string[], start: number): Promise<void> {
    for (const line of lines.slice(start)) {
      if (this.error !== null) return;
      await this.#listener(line);
    }
  }

  #enqueue(work: Promise<void>): Promise<void> {
    const queue = work.catch((error: unknown) => {
      this.#fail(error);
    });
    this.#queue = queue;
    void queue.then(() => {
      if (this.#queue === queue) this.#queue = undefined;
    });
    return queue;
  }

  #fail(error: unknown): void {
    this.fault ??= error instanceof Error ? error : new Error(String(error));
    this.error ??= this.fault;
  }
}

/** Also one of another realm, or of a library's own. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
