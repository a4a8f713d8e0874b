// The page of options has what `sallyport run --help` has: its options and its exit codes.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { EXIT } from '../../src/cli/failure.js';
import { root } from '../support/fixtures.js';
import { firstNames, readDocument } from './markdown.js';

const section = readDocument('docs/options.md').sections.find(
  ({ heading }) => heading === 'sallyport run',
);
const rows = section?.rows ?? [];

function readHelp(): string {
  const main = path.join(root, 'dist/cli/main.js');
  return spawnSync(process.execPath, [main, 'run', '--help'], { encoding: 'utf8' }).stdout;
}

describe('docs/options.md', () => {
  it('has the options of `sallyport run`', () => {
    const flags = [...readHelp().matchAll(/^ {2}(?:-\w, )?(--[a-z-]+(?: <[^>]+>)?)/gm)];
    expect(flags.length).toBeGreaterThan(3);
    const documented = firstNames(rows).filter((name) => name.startsWith('--'));
    expect(documented.sort()).toEqual(flags.map(([, flag]) => flag).sort());
  });

  it('has its exit codes', () => {
    const codes = rows.flatMap(([cell = '']) => (/^\d[\d+n]*$/.test(cell) ? [cell] : []));
    const { signalBase, ...own } = EXIT;
    expect(codes).toEqual([...Object.values(own).map(String), `${signalBase}+n`]);
  });
});
