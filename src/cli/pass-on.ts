// Passes output of the program on to our own 1 or 2, as if it had them itself.
import { closeSync, constants, openSync, write } from 'node:fs';
import { Writable } from 'node:stream';
import { isatty } from 'node:tty';

import { describeErrno } from '../errors.js';
import { native } from '../native.js';

const { O_NOCTTY, O_NONBLOCK, O_WRONLY } = constants;

/** How soon it is tried again where somebody holds the output up (^S), in milliseconds. */
const AGAIN = 25;
/** Written to a terminal at a time. */
const PIECE = 4_096;

export interface PassListener {
  /** Called before something is written, with what it is. */
  onWrite(chunk: Buffer): void;
  /** Something came beyond the limit, and what is below it has been written. */
  onExceeded(): void;
}

/**
 * Never holds the event loop up: the deadline must come whoever does not read our output. Beyond
 * `limit` nothing is passed on.
 */
export class PassOn extends Writable {
  readonly #target: number;
  readonly #terminal: number | null;
  readonly #owned: boolean;
  readonly #listener: PassListener;
  #left: number;

  constructor(fd: 1 | 2, limit: number, listener: PassListener) {
    super();
    this.#target = fd;
    this.#left = limit;
    this.#listener = listener;
    const own = isatty(fd) ? openAnew(fd) : null;
    this.#owned = own !== null;
    this.#terminal = own ?? (isatty(fd) ? fd : null);
  }

  override _write(chunk: Buffer, _: unknown, done: (error?: Error | null) => void): void {
    const part = chunk.length <= this.#left ? chunk : chunk.subarray(0, this.#left);
    const exceeds = part.length < chunk.length;
    this.#left -= part.length;
    if (part.length > 0) this.#listener.onWrite(part);
    this.#writeAll(part, (error) => {
      if (exceeds && error === null) this.#listener.onExceeded();
      done(error);
    });
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.#owned && this.#terminal !== null) closeSync(this.#terminal);
    done(error);
  }

  #writeAll(rest: Buffer, done: (error: Error | null) => void): void {
    if (rest.length === 0) {
      done(null);
    } else if (this.#terminal === null) {
      write(this.#target, rest, (error, written) => {
        this.#goOn(rest, error === null ? written : error, done);
      });
    } else {
      const written = native().writeTerminal(this.#terminal, rest.subarray(0, PIECE));
      this.#goOn(rest, written >= 0 ? written : asError(-written), done);
    }
  }

  #goOn(
    rest: Buffer,
    result: number | NodeJS.ErrnoException,
    done: (e: Error | null) => void,
  ): void {
    if (typeof result === 'number') {
      this.#writeAll(rest.subarray(result), done);
    } else if (result.code === 'EAGAIN' || result.code === 'EINTR') {
      setTimeout(() => {
        this.#writeAll(rest, done);
      }, AGAIN);
    } else {
      done(result);
    }
  }
}

/**
 * Without waiting while the terminal takes nothing, and without making it so for all who have it: as
 * an open file of our own. null where its permissions have changed since (su, sudo).
 */
function openAnew(fd: number): number | null {
  try {
    return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NOCTTY | O_NONBLOCK);
  } catch {
    return null;
  }
}

function asError(errno: number): NodeJS.ErrnoException {
  const { name, text } = describeErrno(errno);
  return Object.assign(new Error(`${name}: ${text}, write`), { code: name, errno: -errno });
}
