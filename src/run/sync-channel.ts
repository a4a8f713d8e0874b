// One output channel of a run without the event loop: read when it is ready, counted, kept, hashed.
import { inodeOf, readOpened } from '../descriptor-io.js';
import { POLLIN, POLLOUT, type SyncWait } from '../launch/sync-wait.js';
import { native } from '../native.js';
import { reportChannel, type ReadingEnd } from './channel-report.js';
import { LARGEST_PIPE, type ChannelListener } from './channel.js';
import { startHash } from './hash.js';
import type { PipeHolder } from './holders.js';
import { Keeper } from './keeper.js';
import type { ChannelWish } from './output-options.js';
import type { ChannelReport } from './report.js';
import { ABANDONED } from './sink.js';
import type { SyncSink } from './sync-sink.js';

/** What a new pipe holds, pipe(7), and what is read at once. */
const PIPE_CAPACITY = 65_536;

/** After so many full reads a child is taken for one that has much to say. */
const FULL_READS = 4;

export class SyncChannel {
  /** By performance.now(). */
  lastOutput = performance.now();
  bytesSeen = 0;

  readonly #wish: ChannelWish;
  readonly #sink: SyncSink | null;
  readonly #listener: ChannelListener;
  readonly #wait: SyncWait;
  readonly #keeper: Keeper;
  readonly #hash = startHash();
  readonly #observed: boolean;
  #fd: number | null;
  #buffer: Buffer | undefined;
  #end: ReadingEnd | undefined;
  #heldBy: readonly PipeHolder[] = [];
  /** What the sink has not taken yet: nothing is read meanwhile. */
  #rest: Uint8Array | null = null;
  #fullReads = 0;
  #exceeded = false;
  #faulty = false;

  /**
   * @param fd our end of a pipe from the child, non-blocking; owned from now on. null: the channel is
   *   no pipe of ours, and nothing of it is seen
   */
  constructor(
    fd: number | null,
    wish: ChannelWish,
    sink: SyncSink | null,
    listener: ChannelListener,
    wait: SyncWait,
  ) {
    this.#fd = fd;
    this.#observed = fd !== null;
    this.#wish = wish;
    this.#sink = sink;
    this.#listener = listener;
    this.#wait = wait;
    this.#keeper = new Keeper(wish.keep, wish.maxBytes);
    if (fd === null) this.#end = 'eof';
    else this.#watch(fd);
  }

  get isOpen(): boolean {
    return this.#end === undefined;
  }

  /** Everything that was read has been handed on. */
  get isDelivered(): boolean {
    return this.#rest === null;
  }

  /** st_ino of the pipe while it is open. */
  get inode(): bigint | undefined {
    return this.#fd === null ? undefined : inodeOf(this.#fd);
  }

  /** Reads what is in the pipe. Somebody who goes on writing cannot hold it up. */
  drain(): void {
    const before = this.bytesSeen;
    while (this.#fd !== null && this.#rest === null && this.bytesSeen - before <= LARGEST_PIPE) {
      if (!this.#read(this.#fd)) return;
    }
  }

  /** Reads no further. `held`: others have the pipe open; `cut`: for another reason. */
  stop(end: 'held' | 'cut', heldBy: readonly PipeHolder[] = []): void {
    if (!this.isOpen) return;
    this.#heldBy = heldBy;
    this.#close(end);
  }

  /** What the sink has not taken by now it never gets. */
  finish(): void {
    this.stop('cut');
    if (this.#sink === null) return;
    if (this.#rest !== null && this.#sink.error === null) {
      this.#sink.error = new Error(ABANDONED);
    }
    if (this.#sink.fd !== null) this.#wait.unwatch(this.#sink.fd);
    this.#rest = null;
    this.#sink.end();
    this.#checkSink();
  }

  report(): ChannelReport {
    return reportChannel({
      observed: this.#observed,
      bytesSeen: this.bytesSeen,
      kept: this.#keeper.take(),
      sha256: this.#hash.digest('hex'),
      end: this.#end ?? 'cut',
      heldBy: this.#heldBy,
      sink: this.#sink,
    });
  }

  #watch(fd: number): void {
    this.#wait.watch(fd, POLLIN, () => {
      this.#read(fd);
    });
  }

  /** @returns false: there was nothing to read */
  #read(fd: number): boolean {
    this.#buffer ??= Buffer.allocUnsafeSlow(PIPE_CAPACITY);
    let length: number;
    try {
      length = readOpened(fd, this.#buffer);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
      this.#close('cut');
      return false;
    }
    if (length === 0) {
      this.#close('eof');
      return false;
    }
    if (length === PIPE_CAPACITY && ++this.#fullReads === FULL_READS) native().enlargePipe(fd);
    this.#receive(this.#buffer.subarray(0, length));
    return true;
  }

  #receive(chunk: Buffer): void {
    this.lastOutput = performance.now();
    this.bytesSeen += chunk.length;
    this.#keeper.add(chunk);
    this.#hash.update(chunk);
    this.#deliver(chunk);
    if (this.bytesSeen > this.#wish.maxBytes && !this.#exceeded) {
      this.#exceeded = true;
      if (this.#wish.onExceed === 'end') this.#listener.onExceeded();
    }
  }

  /** The rest stays in the buffer, which is not filled again before it is gone. */
  #deliver(chunk: Uint8Array): void {
    if (this.#sink === null) return;
    const taken = this.#sink.write(chunk);
    this.#checkSink();
    const wasBehind = this.#rest !== null;
    this.#rest = taken < chunk.length ? chunk.subarray(taken) : null;
    const { fd } = this.#sink;
    if (this.#rest === null) {
      if (!wasBehind) return;
      if (fd !== null) this.#wait.unwatch(fd);
      if (this.#fd !== null) this.#watch(this.#fd);
      return;
    }
    if (this.#fd !== null) this.#wait.unwatch(this.#fd);
    if (fd === null) return;
    this.#wait.watch(fd, POLLOUT, () => {
      this.#deliver(this.#rest ?? new Uint8Array());
    });
  }

  /** Passes on what a listener for lines has thrown. */
  #checkSink(): void {
    const fault = this.#sink?.fault ?? null;
    if (fault === null || this.#faulty) return;
    this.#faulty = true;
    this.#listener.onFault(fault);
  }

  #close(end: ReadingEnd): void {
    this.#end = end;
    const fd = this.#fd;
    this.#fd = null;
    if (fd === null) return;
    this.#wait.closeDescriptor(fd);
  }
}
