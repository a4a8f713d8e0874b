#!/usr/bin/env node
// The command line: `sallyport <command>`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Command, CommanderError } from 'commander';

import { addAuditCommands } from './audit-commands.js';
import { addCompletionCommands } from './completion-commands.js';
import { addEnvironmentCommands } from './environment-commands.js';
import { addEnvironmentOptions, addVariableOption } from './environment-flags.js';
import { addReviewCommands } from './review-commands.js';
import { explainFailure, type Usage } from './failure.js';
import { complain, print } from './output.js';
import type { RunFlags } from './run-options.js';

const program = new Command('sallyport')
  .description('Starts programs with exactly the descriptors, environment and session you name.')
  .version(readVersion(), '-V, --version', 'print the version')
  .helpOption('-h, --help', 'print this help')
  .helpCommand('help [command]', 'print the help of a command')
  // What follows a command's name belongs to the command, and what follows the program's to it.
  .enablePositionalOptions()
  .exitOverride()
  .configureOutput({ writeOut: print, writeErr: () => undefined, outputError: () => undefined });

addEnvironmentOptions(addVariableOption(program.command('run')))
  .option('--remove-home', 'with --workspace: remove .home and .tmp at the end, where it made them')
  .summary('start a program with exactly what is named')
  .description(
    'Starts a program. It inherits the standard channels 0, 1 and 2, and the descriptors that --pass ' +
      'names, and no other. Its environment is PATH=/usr/local/bin:/usr/bin:/bin; LANG, LC_ALL, TZ ' +
      'and TERM where they are set here; and what --env names.',
  )
  .usage('[options] [--] <command> [args...]')
  .argument(
    '[command]',
    "a program: a path, or a name that is in the PATH of the program's environment; with --profile it " +
      'may be left out',
  )
  .argument('[args...]', 'its arguments, also those that look like options')
  .option('--pass <N[=M]>', 'also pass descriptor N, as number M (repeatable)', collect)
  .option('--cwd <DIR>', 'start in this directory')
  .option('--session <new|group|inherit>', 'session of the program (default: see below)')
  .option('--deadline <TIME>', 'end it after so long: 90, 1.5m, 250ms; seconds without a unit')
  .option('--stall <TIME>', 'end it after so long without output and progress (pipes)')
  .option('--max-output <SIZE>', 'end it beyond so many bytes of stdout, or of stderr (pipes)')
  .option('--grace <TIME>', 'time between SIGTERM and SIGKILL (default: 2s)')
  .option('--drain <TIME>', 'time for pipes that others hold after its end (default: 0.5s)')
  .option('--limit <NAME=SOFT[:HARD]>', 'resource limit, as in nofile=1024 (repeatable)', collect)
  .option('--user <USER>', 'run as this user, by name or number')
  .option('--report <FILE>', 'append a record of the run, one line of JSON (pipes)')
  .option(
    '--credentials <FILE>',
    'mint what FILE describes for this run, and keep it fresh: JSON, or a module (see below)',
  )
  .option('--no-mask-credentials', 'do not take minted secrets out of its output: no pipes for it')
  .option('--status', 'say on the terminal how it is doing, in one line (pipes)')
  .option(
    '--quiet',
    'no word of sallyport about pipes, what was ended, and what a failed program did not have',
  )
  .option('--no-shield', 'let the program read what is in /proc of sallyport')
  .option('--allow-new-privileges', 'let setuid programs such as sudo work')
  .option('--profile <FILE>', 'review it by this profile first, and compare it at its exec')
  .option('--explain', 'print the launch plan and start nothing')
  .option('--json', 'with --explain: as JSON')
  .addHelpText(
    'after',
    `
Session: on a terminal the program gets a process group of its own in this
session, and the keyboard: prompts, ^C, ^\\ and ^Z work as without sallyport.
Elsewhere it gets a new session. --session says otherwise; with inherit the
program stays in the process group of the caller.

Signals: INT, TERM, HUP, QUIT and WINCH are passed on to the process group of
the program, USR1 and USR2 to the program.

Supervision: with one of --deadline, --stall, --max-output, --grace, --drain,
--report, --status and --credentials everything that the program leaves is ended
with it. The standard channels stay inherited, unless an option marked (pipes)
must see them: then stdout and stderr are pipes, of which all is passed on.

Credentials: FILE names sources (aws-assume-role, command, file) and how each is
delivered (endpoint, process, file, env); docs/credentials.md has the form. They
are minted before the start and taken back at the end; where one cannot be had
nothing is started. stdout and stderr are pipes then, in which minted secrets
become ***; --no-mask-credentials leaves both as they are.

Exit code: that of the program, or 128+n where signal n ended it; 127 where it
was not found, 126 where it cannot be executed, 125 where sallyport failed, or
ended the program at a deadline, a stall or a limit.

Examples:
  sallyport run --env HOME git status
  sallyport run --pass 5 --pass 7=3 ./server 5<config.json 7<key.pem
  sallyport run --deadline 10m --stall 2m --report runs.jsonl npm test
  sallyport run --workspace . --credentials agent.json --deadline 40m npm test
  sallyport run --env CI=1 --explain npm test`,
  )
  .passThroughOptions()
  .action(async (file: string | undefined, args: string[], flags: RunFlags) => {
    // Only now: `--help` needs nothing of the library. By import() it would take 9 ms longer.
    /* eslint-disable @typescript-eslint/no-require-imports */
    if (flags.profile === undefined) {
      const { run } = require('./run.js') as typeof import('./run.js');
      process.exitCode = await run(file, args, flags);
    } else {
      const { runByProfile } = require('./run-profile.js') as typeof import('./run-profile.js');
      process.exitCode = await runByProfile(flags.profile, file, args, flags);
    }
    /* eslint-enable @typescript-eslint/no-require-imports */
  });

addAuditCommands(program);
addEnvironmentCommands(program);
addReviewCommands(program);
addCompletionCommands(program);

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

function readVersion(): string {
  const text = readFileSync(join(__dirname, '../../package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Of the command that was meant, as far as it was named. */
function findUsage(words: readonly string[]): Usage {
  let command = program;
  let name = 'sallyport';
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) break;
    command = next;
    name += ` ${word}`;
  }
  return { name, operands: command.usage() };
}

async function main(): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return; // --help, --version
    const { sentence, exitCode } = explainFailure(error, findUsage(process.argv.slice(2)));
    complain(sentence);
    process.exitCode = exitCode;
    leaveAtLast(exitCode);
  }
}

/** By then a mint that failed has been ended; what a source still has open holds up nobody. */
const LAST = 4_000;

/** Where something keeps the event loop alive: signals would end nobody, since a job listens to them. */
function leaveAtLast(exitCode: number): void {
  const leave = (): void => {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    const { native } = require('../native.js') as typeof import('../native.js');
    native().exitNow(exitCode);
  };
  setTimeout(leave, LAST).unref();
}

void main();
