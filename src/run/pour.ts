// Reads pipes into one buffer that is used again and again: a child that floods makes no garbage.
import type { OnReadOpts, Socket, SocketConstructorOpts } from 'node:net';
import type { Readable } from 'node:stream';

import { inodeOf } from '../descriptor-io.js';
import { PipeReader } from '../launch/watched-pipes.js';
import { native } from '../native.js';
import { SOCKETS_TAKE_PIPES } from '../runtime.js';

/** What a new pipe holds, pipe(7). */
const PIPE_CAPACITY = 65_536;

/** After so many full pipes a child is taken for one that has much to say. */
const FULL_PIPES = 4;

/**
 * One for all pipes of this thread: between the read and the call of the listener nothing else runs.
 */
let shared: Buffer | undefined;

const numbers = new WeakMap<Readable, number>();

/**
 * A stream that stands still until `resume()`. Its `data` is only valid until the listener returns.
 *
 * @param fd our end of a pipe from the child, non-blocking; owned by the stream from now on
 */
export function openPoured(fd: number): Readable {
  const stream = SOCKETS_TAKE_PIPES ? pourBySocket(fd) : new PipeReader(fd);
  stream.pause();
  numbers.set(stream, fd);
  return stream;
}

function pourBySocket(fd: number): Socket {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- late, with the first pipe
  const net = require('node:net') as typeof import('node:net');
  shared ??= Buffer.allocUnsafeSlow(PIPE_CAPACITY);
  const onread: OnReadOpts = { buffer: shared, callback: pour };
  // The types know `onread` of connect() only; the constructor takes it as well.
  const options = { fd, readable: true, writable: false, onread } as SocketConstructorOpts;
  const socket: Socket = new net.Socket(options);
  let full = 0;
  function pour(length: number, buffer: Uint8Array): boolean {
    if (length === PIPE_CAPACITY && ++full === FULL_PIPES) native().enlargePipe(fd);
    // No new view for a full buffer: in a flood that would be the only garbage.
    socket.emit('data', length === buffer.length ? buffer : buffer.subarray(0, length));
    return true;
  }
  return socket;
}

/** st_ino of the pipe behind a stream that is still open: who else holds it has the same. */
export function pipeInode(stream: Readable | null): bigint | undefined {
  const fd = stream === null ? undefined : numbers.get(stream);
  if (fd === undefined || stream?.destroyed === true) return undefined;
  return inodeOf(fd);
}
