// Completion, asked of the shells themselves: what a person gets who presses the key.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { CommandModel } from '../../src/cli/command-model.js';
import { makeScratch } from '../support/fixtures.js';
import { waitFor } from '../support/processes.js';
import { BASH_COMPLETION, needs } from '../support/tools.js';
import { cli, KeyboardTerminal } from './terminal.js';

const print = (shell: string): string => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [cli, 'completion', shell], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
};

const { program } = JSON.parse(print('json')) as { program: CommandModel };

function find(...names: string[]): CommandModel {
  return names.reduce(
    (command, name) => command.commands.find((each) => each.name === name)!,
    program,
  );
}

const optionsOf = (...names: string[]): string[] => find(...names).options.map(({ long }) => long);

/** Files, directories and a program with a completion of its own. */
const folder = makeScratch();
mkdirSync(path.join(folder, 'bin'));
mkdirSync(path.join(folder, 'reports'));
mkdirSync(path.join(folder, 'rest'));
writeFileSync(path.join(folder, 'records.jsonl'), '');
writeFileSync(path.join(folder, 'bin/ownprogram'), '#!/bin/sh\n');
chmodSync(path.join(folder, 'bin/ownprogram'), 0o755);

const env = {
  PATH: `${folder}/bin:/usr/bin:/bin`,
  HOME: folder,
  TERM: 'xterm',
  LC_ALL: 'C.UTF-8',
  ONLY_THIS_VARIABLE: 'x',
};

type Ask = (line: string) => Promise<string[]>;

/** A shell with two keys: one puts all matches into the line, one writes the line to a file. */
class Asked implements AsyncDisposable {
  readonly #terminal: KeyboardTerminal;
  readonly #file: string;

  private constructor(terminal: KeyboardTerminal, file: string) {
    this.#terminal = terminal;
    this.#file = file;
  }

  static async open(command: readonly string[], setup: (file: string) => string): Promise<Asked> {
    const scratch = makeScratch();
    const file = path.join(scratch, 'lines');
    const script = path.join(scratch, 'setup');
    writeFileSync(file, '');
    writeFileSync(script, `cd ${folder}\n${setup(file)}\necho 'is''ready'\n`);
    const terminal = await KeyboardTerminal.open(command, env);
    terminal.type(`. ${script}`);
    await terminal.expect('isready');
    return new Asked(terminal, file);
  }

