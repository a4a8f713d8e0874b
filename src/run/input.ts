// Feeds the target's stdin, and counts what it took.
import { createReadStream } from 'node:fs';
import type { Readable, Writable } from 'node:stream';

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
  readonly #stdin: Writable | null;

  constructor(stdin: Writable | null, source: InputSource | undefined) {
    this.#stdin = stdin;
    if (stdin === null || source === undefined) {
      this.#finished = true;
    } else if (typeof source === 'string' || source instanceof Uint8Array) {
      void this.#write(source).then((taken) => {
        if (taken) this.#finish();
      });
    } else if ('fd' in source) {
      this.#own = createReadStream('', { fd: source.fd });
      this.#follow(this.#own);
    } else {
      this.#follow(source);
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

  #follow(source: Readable): void {
    this.#given = source;
    source.on('data', this.#receive).on('end', this.#finish);
    source.on('error', this.#fail).on('close', this.#close);
    if (source.readableEnded) this.#finish();
    else if (source.destroyed) this.#close();
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
