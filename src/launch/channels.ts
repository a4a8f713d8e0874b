// The parent's ends of the pipes, as ordinary Node streams.
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';

/**
 * @param fd our end of a pipe from the child, non-blocking; owned by the stream from now on
 */
export function openReadable(fd: number): Readable {
  return new Socket({ fd, readable: true, writable: false });
}

/**
 * @param fd our end of a pipe to the child, non-blocking; owned by the stream from now on
 */
export function openWritable(fd: number): Writable {
  const stream = new Socket({ fd, readable: false, writable: true });
  // A child that ends without reading its input is an ordinary event: its exit status tells. The
  // stream is destroyed and whoever listens hears; nobody has to.
  stream.on('error', ignoreBrokenPipe);
  return stream;
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