  /** What was inserted in the place of the last word. */
  async ask(line: string): Promise<string[]> {
    const before = readFileSync(this.#file, 'utf8').length;
    this.#terminal.send(`${line}\x18a\x18p`);
    const seen = await waitFor('the line', () => {
      const text = readFileSync(this.#file, 'utf8').slice(before);
      return text.endsWith('\n') && text;
    });
    // Away with it: what was completed is not to be run.
    this.#terminal.send('\x15');
    const kept = line.slice(0, line.lastIndexOf(' ') + 1);
    expect(seen.startsWith(kept)).toBe(true);
    return seen.slice(kept.length).trim().split(/ +/);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#terminal[Symbol.asyncDispose]();
  }
}

const sorted = (words: readonly string[]): string[] => [...words].sort();

function describeShell(open: () => Promise<{ ask: Ask } & AsyncDisposable>): void {
  let shell: Awaited<ReturnType<typeof open>>;
  beforeAll(async () => {
    shell = await open();
  });
  afterAll(async () => {
    await shell[Symbol.asyncDispose]();
  });
  const ask: Ask = (line) => shell.ask(line);

  it('completes commands, and those below them', async () => {
    expect(sorted(await ask('sallyport '))).toEqual(
      sorted(program.commands.map(({ name }) => name)),
    );
    expect(sorted(await ask('sallyport re'))).toEqual(['report', 'review']);
    expect(sorted(await ask('sallyport profile '))).toEqual(
      sorted(find('profile').commands.map(({ name }) => name)),
    );
    expect(await ask('sallyport help lea')).toEqual(['leaks']);
    expect(sorted(await ask('sallyport completion '))).toEqual(['bash', 'fish', 'json', 'zsh']);
  });

  it.each([
    ['run'],
    ['audit'],
    ['leaks'],
    ['listeners'],
    ['gaps'],
    ['profile', 'draft'],
    ['report'],
  ])('completes every option of %s %s', async (...names) => {
    const words = await ask(`sallyport ${names.join(' ')} --`);
    // zsh says that a value follows by a `=`.
    expect(sorted(words.map((word) => word.replace(/=$/, '')))).toEqual(
      sorted(optionsOf(...names)),
    );
  });

  it('completes values: what can be chosen', async () => {
    expect(sorted(await ask('sallyport run --session '))).toEqual(['group', 'inherit', 'new']);
    expect(await ask('sallyport run --session gr')).toEqual(['group']);
    expect(sorted(await ask('sallyport run --preset '))).toEqual([
      'git',
      'node',
      'proxy',
      'python',
    ]);
    expect(await ask('sallyport run --deadline 5 --cache play')).toEqual(['playwright']);
    expect(await ask('sallyport run --limit nof')).toEqual(['nofile=']);
    expect(await ask('sallyport run --session=gr')).toEqual(['--session=group']);
  });

  it('completes values: files, directories, users, variables, processes', async () => {
    expect(await ask('sallyport run --report rec')).toEqual(['records.jsonl']);
    expect(await ask('sallyport run --report=rec')).toEqual(['--report=records.jsonl']);
    const directories = await ask('sallyport run --cwd re');
    expect(sorted(directories.map((word) => word.replace(/\/$/, '')))).toEqual(['reports', 'rest']);
    expect(await ask('sallyport run --user nobod')).toEqual(['nobody']);
    expect(await ask('sallyport run --env ONLY_TH')).toEqual(['ONLY_THIS_VARIABLE']);
    expect(await ask('sallyport report rec')).toEqual(['records.jsonl']);
    expect(await ask('sallyport report x rec')).toEqual(['records.jsonl']);
    expect(await ask(`sallyport audit ${String(process.pid)}`)).toContain(String(process.pid));
  });

  it('completes the command that is to be started, and then by that one’s own completion', async () => {
    expect(await ask('sallyport run --deadline 5 ownprog')).toEqual(['ownprogram']);
    expect(await ask('sallyport run --deadline=5 -- ownprog')).toEqual(['ownprogram']);
    expect(await ask('sallyport run -- ownprog')).toEqual(['ownprogram']);
    expect(await ask('sallyport leaks -- ownprog')).toEqual(['ownprogram']);
    for (const line of [
      'sallyport run -- ownprogram al',
      'sallyport run ownprogram --x al',
      'sallyport run ownprogram al',
      'sallyport run --deadline 5 --session=new ownprogram al',
      'sallyport run -- ownprogram --x al',
      'sallyport leaks --json -- ownprogram al',
      'sallyport env ownprogram al',
      'sallyport profile draft --cwd / ownprogram al',
    ]) {
      expect([line, await ask(line)]).toEqual([line, ['alpha']]);
    }
    // Its options are not ours.
    expect(await ask('sallyport run ownprogram --sess')).toEqual(['--sess']);
  });

  it('takes a word that is the value of an option for no command', async () => {
    expect(await ask('sallyport run --report run --sess')).toHaveLength(1);
    expect((await ask('sallyport run --env run --sess'))[0]).toMatch(/^--session=?$/);
  });
}

function bashSetup(file: string, completion: string): string {
  return `${completion}
${print('bash')}
complete -W 'alpha beta' ownprogram
bind '"\\C-xa": insert-completions'
bind -x '"\\C-xp": printf "%s\\\\n" "$READLINE_LINE" >>${file}'
bind 'set bell-style none'
PS1='> '`;
}

needs('bash', 'bash-completion').describe('bash with bash-completion', () => {
  describeShell(() =>
    Asked.open(['bash', '--norc', '-i'], (file) => bashSetup(file, `. ${BASH_COMPLETION}`)),
  );
});

needs('bash').describe('bash alone', () => {
  it('completes options, values and programs, and files for their arguments', async () => {
    await using shell = await Asked.open(['bash', '--norc', '-i'], (file) => bashSetup(file, ''));
    expect(sorted(await shell.ask('sallyport run --'))).toEqual(sorted(optionsOf('run')));
    expect(await shell.ask('sallyport run --session=gr')).toEqual(['--session=group']);
    expect(await shell.ask('sallyport run ownprog')).toEqual(['ownprogram']);
    expect(await shell.ask('sallyport run ownprogram rec')).toEqual(['records.jsonl']);
  });
});

needs('zsh').describe('zsh', () => {
  describeShell(() =>
    Asked.open(
      ['zsh', '-f', '-i'],
      (file) => `autoload -Uz compinit && compinit -u -D
${print('zsh')}
_ownprogram() { compadd alpha beta }
compdef _ownprogram ownprogram
zle -C all-matches complete-word _generic
bindkey '^Xa' all-matches
zstyle ':completion:all-matches:*' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert true
dump-line() { print -r -- "$BUFFER" >>${file} }
zle -N dump-line
bindkey '^Xp' dump-line
bindkey '^U' kill-whole-line
unsetopt beep
PS1='> '`,
    ),
  );

  it('loads it from a file of its fpath', () => {
    const functions = makeScratch();
    writeFileSync(path.join(functions, '_sallyport'), print('zsh'));
    const script = `fpath=(${functions} $fpath); autoload -Uz compinit && compinit -u -D
      print -r -- $_comps[sallyport]; autoload +X _sallyport && print loaded`;
    const { stdout } = spawnSync('zsh', ['-f', '-c', script], { encoding: 'utf8', env });
    expect(stdout).toBe('_sallyport\nloaded\n');
  });
});

needs('fish').describe('fish', () => {
  const script = path.join(makeScratch(), 'sallyport.fish');
  writeFileSync(script, `${print('fish')}\ncomplete -c ownprogram -f -a 'alpha beta'\n`);

  describeShell(() => {
    const ask: Ask = async (line) => {
      const { stdout, stderr } = spawnSync(
        'fish',
        ['--no-config', '-c', `cd ${folder}; source ${script}; complete -C $argv[1]`, line],
        { encoding: 'utf8', env },
      );
      expect(stderr).toBe('');
      const words = stdout.split('\n').flatMap((each) => each.split('\t')[0] || []);
      // Where nothing completes it, the word stays as it is.
      return words.length > 0 ? words : [line.slice(line.lastIndexOf(' ') + 1)];
    };
    return Promise.resolve({ ask, [Symbol.asyncDispose]: () => Promise.resolve() });
  });
});

describe('sallyport completion', () => {
  it('says what it can be asked for', () => {
    for (const args of [[], ['tcsh']]) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'completion', ...args], {
        encoding: 'utf8',
      });
      expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
      expect(stderr).toMatch(/^sallyport: completion: .*: write bash, zsh, fish or json\n$/);
    }
  });

  it('prints commands as they are in the help', () => {
    for (const command of program.commands) {
      if (command.name === 'help') continue;
      const { stdout } = spawnSync(process.execPath, [cli, command.name, '--help'], {
        encoding: 'utf8',
      });
      for (const { flags } of command.options) expect(stdout).toContain(`  ${flags}`);
      expect(stdout.endsWith(`${command.notes}\n`)).toBe(true);
    }
  });
});
