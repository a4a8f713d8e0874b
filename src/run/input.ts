// Feeds the target's stdin, and counts what it took.
import { createReadStream } from 'node:fs';
import { Readable, type Writable } from 'node:stream';

import type { RunInput } from './options.js';
import type { InputReport } from './report.js';

/** Written at a time, so that what the pipe has taken is known so exactly. */
const PIECE = 65_536;

/** What there is to feed. A file is open already, so that its absence was noticed before the start. */
export type InputSource = Exclude<RunInput, { file: unknown }> | { readonly fd: number };

export class Feeder {
  #bytesWritten = 0;
  #error: 'EPIPE' | null = null;
  #sourceError: string | null = null;
  #finished = false;
  #given: Readable | undefined;
  /** A stream of ours, which ends with us. */
  #own: Readable | undefined;
  #bytes: string | Uint8Array | undefined;
  #stdin: Writable | null = null;

  /** From now on a stream that fails is no uncaught exception; nothing is read yet. */
  constructor(source: InputSource | undefined) {
    if (source === undefined) {
      this.#finished = true;
    } else if (typeof source === 'string') {
      this.#bytes = source;
    } else if (source instanceof Uint8Array) {
      // Taken at the call: the caller may use its memory for something else, or give it away.
      this.#bytes = Buffer.from(source);
    } else {
      // A stream of a file has an `fd` as well.
      const isGiven = source instanceof Readable;
      if (!isGiven) this.#own = createReadStream('', { fd: source.fd });
      this.#given = isGiven ? source : this.#own;
      this.#given?.on('error', this.#fail).on('close', this.#close);
    }
  }

  start(stdin: Writable | null): void {
    this.#stdin = stdin;
    if (this.#finished) {
      stdin?.end();
    } else if (this.#bytes !== undefined) {
      void this.#write(this.#bytes).then((taken) => {
        if (taken) this.#finish();
      });
    } else if (this.#given?.readableEnded === true) {
      this.#finish();
    } else if (this.#given?.destroyed === true) {
      this.#close();
    } else {
      this.#given?.on('end', this.#finish).on('data', this.#receive);
    }
  }

  /** Nobody reads any more. What has not been written will not be. */
  stop(): InputReport {
    if (!this.#finished) this.#breakOff();
    return {
      bytesWritten: this.#bytesWritten,
      error: this.#error,
      sourceError: this.#sourceError,
    };
  }

  readonly #receive = (chunk: unknown): void => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) {
      this.#fail(new TypeError('the stream gives neither bytes nor strings'));
      return;
    }
    const source = this.#given;
    source?.pause();
    void this.#write(chunk).then((taken) => {
      if (taken && this.#given !== undefined) source?.resume();
    });
  };

  readonly #finish = (): void => {
    this.#finished = true;
    this.#unfollow();
    this.#stdin?.end();
  };

  readonly #fail = (error: Error): void => {
    this.#sourceError ??= error.message;
    this.#finish();
  };

  readonly #close = (): void => {
    this.#fail(new Error('the stream was closed before its end'));
  };

  #breakOff(): void {
    this.#error = 'EPIPE';
    this.#finished = true;
    this.#unfollow();
    this.#stdin?.destroy();
  }

  #unfollow(): void {
    const source = this.#given;
    this.#given = undefined;
    source?.off('data', this.#receive).off('end', this.#finish);
    source?.off('error', this.#fail).off('close', this.#close);
    // Whoever gave the stream may go on with it.
    source?.pause();
    this.#own?.destroy();
  }

  /** @returns whether all of it was taken */
  async #write(data: string | Uint8Array): Promise<boolean> {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    for (let start = 0; start < bytes.length; start += PIECE) {
      const piece = bytes.subarray(start, start + PIECE);
      if (!(await this.#writePiece(piece))) {
        if (!this.#finished) this.#breakOff();
        return false;
      }
      this.#bytesWritten += piece.length;
    }
    return true;
  }

  #writePiece(piece: Uint8Array): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#stdin === null || this.#stdin.destroyed) resolve(false);
      // The error says EPIPE, or that the stream was destroyed when the target had ended.
      else this.#stdin.write(piece, (error) => resolve(error === null || error === undefined));
    });
  }
}
