// Columns that fit a terminal, whatever is in them.
import { describe, expect, it } from 'vitest';

import { formatTable, widthOf } from '../../src/cli/table.js';

describe('formatTable', () => {
  it('counts the columns that a terminal needs', () => {
    expect(widthOf('/srv/x')).toBe(6);
    expect(widthOf('日本語')).toBe(6);
    expect(widthOf('한국')).toBe(4);
    expect(widthOf('😀')).toBe(2);
    expect(widthOf('e\u0301\u200b')).toBe(1);
    expect(widthOf('naïve…')).toBe(6);
  });

  it.each(['日本語'.repeat(30), '😀'.repeat(60), `a${'😀'.repeat(60)}b`, 'e\u0301'.repeat(90)])(
    'cuts %s in its middle, between characters',
    (name) => {
      for (let width = 20; width < 60; ++width) {
        const [, row = ''] = formatTable(['NAME', 'WHAT'], [{ cells: ['x', name] }], width).split(
          '\n',
        );
        // A wide character that does not fit leaves one column on either side.
        expect(widthOf(row)).toBeLessThanOrEqual(width);
        expect(widthOf(row)).toBeGreaterThanOrEqual(width - 2);
        // Half a character.
        expect(row).not.toMatch(/\p{Surrogate}/u);
      }
    },
  );

  it('aligns what follows a wide name', () => {
    const rows = ['sh', '日本語'].map((name) => ({ cells: [name, 'x'] }));
    expect(formatTable(['NAME', 'WHAT'], rows, 80)).toBe('NAME    WHAT\nsh      x\n日本語  x\n');
  });

  it('has room for more rows than a stack', () => {
    const rows = Array.from({ length: 200_000 }, (_, index) => ({ cells: [String(index), 'x'] }));
    expect(formatTable(['FD', 'WHAT'], rows, null).split('\n')).toHaveLength(200_002);
  });
});
