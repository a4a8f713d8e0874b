// Lines that are longer than the terminal go on below their last column, between words.
import { native } from '../native.js';
import { complainAs, print } from './output.js';
import { widthOf } from './table.js';

/** Prints on stdout; where that is no terminal the lines stay as they are, for other programs. */
export function printLines(text: string): void {
  print(wrapLines(text, columnsOf(1)));
}

/** The same on stderr. Nobody left to tell is no error. */
export function complainLines(text: string): void {
  complainAs(wrapLines(text, columnsOf(2)));
}

function columnsOf(fd: number): number | null {
  const columns = native().terminalColumns(fd);
  return columns > 0 ? columns : null;
}

/** @param width of the terminal; null: there is none */
export function wrapLines(text: string, width: number | null): string {
  if (width === null) return text;
  return text
    .split('\n')
    .map((line) => wrapLine(line, width))
    .join('\n');
}

/** What stands between two columns. */
const GAP = /\S {2,}(?=\S)/g;
/** Where the last column leaves no room, and where there is none: under the first, and a little in. */
const STEP = 4;
const LEAST_ROOM = 30;

function wrapLine(line: string, width: number): string {
  if (widthOf(line) <= width) return line;
  const margin = ' '.repeat(indentOf(line, width));
  const lines: string[] = [];
  let current = '';
  // A word that is wider than the room stays whole: who copies it has all of it.
  for (const [part] of line.matchAll(/\s*\S+/g)) {
    const isWider = widthOf(part.trimStart()) > width - margin.length;
    if (current.trim() === '' || isWider || widthOf(current + part) <= width) {
      current += part;
    } else {
      lines.push(current);
      current = margin + part.trimStart();
    }
  }
  return [...lines, current].join('\n');
}

function indentOf(line: string, width: number): number {
  const gap = [...line.matchAll(GAP)].at(-1);
  const column = gap === undefined ? 0 : widthOf(line.slice(0, gap.index + gap[0].length));
  const indent = line.length - line.trimStart().length;
  return column > 0 && column <= width - LEAST_ROOM ? column : indent + STEP;
}
