// The options that say what the environment of a program is, for all commands that take them.
import type { Command } from 'commander';

/** As commander gives them. */
export interface EnvironmentFlags {
  env?: string[];
  workspace?: string;
  runId?: string;
  allowEnv?: string[];
  set?: string[];
  preset?: string[];
  cache?: string[];
  removeHome?: boolean;
  /** Name or number. */
  user?: string;
}

const collect = (value: string, before: string[] = []): string[] => [...before, value];

export function addVariableOption(command: Command): Command {
  return command.option(
    '--env <NAME[=VALUE]>',
    'also pass variable NAME as it is here, or with this value, which anybody here can then see in ' +
      'the list of processes (repeatable)',
    collect,
  );
}

export function addEnvironmentOptions(command: Command): Command {
  return command
    .option(
      '--workspace <DIR>',
      'start there, with HOME and temporary files of its own in it; makes .home and .tmp',
    )
    .option('--run-id <ID>', 'AGENT_RUN_ID (default with --workspace: six digits at random)')
    .option(
      '--allow-env <NAME[:REASON]>',
      'also pass variable NAME where it is set here (repeatable)',
      collect,
    )
    .option(
      '--set <NAME=VALUE>',
      'also set a variable; anybody here can see it in the list of processes (repeatable)',
      collect,
    )
    .option('--preset <NAME>', 'also pass a list: node, git, python, proxy (repeatable)', collect)
    .option(
      '--cache <NAME[:REASON]>',
      'let it read a cache of your HOME: playwright, corepack, rustup (repeatable)',
      collect,
    );
}
