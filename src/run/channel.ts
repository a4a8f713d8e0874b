// One output channel of a run: read to its end, counted, kept, hashed, handed on.
import type { Readable } from 'node:stream';

import { invalid } from '../errors.js';
import { reportChannel, type ReadingEnd } from './channel-report.js';
import { Hasher } from './hash.js';
import type { PipeHolder } from './holders.js';
import { Keeper } from './keeper.js';
import type { ChannelWish, OutputMask } from './output-options.js';
import { pollOnce } from './patience.js';
import type { ChannelReport } from './report.js';
import type { Sink } from './sink.js';

/** A pipe never holds more than this (fs.pipe-max-size): what comes after it was written later. */
export const LARGEST_PIPE = 1 << 20;

const NOTHING = new Uint8Array();

/** After so long without output a mask is asked what it may show of what it holds back, in milliseconds. */
export const MASK_IDLE = 50;

export interface ChannelListener {
  /** More was seen than the limit. Once. */
  onExceeded(): void;
  /** A listener for lines, or the mask, has thrown. */
  onFault(error: Error): void;
}

/** What a run needs of a channel: a pipe, or a file that the program has itself. */
export type OutputChannel = Pick<
  Channel,
  'lastOutput' | 'bytesSeen' | 'closed' | 'stream' | 'isOpen' | 'drained' | 'stop' | 'checkSink'
> & { report(isTooLate: () => boolean): Promise<ChannelReport> };

export class Channel {
  /** By performance.now(). */
  lastOutput = performance.now();
  bytesSeen = 0;
  /** Reading is over, by end of file or by `stop`. */
  readonly closed: Promise<void>;

  readonly #stream: Readable | null;
  readonly #wish: ChannelWish;
  readonly #sink: Sink | null;
  readonly #listener: ChannelListener;
  readonly #keeper: Keeper;
  readonly #hasher = new Hasher();
  readonly #mask: OutputMask | null;
  #maskFailed = false;
  #maskTimer: NodeJS.Timeout | undefined;
  /** Bytes that came out of the pipe; the mask may hold some of them back. */
  #read = 0;
  #end: ReadingEnd | undefined;
  #heldBy: readonly PipeHolder[] = [];
  #waiting = 0;
  #resumed: Promise<void> | undefined;
  #exceeded = false;
  #faulty = false;
  #resolveClosed!: () => void;

  /** @param stream null: the channel is no pipe of ours, and nothing of it is seen */
  constructor(
    stream: Readable | null,
    wish: ChannelWish,
    sink: Sink | null,
    listener: ChannelListener,
  ) {
    this.#stream = stream;
    this.#wish = wish;
    this.#sink = sink;
    this.#listener = listener;
    this.#keeper = new Keeper(wish.keep, wish.maxBytes);
    this.#mask = wish.mask?.() ?? null;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    if (stream === null) {
      this.#close('eof');
      return;
    }
    stream.on('data', (chunk: Uint8Array) => {
      this.#receive(chunk);
    });
    stream.once('end', () => {
      this.#close('eof');
    });
    stream.once('error', () => {
      this.#close('cut');
    });
    stream.once('close', () => {
      this.#close('cut');
    });
    stream.resume();
  }

  get stream(): Readable | null {
    return this.#stream;
  }

  get isOpen(): boolean {
    return this.#end === undefined;
  }

  /**
   * Resolves when the pipe is empty: nothing came in a whole turn of the event loop. Somebody who
   * goes on writing cannot hold it up: after a pipe's worth it resolves as well.
   */
  async drained(): Promise<void> {
    const before = this.#read;
    while (this.isOpen) {
      if (this.#waiting > 0) {
        // What reads along is behind: what is in the pipe waits for it.
        await Promise.race([this.#resumed, this.closed]);
        continue;
      }
      const read = this.#read;
      if (read - before > LARGEST_PIPE) return;
      await pollOnce();
      if (this.#read === read && this.#waiting === 0) return;
    }
  }

  /** Reads no further. `held`: others have the pipe open; `cut`: for another reason. */
  stop(end: 'held' | 'cut', heldBy: readonly PipeHolder[] = []): void {
    if (!this.isOpen) return;
    this.#heldBy = heldBy;
    this.#close(end);
    this.#stream?.destroy();
  }

  async report(): Promise<ChannelReport> {
    return reportChannel({
      observed: this.#stream !== null,
      bytesSeen: this.bytesSeen,
      kept: this.#keeper.take(),
      sha256: await this.#hasher.digest().catch(() => ''),
      end: this.#end ?? 'cut',
      heldBy: this.#heldBy,
      sink: this.#sink,
    });
  }

  #receive(chunk: Uint8Array): void {
    if (!this.isOpen) return;
    this.lastOutput = performance.now();
    this.#read += chunk.length;
    this.#take(this.#mask === null ? chunk : this.#masked((mask) => mask.push(chunk)));
    if (this.#mask?.idle !== undefined) this.#awaitIdle();
  }

  #awaitIdle(): void {
    clearTimeout(this.#maskTimer);
    this.#maskTimer = setTimeout(() => {
      this.#take(this.#masked((mask) => mask.idle?.()));
    }, MASK_IDLE);
  }

  /** After a fault nothing more is handed on: it would be unmasked. */
  #masked(call: (mask: OutputMask) => unknown): Uint8Array {
    if (this.#mask === null || this.#maskFailed) return NOTHING;
    try {
      const given = call(this.#mask);
      if (given instanceof Uint8Array) return given;
      throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'output.mask', 'must give bytes');
    } catch (error) {
      this.#maskFailed = true;
      this.#listener.onFault(error instanceof Error ? error : new Error(String(error)));
      return NOTHING;
    }
  }

  #take(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.bytesSeen += chunk.length;
    this.#keeper.add(chunk);
    this.#waitFor(this.#hasher.add(chunk));
    if (this.#sink !== null) this.#deliver(this.#sink, chunk);
    if (this.bytesSeen > this.#wish.maxBytes && !this.#exceeded) {
      this.#exceeded = true;
      if (this.#wish.onExceed === 'end') this.#listener.onExceeded();
    }
  }

  #deliver(sink: Sink, chunk: Uint8Array): void {
    const wait = sink.write(chunk);
    this.#waitFor(wait);
    this.checkSink();
    void wait?.then(() => {
      this.checkSink();
    });
  }

  /** Passes on what a listener for lines has thrown. */
  checkSink(): void {
    const fault = this.#sink?.fault ?? null;
    if (fault === null || this.#faulty) return;
    this.#faulty = true;
    this.#listener.onFault(fault);
  }

  /** Reads no further meanwhile: the child is held up by its full pipe, and our memory stays small. */
  #waitFor(wait: Promise<void> | undefined): void {
    if (wait === undefined) return;
    this.#waiting += 1;
    this.#stream?.pause();
    const before = this.#resumed;
    this.#resumed = wait.then(async () => {
      await before;
      this.#waiting -= 1;
      if (this.#waiting > 0) return;
      this.#resumed = undefined;
      if (this.isOpen) this.#stream?.resume();
    });
  }

  #close(end: ReadingEnd): void {
    if (!this.isOpen) return;
    clearTimeout(this.#maskTimer);
    if (this.#mask !== null) this.#take(this.#masked((mask) => mask.flush()));
    this.#end = this.#maskFailed ? 'cut' : end;
    this.#resolveClosed();
  }
}
