// The parent's ends of the pipes, as ordinary Node streams.
import type { OnReadOpts, Socket, SocketConstructorOpts } from 'node:net';
import type { Readable, Writable } from 'node:stream';

import { native } from '../native.js';

/** What a stream reads into, in bytes: at first, and at most, by three steps of four times as much. */
const FIRST_BLOCK = 4096;
const LARGEST_BLOCK = 262_144;

/** After so many full pipes a child is taken for one that has to be told much. */
const FULL_PIPES = 4;

/** What becomes of our end of a pipe from the child, non-blocking: the stream owns it from then on. */
export type OutputOpener = (fd: number) => Readable;

/**
 * @param fd our end of a pipe from the child, non-blocking; owned by the stream from now on
 */
export function openReadable(fd: number): Readable {
  const room = new ReadingRoom(fd);
  const onread: OnReadOpts = {
    buffer: () => room.offer(),
    callback: (length) => stream.push(room.take(length)),
  };
  // The types know `onread` of connect() only; the constructor takes it as well.
  const stream = openSocket({
    fd,
    readable: true,
    writable: false,
    onread,
  } as SocketConstructorOpts);
  return stream;
}

/**
 * @param fd our end of a pipe to the child, non-blocking; owned by the stream from now on
 */
export function openWritable(fd: number): Writable {
  const stream = openSocket({ fd, readable: false, writable: true });
  // A child that ends without reading its input is an ordinary event: its exit status tells. The
  // stream is destroyed and whoever listens hears; nobody has to.
  stream.on('error', ignoreBrokenPipe);
  let drained = 0;
  const count = (): void => {
    drained += 1;
    if (drained < FULL_PIPES) return;
    stream.off('drain', count);
    native().enlargePipe(fd);
  };
  stream.on('drain', count);
  return stream;
}

/**
 * What a stream reads into. Node itself takes 64 KiB for each read, of a child that says a word as of
 * one that floods: measured, a quarter of the throughput. Here a block begins small, is used up by one
 * read after the other, and the next one is larger while the child fills them.
 *
 * A larger pipe lets a busy child and us work at the same time instead of in turns. Not from the
 * start: a user's pipes may hold 64 MiB in all (fs.pipe-user-pages-soft), and beyond that every new
 * pipe of that user is one of 8 KiB.
 */
class ReadingRoom {
  readonly #fd: number;
  #size = FIRST_BLOCK;
  #block = Buffer.allocUnsafeSlow(FIRST_BLOCK);
  #used = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Where the next read goes. */
  offer(): Buffer {
    if (this.#block.length - this.#used < this.#size / 4) {
      this.#block = Buffer.allocUnsafeSlow(this.#size);
      this.#used = 0;
    }
    return this.#block.subarray(this.#used);
  }

  /** What the last read brought. */
  take(length: number): Buffer {
    const chunk = this.#block.subarray(this.#used, this.#used + length);
    this.#used += length;
    if (this.#used === this.#block.length && this.#size < LARGEST_BLOCK) this.#grow();
    return chunk;
  }

  #grow(): void {
    this.#size *= 4;
    if (this.#size === LARGEST_BLOCK) native().enlargePipe(this.#fd);
  }
}

function openSocket(options: SocketConstructorOpts): Socket {
  // Loaded with the first pipe: importing this package must cost next to nothing.
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous and late
  const net = require('node:net') as typeof import('node:net');
  return new net.Socket(options);
}

function ignoreBrokenPipe(): void {
  // The listener itself is the point: without one, Node makes of the event an uncaught exception.
}

/**
 * Lets output that nobody reads run off, so that `close` comes. What somebody has begun to read, or
 * asked for, is left to them.
 */
export function drainUnread(stream: Readable): void {
  if (
    stream.readableFlowing === null &&
    !stream.readableDidRead &&
    stream.listenerCount('readable') === 0
  ) {
    stream.resume();
  }
}
