// The command `sallyport completion`: scripts that complete this command line in a shell.
import type { Command } from 'commander';

import { UsageError } from './failure.js';

export const COMPLETED = ['bash', 'zsh', 'fish', 'json'] as const;

// Only when the command runs: help needs nothing of it. By import() it would take longer.
/* eslint-disable @typescript-eslint/no-require-imports */

export function addCompletionCommands(program: Command): void {
  program
    .command('completion')
    .summary('print a script that completes sallyport in a shell')
    .description(
      'Prints a script by which a shell completes commands, options, their values, and the command ' +
        'that is to be started; or, as JSON, the commands and options themselves.',
    )
    .argument('[shell]', 'a shell: bash, zsh or fish; or json')
    .addHelpText(
      'after',
      `
That of bash is read in ~/.bashrc, that of zsh in ~/.zshrc, after compinit; that
of fish is written to a file once.

Exit code: 0, or 125 where sallyport failed or was called wrongly.

Examples:
  source <(sallyport completion bash)
  source <(sallyport completion zsh)
  sallyport completion fish > ~/.config/fish/completions/sallyport.fish`,
    )
    .action((shell: string | undefined) => {
      const { completion } = require('./completion.js') as typeof import('./completion.js');
      if (shell === undefined || !(COMPLETED as readonly string[]).includes(shell)) {
        throw new UsageError(
          `completion: ${shell === undefined ? 'no shell given' : 'not a shell that it knows'}: write ${COMPLETED.slice(0, -1).join(', ')} or json`,
        );
      }
      process.exitCode = completion(program, shell as (typeof COMPLETED)[number]);
    });
}
