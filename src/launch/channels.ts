// The parent's ends of the pipes, as ordinary Node streams.
import type { Socket, SocketConstructorOpts } from 'node:net';
import type { Readable, Writable } from 'node:stream';

import { native } from '../native.js';

/** What a new pipe holds, pipe(7), and what a stream reads at once. */
const PIPE_CAPACITY = 65_536;

/** After so many full pipes a child is taken for one that has much to say. */
const FULL_PIPES = 4;

/** What becomes of our end of a pipe from the child, non-blocking: the stream owns it from then on. */
export type OutputOpener = (fd: number) => Readable;

/**
 * @param fd our end of a pipe from the child, non-blocking; owned by the stream from now on
 */
export function openReadable(fd: number): Readable {
  const stream = openSocket({ fd, readable: true, writable: false });
  enlargeWhenBusy(stream, fd);
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
 * A pipe of 1 MiB lets a busy child and us work at the same time instead of in turns (twice the
 * throughput here). Not from the start: a user's pipes may hold 64 MiB in all
 * (fs.pipe-user-pages-soft), and beyond that every new pipe of that user is one of 8 KiB.
 */
function enlargeWhenBusy(stream: Socket, fd: number): void {
  let full = 0;
  const push = stream.push.bind(stream);
  stream.push = (chunk: unknown, encoding) => {
    if (chunk instanceof Uint8Array && chunk.length === PIPE_CAPACITY) full += 1;
    if (full === FULL_PIPES) {
      stream.push = push;
      native().enlargePipe(fd);
    }
    return push(chunk, encoding);
  };
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
