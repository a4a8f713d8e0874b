// Records that carry the digest of the one before: adding to a file of them, and checking one.
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** The last member of a record. */
export interface Link {
  /** `sha256:` and 64 hexadecimal digits, of the line before without its newline; null: the first. */
  readonly previous: string | null;
  /** From 0. */
  readonly index: number;
}

export interface ChainCheck {
  readonly records: number;
  /** Of the last record: to be kept where whoever can write the file cannot. */
  readonly last: string | null;
  /** Null: each record carries the digest of the one before. */
  readonly broken: ChainBreak | null;
  /** Where a digest was given that was kept: the record that has it, from 1; null: none has. */
  readonly kept?: number | null;
}

export interface ChainBreak {
  /** Of the first record that does not fit, from 1. */
  readonly line: number;
  readonly why: string;
}

/** A line is shorter than this, whatever its program was called. */
const LONGEST_LINE = 64 * 1024 * 1024;
const PIECE = 64 * 1024;
const NEWLINE = 0x0a;

export function digestLine(line: string | Buffer): string {
  return `sha256:${createHash('sha256').update(line).digest('hex')}`;
}

/** Where the next record of a file goes. */
export interface ChainEnd {
  /** What it carries. */
  readonly link: Link;
  /** What is there already ends within a line: somebody else's write, or one that was cut. */
  readonly isCut: boolean;
}

const NO_CHAIN: ChainEnd = { link: { previous: null, index: 0 }, isCut: false };

/** @param path what /proc or the caller calls the file, which need not be readable by the descriptor */
export function findEnd(path: string, size: number): ChainEnd {
  if (size === 0) return NO_CHAIN;
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) return NO_CHAIN;
    const text = readLastLine(fd, size);
    const isCut = text.at(-1) !== NEWLINE;
    const line = isCut ? text : text.subarray(0, -1);
    const index = parse(line)?.chain?.index;
    const next = isCount(index) ? index + 1 : 1;
    return { link: { previous: digestLine(line), index: next }, isCut };
  } finally {
    closeSync(fd);
  }
}

/** With its newline, where it has one; from the end of the file backwards, in pieces that grow. */
function readLastLine(fd: number, size: number): Buffer {
  const pieces: Buffer[] = [];
  let length = 0;
  for (let at = size; at > 0 && length < LONGEST_LINE;) {
    const piece = Buffer.alloc(Math.min(Math.max(PIECE, length), at));
    at -= piece.length;
    readSync(fd, piece, 0, piece.length, at);
    // Not the newline that ends the line itself.
    const from = piece.length - (length === 0 ? 2 : 1);
    const start = from < 0 ? -1 : piece.lastIndexOf(NEWLINE, from);
    pieces.unshift(piece.subarray(start + 1));
    length += piece.length;
    if (start !== -1) break;
  }
  return Buffer.concat(pieces);
}

/**
 * @param bytes of a whole file of records: as text, other bytes might be the same
 * @param kept a digest that was the last when it was kept
 */
export function checkChain(bytes: Buffer, kept?: string): ChainCheck {
  const lines = splitLines(bytes);
  const cut = lines.pop() ?? Buffer.alloc(0);
  let broken: ChainBreak | null = null;
  const digests: string[] = [];
  for (const [index, line] of lines.entries()) {
    const why = findFault(line, digests.at(-1) ?? null, index);
    if (why !== null) {
      broken = { line: index + 1, why };
      break;
    }
    digests.push(digestLine(line));
  }
  if (broken === null && cut.length > 0) {
    broken = { line: lines.length + 1, why: 'it was not written whole' };
  }
  return {
    ...{ records: lines.length, last: digests.at(-1) ?? null, broken },
    ...(kept === undefined ? {} : { kept: digests.indexOf(kept) + 1 || null }),
  };
}

/** What follows the last newline is the last of them. */
function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return [...lines, bytes.subarray(start)];
}

function findFault(line: Buffer, previous: string | null, index: number): string | null {
  const record = parse(line);
  if (record === null) return 'it is no record';
  const { chain } = record;
  if (typeof chain !== 'object' || chain === null)
    return 'it carries no digest: it was not written into a chain';
  if (chain.previous !== previous) {
    return previous === null
      ? 'it is the first and carries the digest of one before it: that is missing'
      : 'the record before it is not the one whose digest it carries: one was changed, removed or put in';
  }
  if (chain.index === index) return null;
  // Whoever wrote it may have written anything there.
  return isCount(chain.index)
    ? `it counts itself as number ${chain.index + 1}`
    : 'it counts itself as no number';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function parse(line: Buffer): { chain?: Partial<Link> | null } | null {
  try {
    const value: unknown = JSON.parse(line.toString());
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}
