// What went wrong → one sentence and an exit code.
import { CommanderError } from 'commander';

import type { SallyportError } from '../errors.js';

/** As env(1), nice(1) and the shells have them. */
export const EXIT = { failed: 125, notExecutable: 126, notFound: 127, signalBase: 128 } as const;

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
  return isSallyportError(error) ? fromLibrary(error) : { sentence: message, exitCode: EXIT.failed };
}

// By its fields: the class would have to be loaded for every `--help`.
function isSallyportError(error: unknown): error is SallyportError {
  return error instanceof Error && 'stage' in error && 'code' in error;
}

function fromLibrary(error: SallyportError): Failure {
  const { message, stage, code, stagePath, path } = error;
  if (stage === 'lookup' && code === 'ENOENT') {
    return { sentence: `${message}; --env PATH gives it yours`, exitCode: EXIT.notFound };
  }
  if (stage === 'lookup') return { sentence: message, exitCode: EXIT.notExecutable };
  if (stage !== 'exec') return { sentence: message, exitCode: EXIT.failed };
  // The program was there at the lookup: gone since, or ENOENT speaks of a script's interpreter.
  const gone = code === 'ENOENT' && stagePath === path;
  return { sentence: message, exitCode: gone ? EXIT.notFound : EXIT.notExecutable };
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
      return `unknown command '${name}': to start a program write 'sallyport run ${name}'`;
    }
    case 'commander.missingArgument':
      return "no command given: write 'sallyport run [options] command [args…]'";
    case 'commander.optionMissingArgument':
      return `${message}: give it a value`;
    default:
      return `${message}: see 'sallyport --help'`;
  }
}
