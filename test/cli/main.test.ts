// The command line around its commands: help, version, and what it says to mistakes.
import { closeSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import type { CommandModel } from '../../src/cli/command-model.js';
import { root } from '../support/fixtures.js';
import { readAll } from '../support/processes.js';
import { runCli, startCli } from './command-line.js';

describe('help and version', () => {
  it.each([[['--help']], [['-h']], [['help']]])('%j prints the commands', async (args) => {
    const ran = await runCli(args);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ran.stdout).toMatch(/^Usage: sallyport .*\n[^]*^ {2}run /m);
  });

  it.each([[['run', '--help']], [['help', 'run']]])('%j prints those of run', async (args) => {
    const { code, stdout, stderr } = await runCli(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const option of [
      '--pass',
      '--env',
      '--cwd',
      '--session',
      '--allow-new-privileges',
      '--explain',
      '--json',
    ]) {
      expect(stdout).toContain(option);
    }
    expect(stdout).toMatch(/inherits\s+the\s+standard\s+channels\s+0,\s+1\s+and\s+2/);
    expect(stdout).toMatch(/127[^]*126[^]*125/);
  });

  it('is no wider than a terminal of 80 columns, of any command', async () => {
    const { program } = JSON.parse((await runCli(['completion', 'json'])).stdout) as {
      program: CommandModel;
    };
    const list = (command: CommandModel, names: string[]): string[][] => [
      names,
      ...command.commands.flatMap((each) => list(each, [...names, each.name])),
    ];
    const commands = list(program, []).filter((names) => names.at(-1) !== 'help');
    expect(commands.length).toBeGreaterThan(14);
    for (const names of commands) {
      const { code, stdout } = await runCli([...names, '--help']);
      expect(code, names.join(' ')).toBe(0);
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    }
  });

  it.each([['--version'], ['-V']])('%s prints the version of the package', async (flag) => {
    const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(await runCli([flag])).toEqual({
      code: 0,
      signal: null,
      stdout: `${version}\n`,
      stderr: '',
    });
  });

  it('loads nothing of the library for them', async () => {
    const { code, stderr } = await runCli(['--help'], { env: { NODE_DEBUG: 'module' } });
    expect(code).toBe(0);
    expect(stderr).toContain('commander'); // the debug output would show it
    expect(stderr).not.toMatch(/dist\/(index|native|launch|plan)/);
  });
});

describe('mistakes: one paragraph on stderr, and 125', () => {
  it.each<[string[], RegExp]>([
    [[], /name a command: see/],
    [['git', 'status'], /unknown command 'git': write 'sallyport run git'/],
    [['--bogus'], /unknown option --bogus: see/],
    [['run'], /no command given: write 'sallyport run/],
    [['run', '--'], /no command given/],
    [['run', '--bogus', 'true'], /unknown option --bogus/],
    [['run', '--sesion', 'new', 'true'], /did you mean --session\?/],
    [['run', '--cwd'], /'--cwd <DIR>' argument missing/],
    [
      ['run', '--session', 'other', 'true'],
      /--session: not a session: write new, group or inherit/,
    ],
    [['run', '--json', 'true'], /--json: nothing to print: write --explain --json/],
    [['run', '--pass', 'x', 'true'], /--pass: not a descriptor number: write --pass 5/],
    [['run', '--pass', '5=', 'true'], /--pass: not a descriptor number/],
    [['run', '--pass=-1', 'true'], /--pass: not a descriptor number/],
    [
      ['run', '--pass', '200', 'true'],
      /--pass 200: not open here: open it in the shell, as in 200<FILE/,
    ],
    [['run', '--pass', '1', 'true'], /--pass: 1 is a standard channel/],
    [['run', '--pass', '0=2', 'true'], /--pass: 2 is a standard channel/],
    [
      ['run', '--pass', '0=3', '--pass', '1=3', 'true'],
      /two descriptors for number 3[^]*--pass 3=4/,
    ],
    [['run', '--pass', '0=100000000', 'true'], /--pass: 100000000 is not below the soft limit/],
    [['run', ''], /the command is empty/],
    [['run', '--cwd=', 'true'], /--cwd: is empty/],
    [['help', 'nothing'], /name a command/],
    [['run', '--env', '=x', 'true'], /--env: no name/],
    [
      ['run', '--env', 'ABSENT', 'true'],
      /--env ABSENT: no such variable here: set it, leave it out, or write --env ABSENT=VALUE/,
    ],
    [['run', '--cwd', '/no/such/place', 'true'], /\/no\/such\/place/],
  ])('%j', async (args, sentence) => {
    const { code, stdout, stderr } = await runCli(args);
    expect(stderr).toMatch(/^sallyport: [^\n]+\n$/);
    expect(stderr).toMatch(sentence);
    expect({ code, stdout }).toEqual({ code: 125, stdout: '' });
  });

  it.each([
    [['run', '--env', 's3cret-value', 'true']],
    [['run', '--enf=TOKEN=s3cret-value', 'true']],
    [['run', '--enf', 's3cret-value', 'true']],
    [['run', '--cwd', '/nowhere', '--env', 'TOKEN=s3cret-value', 'true', 's3cret-value']],
    [['run', '--env', 'TOKEN=s3cret-value', 'no-such-program', 's3cret-value']],
    [['run', '--pass', 's3cret-value', 'true']],
    [['run', '--session', 's3cret-value', 'true']],
    [['run', '-xs3cret-value', 'true']],
    [['TOKEN=s3cret-value', 'true']],
  ])('%j: no value in what it says', async (args) => {
    const { code, stderr } = await runCli(args);
    expect(code).toBeGreaterThanOrEqual(125);
    expect(stderr).toMatch(/^sallyport: /);
    expect(stderr).not.toContain('s3cret');
  });
});

describe('our own output', () => {
  it('a reader that goes away is no crash', async () => {
    const child = startCli(['run', '--help'], ['ignore', 'pipe', 'pipe']);
    child.stdout!.destroy();
    const stderr = await readAll(child.stderr!);
    expect(stderr.toString()).toBe('');
  });

  it('a full disk is told', async () => {
    const full = openSync('/dev/full', 'w');
    const child = startCli(['--help'], ['ignore', full, 'pipe']);
    closeSync(full);
    const stderr = await readAll(child.stderr!);
    expect(stderr.toString()).toMatch(/^sallyport: .*ENOSPC/);
  });
});
