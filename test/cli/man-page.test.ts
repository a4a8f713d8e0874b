// The man page is what the command line says of itself, and formatters have nothing to object.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import type { CommandModel } from '../../src/cli/command-model.js';
import { makeScratch, root } from '../support/fixtures.js';
import { needs } from '../support/tools.js';

interface Script {
  page: string;
  readCommands: () => CommandModel;
  readVersion: () => string;
  formatPage: (program: CommandModel, version: string) => string;
}

const { page, readCommands, readVersion, formatPage } = (await import(
  path.join(root, 'scripts/man-page.mjs')
)) as Script;

const run = (command: string, ...args: string[]) =>
  spawnSync(command, args, { encoding: 'utf8', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' } });

/** With mistakes in it, to see that they are seen. */
function writeBroken(): string {
  const file = path.join(makeScratch(), 'broken.1');
  writeFileSync(file, '.TH BROKEN 1\n.SH NAME\n.PP\n.PP\nbroken \\*[none]\n.B\n.nosuch\n');
  return file;
}

describe('man/sallyport.1', () => {
  it('is up to date: else run npm run man', () => {
    expect(readFileSync(page, 'utf8')).toBe(formatPage(readCommands(), readVersion()));
  });

  it('is in the package', () => {
    const { man, files } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      man: string[];
      files: string[];
    };
    // An array: npm links no page that is named by a string.
    expect(man).toEqual([expect.any(String)]);
    expect(man.map((file) => path.join(root, file))).toEqual([page]);
    expect(files).toContain('man');
  });

  needs('mandoc').it('is clean for mandoc', () => {
    expect(run('mandoc', '-Tlint', writeBroken()).stdout).toContain('WARNING');
    expect(run('mandoc', '-Tlint', page).stdout).toBe('');
  });

  needs('groff').it('is clean for groff', () => {
    const check = (file: string) => run('groff', '-man', '-ww', '-z', '-Tutf8', file).stderr;
    expect(check(writeBroken())).toContain('nosuch');
    expect(check(page)).toBe('');
  });

  needs('mandoc').it('has every command, option and example, as they are to be typed', () => {
    const text = run('mandoc', '-Tascii', '-O', 'width=200', page).stdout.replace(/.[\b]/g, '');
    const missing: string[] = [];
    const look = (command: CommandModel, names: string[]): void => {
      if (command.name === 'help') return;
      const wanted = [
        ...command.options.map(({ flags }) => flags.replace(/[<>]/g, '')),
        ...command.notes.split('\n').flatMap((line) => (/^ {2}\S/.test(line) ? line.trim() : [])),
        ...(command.commands.length === 0 ? [`   ${names.join(' ')}\n`] : []),
      ];
      missing.push(
        ...wanted.filter((each) => !/--(help|version)$/.test(each) && !text.includes(each)),
      );
      for (const each of command.commands) look(each, [...names, each.name]);
    };
    const program = readCommands();
    look(program, [program.name]);
    expect(missing).toEqual([]);
  });

  needs('man').it('is shown by man', () => {
    const { stdout, stderr } = run('man', '--warnings', '-P', 'cat', '-l', page);
    expect(stderr).toBe('');
    expect(stdout).toContain('sallyport run --pass 5 --pass 7=3 ./server');
  });
});
