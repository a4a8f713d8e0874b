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
  const widths = heading.map((title, column) =>
    Math.max(title.length, ...cleaned.map(({ cells }) => cells[column]?.length ?? 0)),
  );
  const last = widths.length - 1;
  if (width !== null) {
    const before = widths.slice(0, last).reduce((sum, each) => sum + each + GAP.length, 0);
    widths[last] = Math.max(SHORTEST, Math.min(widths[last] ?? 0, width - before));
  }
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        if (column === last) return cut(cell, widths[last] ?? cell.length);
        return cell.padEnd(widths[column] ?? 0);
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
  if (text.length <= width) return text;
  const head = Math.ceil((width - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (width - 1 - head))}`;
}
