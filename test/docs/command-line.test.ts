// The page of options has what `sallyport run --help` has: its options and its exit codes.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { EXIT } from '../../src/cli/failure.js';
import { root } from '../support/fixtures.js';
import { firstNames, readDocument, readDocuments } from './markdown.js';

const rowsOf = (page: string, command: string): string[][] =>
  readDocument(page).sections.find(({ heading }) => heading === `sallyport ${command}`)?.rows ?? [];

const rows = rowsOf('docs/options.md', 'run');

/** As the help of the command has them: `--pass <N[=M]>`. */
function readFlags(command: string): string[] {
  const main = path.join(root, 'dist/cli/main.js');
  const { stdout } = spawnSync(process.execPath, [main, command, '--help'], { encoding: 'utf8' });
  return [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+(?: <[^>]+>)?)/gm)].map(
    ([, flag = '']) => flag,
  );
}

describe('docs/options.md', () => {
  it('has the options of `sallyport run`', () => {
    const flags = readFlags('run');
    expect(flags.length).toBeGreaterThan(3);
    const documented = firstNames(rows).filter((name) => name.startsWith('--'));
    expect(documented.sort()).toEqual(flags.sort());
  });

  it('has its exit codes', () => {
    const codes = rows.flatMap(([cell = '']) => (/^\d[\d+n]*$/.test(cell) ? [cell] : []));
    const { signalBase, ...own } = EXIT;
    expect(codes).toEqual([...Object.values(own).map(String), `${signalBase}+n`]);
  });
});

describe('docs/audit.md', () => {
  it.each(['audit', 'leaks', 'listeners', 'holders'])(
    'has the options of `sallyport %s`',
    (command) => {
      const flags = readFlags(command).filter((flag) => flag !== '--help');
      expect(flags.length).toBeGreaterThan(0);
      expect(firstNames(rowsOf('docs/audit.md', command)).sort()).toEqual(flags.sort());
    },
  );
});

describe('docs/environment.md', () => {
  it.each(['env', 'gaps'])('has the options of `sallyport %s`', (command) => {
    const flags = readFlags(command).filter((flag) => flag !== '--help');
    expect(flags.length).toBeGreaterThan(0);
    const documented = firstNames(rowsOf('docs/environment.md', command)).filter((name) =>
      name.startsWith('--'),
    );
    expect(documented.sort()).toEqual(flags.sort());
  });
});

describe('docs/review.md', () => {
  it.each(['review', 'report'])('has the options of `sallyport %s`', (command) => {
    const flags = readFlags(command).filter((flag) => flag !== '--help');
    expect(flags.length).toBeGreaterThan(2);
    expect(firstNames(rowsOf('docs/review.md', command)).sort()).toEqual(flags.sort());
  });
});

describe('pages that have `sallyport` typed', () => {
  const typed = readDocuments().filter(
    ({ file, blocks }) =>
      file.startsWith('docs/') &&
      blocks.some(({ info, code }) => info.startsWith('sh ') && /^(?:.* )?sallyport /m.test(code)),
  );

  it('are known', () => expect(typed.length).toBeGreaterThan(7));

  // npm installs it into a folder of the project that is in no PATH.
  it.each(typed.map((document) => [document.file, document] as const))(
    '%s says how it gets into PATH',
    (_, { links }) => {
      expect(links.map(({ target }) => target)).toContain('README.md#the-command');
    },
  );
});
