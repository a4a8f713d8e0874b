// The commands about what a run receives and reaches: env, gaps.
import type { Command } from 'commander';

import type { EnvFlags } from './env.js';
import type { GapsFlags } from './gaps.js';
import { addEnvironmentOptions, addVariableOption } from './environment-flags.js';

// Only when a command runs: help needs nothing of the library. By import() it would take longer.
/* eslint-disable @typescript-eslint/no-require-imports */

export function addEnvironmentCommands(program: Command): void {
  addEnv(program);
  addGaps(program);
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

function addGaps(program: Command): void {
  addEnvironmentOptions(addVariableOption(program.command('gaps')))
    .summary('show what a run could reach although nothing is handed over')
    .description(
      'Starts a probe as a run with the same options would be started, and shows for each known way ' +
        'to credentials whether it is closed, and by what, or open, and why.',
    )
    .option('--user <USER>', 'the user of the run, by name or number')
    .option('--probe-metadata', 'also connect to 169.254.169.254, where clouds hand out roles')
    .option('--no-shield', 'leave this process open to others under its uid')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
Nothing is changed and no credential read: files are opened and closed, sockets
connected to, an SSH agent asked how many keys it has.

Exit code: 0 nothing is open, 1 something is, 2 it could not be told, 125
sallyport failed or was called wrongly.

Examples:
  sallyport gaps
  sallyport gaps --user nobody --probe-metadata`,
    )
    .action(async (flags: GapsFlags) => {
      const { gaps } = require('./gaps.js') as typeof import('./gaps.js');
      process.exitCode = await gaps(flags);
    });
}
