// Knows the secrets of a run, and takes them out of whatever is printed or captured.
import type { OutputMask } from '../run/output-options.js';

/** What stands in the place of a secret. */
export const MASKED = '***';

/** A shorter value would be found everywhere, and masking it would tell what it is. */
export const SHORTEST_MASKED = 6;

/** So long after its expiry a secret is still masked, in milliseconds: it may be on its way. */
const AFTERLIFE = 3_600_000;

export class Secrets {
  /** Form → until when it is looked for, milliseconds after 1970. */
  readonly #forms = new Map<string, number>();
  #needles: Buffer[] = [];

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
    // The longest first: of two that begin at one place it covers the other.
    this.#needles = [...this.#forms.keys()]
      .sort((a, b) => b.length - a.length)
      .map((form) => Buffer.from(form));
    return true;
  }

  redact(text: string): string {
    const mask = this.open();
    const clean = mask.push(Buffer.from(text));
    return Buffer.concat([clean, mask.flush()]).toString();
  }

  /** Secrets that are added later are masked from then on. */
  open(): OutputMask {
    return new Mask(() => this.#needles);
  }
}

/** As it is, and as it stands in a URL or in JSON. */
function formsOf(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  // Half of a character cannot stand in a URL.
  return /\p{Surrogate}/u.test(value) ? [value, json] : [value, encodeURIComponent(value), json];
}

const NOTHING = Buffer.alloc(0);

class Mask implements OutputMask {
  readonly #secrets: () => readonly Buffer[];
  /** The beginning of a secret, perhaps. A copy: chunks are used again. */
  #held: Buffer = NOTHING;

  constructor(secrets: () => readonly Buffer[]) {
    this.#secrets = secrets;
  }

  push(chunk: Uint8Array): Uint8Array {
    const bytes =
      this.#held.length > 0
        ? Buffer.concat([this.#held, chunk])
        : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const needles = this.#secrets();
    const pieces: Buffer[] = [];
    let at = 0;
    // What is complete may still be the beginning of a longer one: that is waited for.
    const open = bytes.length - countHeld(bytes, needles);
    for (const { start, end } of find(bytes, needles)) {
      if (start >= open) break;
      pieces.push(bytes.subarray(at, start), Buffer.from(MASKED));
      at = end;
    }
    const rest = bytes.subarray(at);
    const held = countHeld(rest, needles);
    this.#held = held === 0 ? NOTHING : Buffer.from(rest.subarray(rest.length - held));
    pieces.push(rest.subarray(0, rest.length - held));
    return pieces.length === 1 ? (pieces[0] ?? NOTHING) : Buffer.concat(pieces);
  }

  flush(): Uint8Array {
    const rest = this.#held;
    this.#held = NOTHING;
    // Complete, or half of it: too much.
    const tellsTooMuch = this.#secrets().some((secret) => {
      const length = Math.min(rest.length, secret.length);
      return (
        length * 2 >= secret.length && secret.subarray(0, length).equals(rest.subarray(0, length))
      );
    });
    return tellsTooMuch ? Buffer.from(MASKED) : rest;
  }
}

/** Where secrets are, from left to right, none overlapping another. */
function* find(
  bytes: Buffer,
  needles: readonly Buffer[],
): Generator<{ start: number; end: number }> {
  const next = needles.map((needle) => ({ needle, at: bytes.indexOf(needle) }));
  for (let from = 0; ;) {
    let first: { needle: Buffer; at: number } | undefined;
    for (const candidate of next) {
      if (candidate.at !== -1 && candidate.at < from) {
        candidate.at = bytes.indexOf(candidate.needle, from);
      }
      if (candidate.at !== -1 && (first === undefined || candidate.at < first.at)) {
        first = candidate;
      }
    }
    if (first === undefined) return;
    const { at: start, needle } = first;
    let end = start + needle.length;
    // Another that begins within it may reach further: its end is masked as well.
    for (let grown = true; grown;) {
      grown = false;
      for (const { needle: other } of next) {
        const at = bytes.subarray(start + 1, end - 1 + other.length).indexOf(other);
        if (at !== -1 && start + 1 + at < end && start + 1 + at + other.length > end) {
          end = start + 1 + at + other.length;
          grown = true;
        }
      }
    }
    yield { start, end };
    from = end;
  }
}

/** How many bytes at the end may be the beginning of a secret. */
function countHeld(bytes: Buffer, needles: readonly Buffer[]): number {
  let held = 0;
  for (const needle of needles) {
    const first = needle[0] ?? 0;
    const furthest = Math.max(0, bytes.length - needle.length + 1);
    for (let at = bytes.indexOf(first, furthest); at !== -1; at = bytes.indexOf(first, at + 1)) {
      const length = bytes.length - at;
      if (length <= held) break;
      if (bytes.subarray(at).equals(needle.subarray(0, length))) {
        held = length;
        break;
      }
    }
  }
  return held;
}
