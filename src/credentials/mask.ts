// Knows the secrets of a run, and takes them out of whatever is printed or captured.
import type { OutputMask } from '../run/output-options.js';
import { formsOf } from './forms.js';
import { Needles } from './needles.js';

/** What stands in the place of a secret. */
export const MASKED = '***';

/** A shorter value would be found everywhere, and masking it would tell what it is. */
const SHORTEST_MASKED = 6;

/** So long after its expiry a secret is still masked, in milliseconds: it may be on its way. */
const AFTERLIFE = 3_600_000;

/** What looks like a secret in the text of an error: what only its source knows is known to no mask. */
const LOOKS_SECRET: ReadonlyArray<readonly [RegExp, string]> = [
  // The user information of a URL.
  [/(\w:\/\/)[^\s/@]+@/g, `$1${MASKED}@`],
  // What stands behind such a word.
  [
    /\b((?:[\w-]*[_-])?(?:password|passwd|pwd|secret|token|api[-_]?key|authorization|bearer))(["']?\s*[=:]\s*["']?|\s+)(?:(?:bearer|basic)\s+)?(?=\S*\d)[^\s"',;]{4,}/gi,
    `$1$2${MASKED}`,
  ],
  // A long word of letters and digits, unless it is part of a path.
  [/(?<![\w+/=.-])(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])\w[\w+/=-]{19,}/g, MASKED],
];

/** A guess, for texts of others. */
export function veil(text: string): string {
  return LOOKS_SECRET.reduce((veiled, [shape, instead]) => veiled.replace(shape, instead), text);
}

export class Secrets {
  /** Form → until when it is looked for, milliseconds after 1970. */
  readonly #forms = new Map<string, number>();
  #needles = new Needles([]);

  /**
   * Those that have expired long ago are forgotten: a run of many days would look for ever more.
   *
   * @returns false where it is too short to be masked
   */
  add(value: string, expiresAt: Date | null): boolean {
    if (value.length < SHORTEST_MASKED) return value === '';
    const now = Date.now();
    for (const [form, until] of this.#forms) if (until < now) this.#forms.delete(form);
    const until = expiresAt === null ? Infinity : expiresAt.getTime() + AFTERLIFE;
    for (const form of formsOf(value)) {
      this.#forms.set(form, Math.max(until, this.#forms.get(form) ?? 0));
    }
    this.#needles = new Needles([...this.#forms.keys()].map((form) => Buffer.from(form)));
    return true;
  }

  redact(text: string): string {
    const mask = this.open();
    const clean = mask.push(Buffer.from(text));
    return Buffer.concat([clean, mask.flush()]).toString();
  }

  /** All texts in plain data: a program may be called as a secret is. */
  redactAll<Value>(value: Value): Value {
    return this.#redactAll(value) as Value;
  }

  #redactAll(value: unknown): unknown {
    if (typeof value === 'string') return this.redact(value);
    if (Array.isArray(value)) return value.map((each) => this.#redactAll(each));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, this.#redactAll(each)]),
    );
  }

  /** Secrets that are added later are masked from then on. */
  open(): OutputMask {
    return new Mask(() => this.#needles);
  }
}

const NOTHING = Buffer.alloc(0);
const STARS = Buffer.from(MASKED);

class Mask implements OutputMask {
  readonly #needles: () => Needles;
  /** The beginning of a secret, perhaps. A copy: chunks are used again. */
  #held: Buffer = NOTHING;
  /** So many bytes of it are masked already: another secret reached into it. */
  #masked = 0;
  /** So many bytes of it have been shown: nothing more came for a while. */
  #shown = 0;

  constructor(needles: () => Needles) {
    this.#needles = needles;
  }

  push(chunk: Uint8Array): Uint8Array {
    const bytes =
      this.#held.length > 0
        ? Buffer.concat([this.#held, chunk])
        : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const needles = this.#needles();
    const held = needles.countOpen(bytes);
    const open = bytes.length - held;
    const { pieces, at, masked } = this.#mask(bytes, needles, open);
    // What is complete may still be the beginning of a longer one: that is waited for.
    pieces.push(bytes.subarray(at, Math.max(at, open)));
    this.#masked = Math.max(0, masked - open);
    this.#shown = Math.max(0, this.#shown - open);
    this.#held = held === 0 ? NOTHING : Buffer.from(bytes.subarray(open));
    return pieces.length === 1 ? (pieces[0] ?? NOTHING) : Buffer.concat(pieces);
  }

  idle(): Uint8Array {
    const from = Math.max(this.#masked, this.#shown);
    if (from >= this.#held.length || this.#held.length > this.#needles().mostShown) return NOTHING;
    this.#shown = this.#held.length;
    return this.#held.subarray(from);
  }

  flush(): Uint8Array {
    const rest = this.#held;
    const needles = this.#needles();
    const { pieces, at } = this.#mask(rest, needles, rest.length);
    // Half of one is too much.
    const half = needles.findHalf(rest);
    const end = half === -1 ? rest.length : half;
    pieces.push(rest.subarray(at, Math.max(at, end)));
    if (end < rest.length && at < rest.length) pieces.push(STARS);
    this.#held = NOTHING;
    this.#masked = 0;
    this.#shown = 0;
    return Buffer.concat(pieces);
  }

  /** Places that begin before `open`: what stands before and in them, and where they end. */
  #mask(bytes: Buffer, needles: Needles, open: number): Masked {
    const pieces: Buffer[] = [];
    let masked = this.#masked;
    let at = Math.max(masked, this.#shown);
    for (const { start, end } of needles.find(bytes)) {
      if (start >= open) break;
      if (end <= at) continue;
      if (start >= at) pieces.push(bytes.subarray(at, start), STARS);
      // After what was shown of it.
      else if (this.#shown > this.#masked) pieces.push(STARS);
      at = masked = end;
    }
    return { pieces, at, masked };
  }
}

interface Masked {
  readonly pieces: Buffer[];
  /** What is before it has been given, or is in `pieces`. */
  readonly at: number;
  /** Likewise, and not shown. */
  readonly masked: number;
}
