// A JSON document that somebody has read and approved: it says one thing, to people and to us.
import { readFileSync } from 'node:fs';

import { shorten } from './schema-faults.js';

/** What is wrong with a document, as a clause; it quotes names, and no value. */
export class DocumentFault extends Error {
  constructor(
    message: string,
    /** It may be meant for something else than JSON. */
    readonly isNoJson = false,
  ) {
    super(message);
  }
}

/**
 * As JSON.parse, but for what that passes over: a name that stands twice in an object, of which one
 * reader sees the first and another the last, and bytes that are no UTF-8.
 *
 * @throws {DocumentFault}
 */
export function readDocument(path: string | URL): unknown {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new DocumentFault(`cannot be read: ${(error as NodeJS.ErrnoException).code ?? ''}`);
  }
  return parseDocument(bytes);
}

/** @throws {DocumentFault} */
export function parseDocument(bytes: Uint8Array): unknown {
  let text: string;
  let value: unknown;
  try {
    // Some editors put a byte order mark in front, which this leaves out.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new DocumentFault('is no UTF-8', true);
  }
  try {
    value = JSON.parse(text);
  } catch {
    // A syntax error's own message quotes the text, which may be anything.
    throw new DocumentFault('is no JSON', true);
  }
  const twice = findTwice(text);
  if (twice !== null) throw new DocumentFault(`${twice} stands there twice`);
  return value;
}

interface Level {
  /** Of an object: the names so far. Null: an array. */
  readonly names: Set<string> | null;
  /** The name or the index at which we are. */
  at: string | number;
}

/** @param text is JSON @returns the path of the first name that stands twice in its object, or null */
function findTwice(text: string): string | null {
  const levels: Level[] = [];
  let isName = false;
  for (let index = 0; index < text.length; index += 1) {
    const level = levels.at(-1);
    switch (text[index]) {
      case '{':
        levels.push({ names: new Set(), at: 0 });
        isName = true;
        break;
      case '[':
        levels.push({ names: null, at: 0 });
        isName = false;
        break;
      case '}':
      case ']':
        levels.pop();
        isName = false;
        break;
      case ',':
        isName = level?.names !== null;
        if (typeof level?.at === 'number') level.at += 1;
        break;
      case '"': {
        const end = endOfString(text, index);
        if (isName && level !== undefined) {
          // It may be written in several ways: "\u0041" is "A".
          level.at = JSON.parse(text.slice(index, end)) as string;
          if (level.names?.has(level.at) === true) return phrasePath(levels);
          level.names?.add(level.at);
        }
        isName = false;
        index = end - 1;
      }
    }
  }
  return null;
}

/** No regular expression: of a long string it would keep each character in mind. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
  return text.length;
}

function phrasePath(levels: readonly Level[]): string {
  return shorten(levels.map(({ at }) => shorten(String(at))).join('.'));
}
