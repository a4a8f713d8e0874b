// Finds any of many texts in bytes, in a time that does not depend on how many they are.

/** A window's last bytes decide how far it may move. */
const BLOCK = 3;
const TABLE = 1 << 16;

export interface Place {
  readonly start: number;
  readonly end: number;
}

/**
 * After Wu and Manber: a window as long as the shortest text moves over the bytes. Where its last three
 * bytes stand nowhere in the beginnings of the texts it moves by nearly its own length.
 */
export class Needles {
  readonly #needles: readonly Buffer[];
  readonly #window: number;
  readonly #longest: number;
  /** By the hash of three bytes: how far the window may move. */
  readonly #shifts: Uint16Array;
  /** By the same hash: those of which the beginning ends with such bytes, the longest first. */
  readonly #ending = new Map<number, Buffer[]>();
  /** By the first two bytes; and whether there are any, which is looked at more often. */
  readonly #starting = new Map<number, Buffer[]>();
  readonly #isStart = new Uint8Array(TABLE);
  readonly #firsts = new Set<number>();

  /** @param needles of three bytes at least */
  constructor(needles: Iterable<Buffer>) {
    this.#needles = [...needles].sort((a, b) => b.length - a.length);
    this.#window = this.#needles.at(-1)?.length ?? BLOCK;
    this.#longest = this.#needles[0]?.length ?? 0;
    const most = this.#window - BLOCK + 1;
    this.#shifts = new Uint16Array(TABLE).fill(Math.min(most, 0xffff));
    for (const needle of this.#needles) {
      for (let end = BLOCK; end <= this.#window; end++) {
        const key = hash(needle, end - 1);
        const shift = Math.min(this.#window - end, 0xffff);
        if (shift < (this.#shifts[key] ?? 0)) this.#shifts[key] = shift;
      }
      add(this.#ending, hash(needle, this.#window - 1), needle);
      add(this.#starting, pair(needle, 0), needle);
      this.#isStart[pair(needle, 0)] = 1;
      this.#firsts.add(needle[0] ?? 0);
    }
  }

  /** How much of the beginning of one tells nothing: three bytes, and of short ones a quarter. */
  get mostShown(): number {
    return Math.min(3, Math.floor(this.#window / 4));
  }

  /** Where there is one, from left to right. Those that overlap are one place. */
  *find(bytes: Buffer): Generator<Place> {
    let place: { start: number; end: number } | undefined;
    let at = this.#window - 1;
    while (at < bytes.length) {
      const key = hash(bytes, at);
      const shift = this.#shifts[key] ?? 1;
      if (shift > 0) {
        at += shift;
        continue;
      }
      const start = at - this.#window + 1;
      at += 1;
      const found = this.#ending.get(key)?.find((needle) => isAt(bytes, start, needle));
      if (found === undefined) continue;
      const end = start + found.length;
      if (place !== undefined && start < place.end) {
        place.end = Math.max(place.end, end);
        continue;
      }
      if (place !== undefined) yield place;
      place = { start, end };
    }
    if (place !== undefined) yield place;
  }

  /** How many bytes at the end may be the beginning of one, without being one. */
  countOpen(bytes: Buffer): number {
    const last = bytes.length - 1;
    for (let at = Math.max(0, bytes.length - this.#longest + 1); at < last; at++) {
      if (this.#isStart[pair(bytes, at)] === 0) continue;
      const rest = bytes.length - at;
      const isBeginning = this.#starting
        .get(pair(bytes, at))
        ?.some((needle) => needle.length > rest && isSame(bytes, at, needle, rest));
      if (isBeginning === true) return rest;
    }
    return last >= 0 && this.#firsts.has(bytes[last] ?? 0) ? 1 : 0;
  }

  /** Where at the end half of one begins, or more of it; -1: nowhere. */
  findHalf(bytes: Buffer): number {
    for (let at = Math.max(0, bytes.length - this.#longest + 1); at < bytes.length; at++) {
      const rest = bytes.length - at;
      const isHalf = this.#starting
        .get(pair(bytes, at))
        ?.some(
          (needle) =>
            needle.length > rest && rest * 2 >= needle.length && isSame(bytes, at, needle, rest),
        );
      if (isHalf === true) return at;
    }
    return -1;
  }
}

/** Of the three bytes that end at a place. */
function hash(bytes: Buffer, at: number): number {
  const [a = 0, b = 0, c = 0] = [bytes[at - 2], bytes[at - 1], bytes[at]];
  return ((a << 10) ^ (b << 5) ^ c ^ (a >> 3)) & (TABLE - 1);
}

const pair = (bytes: Buffer, at: number): number => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);

function isAt(bytes: Buffer, start: number, needle: Buffer): boolean {
  return start + needle.length <= bytes.length && isSame(bytes, start, needle, needle.length);
}

/** Not by Buffer.compare(): Deno 2.9 was seen to come to it with a length that is ruled out before. */
function isSame(bytes: Buffer, start: number, needle: Buffer, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[start + i] !== needle[i]) return false;
  return true;
}

function add(map: Map<number, Buffer[]>, key: number, needle: Buffer): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [needle]);
  else list.push(needle);
}
