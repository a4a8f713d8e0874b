// Our ends of pipes as streams that the addon reads and writes, where the runtime's sockets do not.
import { constants } from 'node:os';
import { Readable, Writable } from 'node:stream';

import { canceledError, systemCallError } from '../descriptor-io.js';
import { adviseLimit } from '../limits.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { systemError } from '../errors.js';
import { inThisContext } from './context.js';
import { countReference, expectReadiness, ignoreReadiness } from './events.js';
import { ReadingRoom } from './reading-room.js';

const { EAGAIN } = constants.errno;

/** So often one is read in a turn of the event loop: others have theirs, however a child floods. */
const READS_PER_TURN = 16;

/** Those that wait for their child to write. */
const waiting = new Set<PipeReader>();

/** Reads what is in the pipes by now, though the event that tells of it is still on its way. */
export function lookAtPipes(): void {
  for (const reader of [...waiting]) reader.look();
}

export class PipeReader extends Readable {
  readonly #pipe: number;
  readonly #room: ReadingRoom;
  #wanted = false;
  #reads = 0;
  #pausing = false;

  /** @param fd our end of a pipe from the child, non-blocking; owned by the stream from now on */
  constructor(fd: number) {
    super();
    this.#room = new ReadingRoom(fd);
    this.#pipe = watch(fd, false);
    expectReadiness(
      this.#pipe,
      inThisContext(() => {
        this.look();
      }),
    );
    // As an open socket would, it keeps the event loop running.
    countReference(1);
  }

  override _read(): void {
    this.#wanted = true;
    this.look();
  }

  /** @internal */
  look(): void {
    if (!this.#wanted || this.#pausing || this.destroyed) return;
    if (++this.#reads > READS_PER_TURN) {
      this.#pause();
      return;
    }
    const count = native().readPipe(this.#pipe, this.#room.offer());
    if (count === -EAGAIN) {
      this.#reads = 0;
      waiting.add(this);
      return;
    }
    waiting.delete(this);
    this.#wanted = false;
    if (count < 0) this.destroy(systemCallError(-count, 'read'));
    else this.push(count === 0 ? null : this.#room.take(count));
  }

  #pause(): void {
    this.#pausing = true;
    setImmediate(() => {
      this.#pausing = false;
      this.#reads = 0;
      this.look();
    });
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    waiting.delete(this);
    release(this.#pipe);
    countReference(-1);
    callback(error);
  }
}

export class PipeWriter extends Writable {
  readonly #pipe: number;
  #rest: Uint8Array | undefined;
  #taken: ((error?: Error | null) => void) | undefined;

  /** @param fd our end of a pipe to the child, non-blocking; owned by the stream from now on */
  constructor(fd: number) {
    super({ decodeStrings: true });
    this.#pipe = watch(fd, true);
    expectReadiness(
      this.#pipe,
      inThisContext(() => {
        this.#write();
      }),
    );
  }

  override _write(
    chunk: Uint8Array,
    _encoding: string,
    callback: (error?: Error | null) => void,
  ): void {
    this.#rest = chunk;
    this.#taken = callback;
    countReference(1);
    this.#write();
  }

  #write(): void {
    while (this.#rest !== undefined) {
      const count = native().writePipe(this.#pipe, this.#rest);
      if (count === -EAGAIN) return;
      if (count < 0) {
        this.#finish(systemCallError(-count, 'write'));
        return;
      }
      this.#rest = this.#rest.subarray(count);
      if (this.#rest.length === 0) this.#finish(null);
    }
  }

  #finish(error: Error | null): void {
    const taken = this.#taken;
    if (taken === undefined) return;
    this.#rest = undefined;
    this.#taken = undefined;
    countReference(-1);
    taken(error);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    release(this.#pipe);
    // As a socket's: whoever wrote hears that not all of it was taken.
    this.#finish(error ?? canceledError('write'));
    callback(error);
  }
}

function watch(fd: number, writes: boolean): number {
  const pipe = native().watchPipe(fd, writes);
  if (!isFailure(pipe)) return pipe;
  throw systemError(pipe.errno, 'epoll_ctl', adviseLimit(pipe.errno), {
    syscall: 'pipe',
    stage: 'descriptor',
    stageSource: 'reported',
  });
}

function release(pipe: number): void {
  ignoreReadiness(pipe);
  native().closePipe(pipe);
}
