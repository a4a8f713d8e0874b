// The commands about what a run receives and reaches: env, gaps.
import type { Command } from 'commander';

import type { EnvFlags } from './env.js';
import { addEnvironmentOptions, addVariableOption } from './environment-flags.js';

// Only when a command runs: help needs nothing of the library. By import() it would take longer.
/* eslint-disable @typescript-eslint/no-require-imports */

export function addEnvironmentCommands(program: Command): void {
  addEnv(program);
}

function addEnv(program: Command): void {
  addEnvironmentOptions(addVariableOption(program.command('env')))
    .summary('show what a child would inherit here, beside what a run receives')
    .description(
      'Shows which variables of this environment look like credentials, by name and by the shape of ' +
        'the value, and what a run with the same options would receive. Nothing is started or made.',
    )
    .usage('[options] [--] [command...]')
    .argument('[command...]', 'the program of the run: looked up, not started')
    .option('--json', 'as JSON')
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Of a value four characters are shown at most, and none where it is shorter than
16; of a URL the scheme and the host. No secrets are searched for.

Exit code: 0, or 125 where sallyport failed or was called wrongly.

Examples:
  sallyport env
  sallyport env --workspace . --allow-env CI -- npm test`,
    )
    .action(async (command: string[], flags: EnvFlags) => {
      const { env } = require('./env.js') as typeof import('./env.js');
      process.exitCode = await env(command, flags);
    });
}
