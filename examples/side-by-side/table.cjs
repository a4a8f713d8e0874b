'use strict';
// Prints two children side by side, for a terminal of 80 columns or more.

const LEAK = 'LEAK';
const ABSENT = '-';

function createPainter(stream) {
  const colour = stream.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
  const paint = (code) => (text) => (colour ? `\x1b[${code}m${text}\x1b[0m` : text);
  return { bold: paint('1'), dim: paint('2'), red: paint('31'), green: paint('32') };
}

/** Keeps the end of a long text: of a path the file's name matters most. */
function fit(text, width) {
  return text.length <= width ? text.padEnd(width) : `…${text.slice(text.length - width + 1)}`;
}

/**
 * Rows of { label, left, right, leftLeaks, rightLeaks }; left and right are undefined where that
 * child does not have the thing.
 */
function renderSideBySide({ headings, sections, width, painter }) {
  const labelWidth = 4;
  const cellWidth = Math.floor((width - labelWidth - 6) / 2);
  const cell = (text, leaks) => {
    if (text === undefined) return painter.dim(fit(ABSENT, cellWidth));
    if (!leaks) return fit(text, cellWidth);
    return painter.red(`${fit(text, cellWidth - LEAK.length - 1)} ${LEAK}`);
  };
  const line = (label, left, right) => `${label.padStart(labelWidth)}  ${left}  ${right}`.trimEnd();

  const lines = [line('', ...headings.map((text) => painter.bold(fit(text, cellWidth))))];
  for (const section of sections) {
    lines.push('', painter.bold(`  ${section.title}`));
    for (const row of section.rows) {
      lines.push(line(row.label, cell(row.left, row.leftLeaks), cell(row.right, row.rightLeaks)));
    }
  }
  return lines.join('\n');
}

module.exports = { createPainter, renderSideBySide };
