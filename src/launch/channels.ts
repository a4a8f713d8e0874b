// The parent's ends of the pipes, as ordinary Node streams.
import type { OnReadOpts, Socket, SocketConstructorOpts } from 'node:net';
import type { Readable, Writable } from 'node:stream';

import { native } from '../native.js';
import { withoutPrototype } from '../own-properties.js';
import { SOCKETS_TAKE_PIPES } from '../runtime.js';
import { ReadingRoom } from './reading-room.js';
import { PipeReader, PipeWriter } from './watched-pipes.js';

/** After so many full pipes a child is taken for one that has to be told much. */
const FULL_PIPES = 4;

/** What becomes of our end of a pipe from the child, non-blocking: the stream owns it from then on. */
export type OutputOpener = (fd: number) => Readable;

/**
 * @param fd our end of a pipe from the child, non-blocking; owned by the stream from now on
 */
export function openReadable(fd: number): Readable {
  const stream = SOCKETS_TAKE_PIPES ? openReadingSocket(fd) : new PipeReader(fd);
  noticeLostDestinations(stream);
  return stream;
}

function openReadingSocket(fd: number): Readable {
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
  const stream = SOCKETS_TAKE_PIPES
    ? openSocket({ fd, readable: false, writable: true })
    : new PipeWriter(fd);
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

function openSocket(options: SocketConstructorOpts): Socket {
  // Loaded with the first pipe: importing this package must cost next to nothing.
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous and late
  const net = require('node:net') as typeof import('node:net');
  return new net.Socket(options);
}

function ignoreBrokenPipe(): void {
  // The listener itself is the point: without one, Node makes of the event an uncaught exception.
}

/** Those that were piped to what is gone by now: that has paused them, and nobody will go on. */
const abandoned = new WeakSet<Readable>();
/** Those whose child has ended. */
const ended = new WeakSet<Readable>();

/**
 * Whoever pipes output into a response whose client goes away cannot know that the stream stands still
 * from then on, with its descriptor open. Who takes a destination away himself may go on later.
 */
function noticeLostDestinations(stream: Readable): void {
  const unpipe = stream.unpipe.bind(stream);
  const noticing = (destination?: Destination, ...more: []): Readable => {
    unpipe(destination, ...more);
    if (destination !== undefined && isGone(destination)) {
      abandoned.add(stream);
      if (ended.has(stream)) setImmediate(drainUnread, stream);
    }
    return stream;
  };
  // A `get` on Object.prototype would be taken for one of this property.
  const descriptor = withoutPrototype({ value: noticing, configurable: true, writable: true });
  Object.defineProperty(stream, 'unpipe', descriptor);
}

type Destination = NodeJS.WritableStream & Partial<Pick<Writable, 'destroyed' | 'writableEnded'>>;

const isGone = ({ destroyed, writableEnded, writable }: Destination): boolean =>
  destroyed === true || writableEnded === true || !writable;

/**
 * Once the child has ended: lets output that nobody reads run off, so that `close` comes. What somebody
 * has begun to read, or asked for, is left to them.
 */
export function drainUnread(stream: Readable): void {
  ended.add(stream);
  const isUntouched = stream.readableFlowing === null && !stream.readableDidRead;
  const isAbandoned = stream.readableFlowing === false && abandoned.has(stream);
  if ((isUntouched || isAbandoned) && stream.listenerCount('readable') === 0) stream.resume();
}
