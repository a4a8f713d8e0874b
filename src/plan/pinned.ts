// A program as a sealed copy in memory: its identity in a plan, and what may be written for it.
import { constants } from 'node:os';

import { isOurs, markAsOurs } from '../copies.js';
import { invalid, refused } from '../errors.js';
import { native } from '../native.js';

/** What was copied when a program was pinned. */
export interface PinnedIdentity {
  /** 64 hexadecimal digits, of all its bytes. */
  readonly sha256: string;
  /** Size of the copy, in bytes. */
  readonly bytes: number;
  /** The ELF loader of a dynamically linked program, which is not in the copy; null: none. */
  readonly loader: string | null;
}

/** A program that nobody can change any more. From `pinExecutable`; for any number of launches. */
export class PinnedExecutable {
  /** Absolute path that it was copied from. */
  readonly path: string;
  /** Frozen. */
  readonly identity: PinnedIdentity;
  #fd: number;

  private constructor(path: string, identity: PinnedIdentity, fd: number) {
    this.path = path;
    this.identity = Object.freeze(identity);
    this.#fd = fd;
  }

  /** @internal @param fd owned by it from now on */
  static of(path: string, identity: PinnedIdentity, fd: number): PinnedExecutable {
    return new PinnedExecutable(path, identity, fd);
  }

  /** @internal @throws {SallyportTypeError} once it has been disposed of */
  get fd(): number {
    if (this.#fd >= 0) return this.#fd;
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'pinned', 'has been disposed of');
  }

  /** Programs that run keep their own copy. */
  [Symbol.dispose](): void {
    if (this.#fd >= 0) native().releaseDescriptors(Int32Array.of(this.#fd));
    this.#fd = -1;
  }
}
markAsOurs(PinnedExecutable);

/** @throws {SallyportTypeError | SallyportError} */
export function takePinned(value: unknown, executable: string): PinnedExecutable | null {
  if (value === undefined) return null;
  if (!isOurs(value, PinnedExecutable, 'pinned')) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'pinned',
      'must be what pinExecutable() resolved to',
    );
  }
  if (value.path !== executable) {
    throw refused(
      'ERR_SALLYPORT_NOT_PINNABLE',
      `pinned: it is a copy of '${value.path}', and file names '${executable}': give the same path`,
      { stage: 'plan', stagePath: 'pinned', errno: -constants.errno.EINVAL },
    );
  }
  // Disposed of: now, not in the middle of a launch.
  const { fd: _open } = value;
  return value;
}
