// How a program ended → an exit code; what went wrong → one sentence and an exit code.
import { constants } from 'node:os';

import { CommanderError } from 'commander';

import type { SallyportError } from '../errors.js';
import type { RunReport } from '../index.js';

/** As env(1), nice(1) and the shells have them. */
export const EXIT = { failed: 125, notExecutable: 126, notFound: 127, signalBase: 128 } as const;

/** Of a program that ran, as a shell has it. @param signal its name */
export function exitCodeOf(code: number | null, signal: string | null): number {
  if (code !== null) return code;
  if (signal === null) return EXIT.failed;
  // Realtime signals have no name of their own: SIG34.
  return EXIT.signalBase + (constants.signals[signal as NodeJS.Signals] ?? Number(signal.slice(3)));
}

/** The user wrote something that cannot be meant: where, what, what to do, in one sentence. */
export class UsageError extends Error {}

/** A signal came for the program before there was one. */
export class EndedBefore extends Error {
  constructor(readonly signal: NodeJS.Signals) {
    super(`run: ${signal} came before the program was started: nothing was started`);
  }
}

export interface Failure {
  sentence: string;
  exitCode: number;
}

const OURS: Usage = { name: 'sallyport', operands: '[command]' };

/** A command as it is to be written: `sallyport profile check`, `<file>`. */
export interface Usage {
  name: string;
  operands: string;
}

/** @param usage for mistakes in what was written: of the command that was meant */
export function explainFailure(error: unknown, usage: Usage = OURS): Failure {
  if (error instanceof CommanderError) {
    return { sentence: usageSentence(error, usage), exitCode: EXIT.failed };
  }
  const { message } = error as Error;
  if (error instanceof EndedBefore) {
    return { sentence: message, exitCode: exitCodeOf(null, error.signal) };
  }
  return isSallyportError(error)
    ? fromLibrary(error)
    : { sentence: message, exitCode: EXIT.failed };
}

// By its fields: the class would have to be loaded for every `--help`.
function isSallyportError(error: unknown): error is SallyportError {
  return error instanceof Error && 'stage' in error && 'code' in error;
}

function fromLibrary(error: SallyportError): Failure {
  const { stage, code } = error;
  // A mistake in one of the library's options is one in ours of the same name.
  const message = inOurWords(
    code.startsWith('ERR_') && stage === 'plan' ? `--${error.message}` : error.message,
    error,
  );
  if (stage === 'lookup' && code === 'ENOENT') {
    // The library speaks of options of its own.
    const advice = message.includes('own PATH') ? ': write --env PATH' : '';
    return { sentence: message + advice, exitCode: EXIT.notFound };
  }
  if (error.report !== undefined) {
    const { kind, code: ended, signal } = (error.report as RunReport).outcome;
    const how = [kind, ended === null ? signal : `code ${ended}`].filter((part) => part !== null);
    return { sentence: `${message}: not recorded: ${how.join(', ')}`, exitCode: EXIT.failed };
  }
  // Exec: it is there and cannot be executed. That a script's interpreter is missing counts as such.
  const exitCode = stage === 'lookup' || stage === 'exec' ? EXIT.notExecutable : EXIT.failed;
  return { sentence: message, exitCode };
}

/** The library's advice names its options; and where it gives none, a person at a shell wants some. */
function inOurWords(message: string, { stage, code, syscall = '' }: SallyportError): string {
  if (stage === 'cwd') return message.replace('another cwd', 'another --cwd');
  if (message.includes('give numbers for user, group and groups')) {
    return message.replace(/give numbers for .*$/, 'give a number for --user');
  }
  if (code === 'ESRCH' && stage === 'audit') {
    return `${message}: it may have ended: 'ps -e' lists those that are there`;
  }
  if (code === 'ENOENT' && syscall.startsWith('find holders')) {
    return `${message}: write a path that is there, or a port`;
  }
  if (code === 'ENOENT' && / open '[^\n]*': no such file or directory$/.test(message)) {
    return `${message}: create its directory first`;
  }
  if (message.endsWith('in this network namespace')) {
    return `${message}: there is nothing to release; 'sallyport listeners' lists those that are there`;
  }
  if (
    code === 'ERR_SALLYPORT_INVALID_PROFILE' &&
    / cannot be read: \w+$| is no JSON$/.test(message)
  ) {
    return `${message}: give a file as 'sallyport profile draft' prints one`;
  }
  return message;
}

// commander's own messages repeat what was written after `=`, which may be a secret.
function usageSentence(error: CommanderError, { name, operands }: Usage): string {
  const message = error.message.replace(/^error: /, '');
  switch (error.code) {
    case 'commander.unknownOption': {
      const flag = /'(--?[A-Za-z0-9][A-Za-z0-9-]*)/.exec(message)?.[1] ?? '';
      const option = flag.startsWith('--') ? flag : flag.slice(0, 2);
      const [, hint] = /\(Did you mean (--[a-z-]+)\?\)/.exec(message) ?? [];
      const advice = hint === undefined ? `see '${name} --help'` : `did you mean ${hint}?`;
      return `unknown option ${option}: ${advice} (options of a command that is to be started go after its name)`;
    }
    case 'commander.unknownCommand': {
      const word = /'([^']*)'/.exec(message)?.[1] ?? '';
      const unknown = /^[\w.+/-]{1,64}$/.test(word) ? word : '…';
      return `unknown command '${unknown}': write 'sallyport run ${unknown}' to start a program, or see 'sallyport --help'`;
    }
    case 'commander.missingArgument':
      return `${name}: something is missing: write '${name} ${operands}'`;
    case 'commander.excessArguments':
      return `${name}: more is given than it takes: write '${name} ${operands}'`;
    case 'commander.optionMissingArgument':
      return `${message}: give it a value`;
    case 'commander.help':
      return `no command given: name a command: see '${name} --help'`;
    default:
      return `${message}: see '${name} --help'`;
  }
}
