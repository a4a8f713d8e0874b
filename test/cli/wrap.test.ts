// Lines that a terminal has no room for.
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { widthOf } from '../../src/cli/table.js';
import { wrapLines } from '../../src/cli/wrap.js';
import { root } from '../support/fixtures.js';
import { withTerminal } from './audit-terminal.js';

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;

describe('wrapLines', () => {
  it('leaves all as it is for who is no terminal, and what fits', () => {
    const text = `${'long '.repeat(100)}\n  short\n`;
    expect(wrapLines(text, null)).toBe(text);
    expect(wrapLines('a\n\n  b  c\n', 5)).toBe('a\n\n  b  c\n');
  });

  it('goes on below the last column, between words', () => {
    expect(wrapLines('  name  accept  what it says is that and more of it here', 51)).toBe(
      ['  name  accept  what it says is that and more of it', '                here'].join('\n'),
    );
    expect(wrapLines('label        one two three four five six seven eight', 45)).toBe(
      ['label        one two three four five six', '             seven eight'].join('\n'),
    );
  });

  it('goes on a little in where the last column has no room', () => {
    expect(
      wrapLines('  0  read  file /srv/somewhere/else/notes.txt  inherited by choice', 50),
    ).toBe(
      ['  0  read  file /srv/somewhere/else/notes.txt', '      inherited by choice'].join('\n'),
    );
  });

  it('breaks no word: who copies it has all of it', () => {
    for (const line of [`digest       ${digest}`, `stdout       to eof; SHA-256 ${digest}`]) {
      expect(wrapLines(line, 60)).toContain(digest);
    }
    expect(wrapLines(`digest       ${digest}`, 80)).toBe(`digest       ${digest}`);
  });

  it('counts what a terminal counts', () => {
    for (const line of wrapLines(`name  ${'日本 語 '.repeat(40)}`, 40).split('\n')) {
      expect(widthOf(line)).toBeLessThanOrEqual(40);
    }
  });

  it('goes through a line of a megabyte', () => {
    expect(wrapLines('word '.repeat(200_000), 80).split('\n').length).toBeGreaterThan(10_000);
    expect(wrapLines('x'.repeat(1_000_000), 80)).toHaveLength(1_000_000);
  });
});

it.each([
  ['run', '--explain', '--', '/bin/true'],
  ['review', '--cards'],
  ['review', '--profile', path.join(root, 'examples/text-summary/profile.json')],
])('%s %s: no line is broken within a word at 80 columns', async (...args) => {
  const printed = await withTerminal(args, { columns: 80, env: {} });
  const lines = printed.replaceAll('\r', '').split('\n');
  expect(lines.length).toBeGreaterThan(8);
  for (const line of lines.filter((each) => !each.includes('sha256:'))) {
    expect(widthOf(line)).toBeLessThanOrEqual(80);
  }
});
