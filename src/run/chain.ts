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
}

export interface ChainBreak {
  /** Of the first record that does not fit, from 1. */
  readonly line: number;
  readonly why: string;
}

/** A line is shorter than this, whatever its program was called. */
const LONGEST_LINE = 64 * 1024 * 1024;
const PIECE = 64 * 1024;

export function digestLine(line: string | Buffer): string {
  return `sha256:${createHash('sha256').update(line).digest('hex')}`;
}

/**
 * What the next record of a file carries.
 *
 * @param path what /proc or the caller calls the file, which need not be readable by the descriptor
 */
export function nextLink(path: string, size: number): Link {
  if (size === 0) return { previous: null, index: 0 };
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) return { previous: null, index: 0 };
    const line = readLastLine(fd, size);
    const { chain } = parse(line) ?? {};
    return { previous: digestLine(line), index: (chain?.index ?? 0) + 1 };
  } finally {
    closeSync(fd);
  }
}

/** Without its newline; from the end of the file backwards. */
function readLastLine(fd: number, size: number): Buffer {
  let text = Buffer.alloc(0);
  for (let at = size; at > 0 && text.length < LONGEST_LINE;) {
    const piece = Buffer.alloc(Math.min(PIECE, at));
    at -= piece.length;
    readSync(fd, piece, 0, piece.length, at);
    text = Buffer.concat([piece, text]);
    const start = text.lastIndexOf(0x0a, text.length - 2);
    if (start !== -1) return text.subarray(start + 1, endOf(text));
  }
  return text.subarray(0, endOf(text));
}

function endOf(text: Buffer): number {
  return text.at(-1) === 0x0a ? text.length - 1 : text.length;
}

/** @param text of a whole file of records */
export function checkChain(text: string): ChainCheck {
  const lines = text.split('\n');
  const cut = lines.pop() ?? '';
  let previous: string | null = null;
  for (const [index, line] of lines.entries()) {
    const why = findFault(line, previous, index);
    if (why !== null)
      return { records: lines.length, last: previous, broken: { line: index + 1, why } };
    previous = digestLine(line);
  }
  const broken = cut === '' ? null : { line: lines.length + 1, why: 'it was not written whole' };
  return { records: lines.length, last: previous, broken };
}

function findFault(line: string, previous: string | null, index: number): string | null {
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
  return chain.index === index ? null : `it counts itself as number ${chain.index + 1}`;
}

function parse(line: string | Buffer): { chain?: Link | null } | null {
  try {
    const value: unknown = JSON.parse(String(line));
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}
