// How a program ended → an exit code; what went wrong → one sentence and an exit code.
import { constants } from 'node:os';

import { CommanderError } from 'commander';

import type { SallyportError } from '../errors.js';

/** As env(1), nice(1) and the shells have them. */
export const EXIT = { failed: 125, notExecutable: 126, notFound: 127, signalBase: 128 } as const;

/** Of a program that ran, as a shell has it. @param signal its name */
export function exitCodeOf(code: number | null, signal: string | null): number {
  if (code !== null) return code;
  if (signal === null) return EXIT.failed;
  // Realtime signals have no name of their own: SIG34.
  return EXIT.signalBase + (constants.signals[signal as NodeJS.Signals] ?? Number(signal.slice(3)));
}

/** The user wrote something that cannot be meant. */
export class UsageError extends Error {}

export interface Failure {
  sentence: string;
  exitCode: number;
}

export function explainFailure(error: unknown): Failure {
  if (error instanceof CommanderError) {
    return { sentence: usageSentence(error), exitCode: EXIT.failed };
  }
  const { message } = error as Error;
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
  const message =
    code.startsWith('ERR_') && stage === 'plan' ? `--${error.message}` : error.message;
  if (stage === 'lookup' && code === 'ENOENT') {
    // The library speaks of options of its own.
    const advice = message.includes('own PATH') ? ': write --env PATH' : '';
    return { sentence: message + advice, exitCode: EXIT.notFound };
  }
  // Exec: it is there and cannot be executed. That a script's interpreter is missing counts as such.
  const exitCode = stage === 'lookup' || stage === 'exec' ? EXIT.notExecutable : EXIT.failed;
  return { sentence: message, exitCode };
}

// commander's own messages repeat what was written after `=`, which may be a secret.
function usageSentence(error: CommanderError): string {
  const message = error.message.replace(/^error: /, '');
  switch (error.code) {
    case 'commander.unknownOption': {
      const flag = /'(--?[A-Za-z0-9][A-Za-z0-9-]*)/.exec(message)?.[1] ?? '';
      const name = flag.startsWith('--') ? flag : flag.slice(0, 2);
      const [, hint] = /\(Did you mean (--[a-z-]+)\?\)/.exec(message) ?? [];
      const advice = hint === undefined ? "see 'sallyport run --help'" : `did you mean ${hint}?`;
      return `unknown option ${name}: ${advice} (options of the command itself go after its name)`;
    }
    case 'commander.unknownCommand': {
      const word = /'([^']*)'/.exec(message)?.[1] ?? '';
      const name = /^[\w.+/-]{1,64}$/.test(word) ? word : '…';
      return `unknown command '${name}': write 'sallyport run ${name}' to start a program, or see 'sallyport --help'`;
    }
    case 'commander.missingArgument':
      return "no command given: write 'sallyport run [options] command [args…]'";
    case 'commander.optionMissingArgument':
      return `${message}: give it a value`;
    case 'commander.help':
      return "name a command: see 'sallyport --help'";
    default:
      return `${message}: see 'sallyport --help'`;
  }
}
