// Keeps the beginning and the end of what is poured in, exactly as much as the limit says.

/** What a buffer that has outgrown a single read becomes at once: unused pages cost no memory. */
const LARGE = 1 << 20;

/** Appends until it is full; never holds more than its limit. */
export class GrowingBuffer {
  readonly #limit: number;
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get length(): number {
    return this.#length;
  }

  /** @returns how many of the bytes there was room for */
  append(chunk: Uint8Array): number {
    const taken = Math.min(chunk.length, this.#limit - this.#length);
    if (taken === 0) return 0;
    this.#reserve(this.#length + taken);
    this.#buffer.set(taken === chunk.length ? chunk : chunk.subarray(0, taken), this.#length);
    this.#length += taken;
    return taken;
  }

  /** What there is, without a copy: valid until the next `append`. */
  view(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  #reserve(needed: number): void {
    if (needed <= this.#buffer.length) return;
    const least = this.#buffer.length === 0 ? 0 : LARGE;
    const size = Math.min(this.#limit, Math.max(needed, least, this.#buffer.length * 2));
    // Not from Node's pool: what is kept would keep 8 KiB of others alive.
    const larger = Buffer.allocUnsafeSlow(size);
    larger.set(this.view());
    this.#buffer = larger;
  }
}

/** The last bytes: grows to its limit and then goes round. */
class Ring {
  readonly #limit: number;
  readonly #filling: GrowingBuffer;
  #round: Buffer | undefined;
  #next = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#filling = new GrowingBuffer(limit);
  }

  get length(): number {
    return this.#filling.length;
  }

  push(chunk: Uint8Array): void {
    if (this.#limit === 0) return;
    const taken = this.#round === undefined ? this.#filling.append(chunk) : 0;
    if (taken === chunk.length) return;
    // Full, so its storage is complete and stays where it is.
    this.#round ??= this.#filling.view();
    const skipped = Math.max(taken, chunk.length - this.#limit);
    const rest = skipped === 0 ? chunk : chunk.subarray(skipped);
    const room = this.#limit - this.#next;
    if (rest.length <= room) {
      this.#round.set(rest, this.#next);
    } else {
      this.#round.set(rest.subarray(0, room), this.#next);
      this.#round.set(rest.subarray(room), 0);
    }
    this.#next = (this.#next + rest.length) % this.#limit;
  }

  /** In order. */
  take(): Buffer {
    if (this.#round === undefined) return this.#filling.view();
    return Buffer.concat([this.#round.subarray(this.#next), this.#round.subarray(0, this.#next)]);
  }
}

/** Which part of a channel is kept. */
export type Keep = 'head' | 'tail' | 'head-and-tail';

export interface Kept {
  readonly data: Buffer;
  /** Offset in `data` at which bytes are missing, and how many. */
  readonly omitted: { readonly at: number; readonly bytes: number } | null;
}

export class Keeper {
  readonly #head: GrowingBuffer;
  readonly #tail: Ring;
  #seen = 0;

  constructor(keep: Keep, maxBytes: number) {
    const head = keep === 'head' ? maxBytes : keep === 'tail' ? 0 : Math.ceil(maxBytes / 2);
    this.#head = new GrowingBuffer(head);
    this.#tail = new Ring(maxBytes - head);
  }

  add(chunk: Uint8Array): void {
    this.#seen += chunk.length;
    const taken = this.#head.append(chunk);
    if (taken < chunk.length) this.#tail.push(taken === 0 ? chunk : chunk.subarray(taken));
  }

  take(): Kept {
    const head = this.#head.view();
    const tail = this.#tail.take();
    const data = tail.length === 0 ? head : Buffer.concat([head, tail]);
    const bytes = this.#seen - data.length;
    return { data, omitted: bytes === 0 ? null : { at: head.length, bytes } };
  }
}
