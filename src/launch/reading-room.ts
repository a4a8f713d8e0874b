// What a stream reads into.
import { native } from '../native.js';

/** In bytes: at first, and at most, by three steps of four times as much. */
const FIRST_BLOCK = 4096;
const LARGEST_BLOCK = 262_144;

/**
 * Node itself takes 64 KiB for each read, of a child that says a word as of one that floods: measured, a
 * quarter of the throughput. Here a block begins small, is used up by one read after the other, and the
 * next one is larger while the child fills them.
 *
 * A larger pipe lets a busy child and us work at the same time instead of in turns. Not from the
 * start: a user's pipes may hold 64 MiB in all (fs.pipe-user-pages-soft), and beyond that every new
 * pipe of that user is one of 8 KiB.
 */
export class ReadingRoom {
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
