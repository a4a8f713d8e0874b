// Text for a terminal: aligned columns that fit it, colour where it is wanted, nothing that acts on it.
import { isatty } from 'node:tty';

import { clean } from '../clean-text.js';

export { clean };

export type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

const CODES: Record<Colour, number> = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 };

/** https://no-color.org: any value but an empty one. */
function wantsColour(): boolean {
  const { NO_COLOR, TERM } = process.env;
  return isatty(1) && (NO_COLOR === undefined || NO_COLOR === '') && TERM !== 'dumb';
}

let colours: boolean | undefined;

export function paint(text: string, colour: Colour): string {
  colours ??= wantsColour();
  return colours ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text;
}

/** Of the terminal; null where the output goes elsewhere, which is not cut. */
function terminalWidth(): number | null {
  if (!isatty(1)) return null;
  const { columns } = process.stdout;
  return columns > 0 ? columns : 80;
}

export interface Row {
  cells: readonly string[];
  colour?: Colour | undefined;
}

const GAP = '  ';
const SHORTEST = 8;

/** The last column takes what is left of the width; where that is too little it is cut in the middle. */
export function formatTable(
  heading: readonly string[],
  rows: readonly Row[],
  width: number | null = terminalWidth(),
): string {
  const cleaned = rows.map(({ cells, colour }) => ({ cells: cells.map(clean), colour }));
  // Not all at once as arguments of one call, of which a stack has no room for a hundred thousand.
  const widths = heading.map((title, column) =>
    cleaned.reduce(
      (most, { cells }) => Math.max(most, widthOf(cells[column] ?? '')),
      widthOf(title),
    ),
  );
  const last = widths.length - 1;
  if (width !== null) {
    const before = widths.slice(0, last).reduce((sum, each) => sum + each + GAP.length, 0);
    widths[last] = Math.max(SHORTEST, Math.min(widths[last] ?? 0, width - before));
  }
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        if (column === last) return cut(cell, widths[last] ?? Infinity);
        return cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell)));
      })
      .join(GAP)
      .trimEnd();
  return [
    paint(line(heading), 'dim'),
    ...cleaned.map(({ cells, colour }) => {
      const text = line(cells);
      return colour === undefined ? text : paint(text, colour);
    }),
    '',
  ].join('\n');
}

/** Both ends of a path tell more than its middle. */
function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const characters = Array.from(text);
  const room = width - 1; // beside the …
  const head = takeWhileFits(characters, Math.ceil(room / 2));
  const tail = takeWhileFits(characters.reverse(), room - widthOf(head.join('')));
  return `${head.join('')}…${tail.reverse().join('')}`;
}

function takeWhileFits(characters: readonly string[], room: number): string[] {
  let used = 0;
  const end = characters.findIndex((character) => (used += widthOf(character)) > room);
  return characters.slice(0, end < 0 ? characters.length : end);
}

/** How many columns of a terminal it takes, as wcwidth(3) has it: names are in any script. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) {
    if (/[\p{Mn}\p{Me}\p{Cf}]/u.test(character)) continue;
    width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

// East Asian Wide and Fullwidth of Unicode, and pictures.
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
