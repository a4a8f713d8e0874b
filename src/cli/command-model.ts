// The tree of commands as plain data: what completion scripts and the man page are made of.
import type { Argument, Command, Option } from 'commander';

import { LIMITS } from '../plan/attributes.js';
import { CACHES, PRESETS } from '../plan/presets.js';
import { COMPLETED } from './completion-commands.js';

/** What stands in the place of a value. `words` are complete, `beginnings` are to be written on. */
export type Completes =
  | {
      readonly kind: 'nothing' | 'file' | 'directory' | 'user' | 'variable' | 'process' | 'command';
    }
  | { readonly kind: 'words' | 'beginnings'; readonly words: readonly string[] };

export interface OptionModel {
  /** As the help has them: `--pass <N[=M]>`. */
  readonly flags: string;
  readonly long: string;
  /** `-h`, or null. */
  readonly short: string | null;
  /** `N[=M]`; null: it takes no value. */
  readonly value: string | null;
  readonly isRepeatable: boolean;
  readonly description: string;
  readonly completes: Completes;
}

export interface ArgumentModel {
  readonly name: string;
  readonly isRequired: boolean;
  readonly isVariadic: boolean;
  readonly description: string;
  readonly completes: Completes;
}

export interface CommandModel {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  /** Without the names of the commands. */
  readonly usage: string;
  readonly options: readonly OptionModel[];
  readonly arguments: readonly ArgumentModel[];
  /** Where a whole command line of another program may stand: as the arguments, or behind `--`. */
  readonly rest: 'arguments' | 'dashes' | null;
  /** What the help says below the options. */
  readonly notes: string;
  readonly commands: readonly CommandModel[];
}

const NOTHING: Completes = { kind: 'nothing' };

/** By what stands between the angle brackets of an option. */
const BY_VALUE: Readonly<Record<string, Completes['kind']>> = {
  FILE: 'file',
  DIR: 'directory',
  USER: 'user',
};

/** What a placeholder cannot say. */
const BY_OPTION: Readonly<Record<string, Completes>> = {
  '--env': { kind: 'variable' },
  '--allow-env': { kind: 'variable' },
  '--preset': { kind: 'words', words: Object.keys(PRESETS) },
  '--cache': { kind: 'words', words: Object.keys(CACHES) },
  '--limit': { kind: 'beginnings', words: Object.keys(LIMITS).map((name) => `${name}=`) },
};

const BY_ARGUMENT: Readonly<Record<string, Completes['kind']>> = {
  file: 'file',
  other: 'file',
  pid: 'process',
  command: 'command',
};

/** Where the same word means something else. */
const BY_COMMAND: Readonly<Record<string, Completes>> = {
  'holders what': { kind: 'file' },
  'leaks what': { kind: 'process' },
  'completion shell': { kind: 'words', words: COMPLETED },
};

/** @param beside the commands of the same parent, this one among them */
export function describeCommands(command: Command, beside: readonly Command[] = []): CommandModel {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const args = command.registeredArguments.map((argument) =>
    describeArgument(argument, command, beside),
  );
  return {
    name: command.name(),
    summary: command.summary() || command.description(),
    description: command.description(),
    usage: command.usage(),
    options: help.visibleOptions(command).map(describeOption),
    arguments: args,
    rest: findRest(command, args),
    notes: readNotes(command),
    commands: commands.map((each) => describeCommands(each, commands)),
  };
}

function describeOption(option: Option): OptionModel {
  const { flags, description, short = null } = option;
  const long = option.long ?? flags;
  const value = /<(.+)>/.exec(flags)?.[1] ?? null;
  return {
    flags,
    long,
    short,
    value,
    isRepeatable: description.includes('(repeatable)'),
    description,
    completes: BY_OPTION[long] ?? completeValue(value),
  };
}

function completeValue(value: string | null): Completes {
  if (value === null) return NOTHING;
  if (/^[\w-]+(\|[\w-]+)+$/.test(value)) return { kind: 'words', words: value.split('|') };
  return { kind: (BY_VALUE[value] as 'file' | undefined) ?? 'nothing' };
}

function describeArgument(
  argument: Argument,
  command: Command,
  beside: readonly Command[],
): ArgumentModel {
  return {
    name: argument.name(),
    isRequired: argument.required,
    isVariadic: argument.variadic,
    description: argument.description,
    completes: completeArgument(argument, command, beside),
  };
}

function completeArgument(
  argument: Argument,
  command: Command,
  beside: readonly Command[],
): Completes {
  if (argument.argChoices !== undefined) return { kind: 'words', words: argument.argChoices };
  const name = argument.name();
  if (command.name() === 'help') {
    return { kind: 'words', words: beside.map((each) => each.name()) };
  }
  const exact = BY_COMMAND[`${command.name()} ${name}`];
  return exact ?? { kind: (BY_ARGUMENT[name] as 'file' | undefined) ?? 'nothing' };
}

function findRest(command: Command, args: readonly ArgumentModel[]): CommandModel['rest'] {
  if (args.some(({ completes }) => completes.kind === 'command')) return 'arguments';
  return command.usage().includes('-- <command>') ? 'dashes' : null;
}

/** commander keeps what was added to the help as listeners: the help is printed, and told apart. */
function readNotes(command: Command): string {
  let printed = '';
  const before = command.configureOutput();
  command.configureOutput({
    writeOut: (text) => {
      printed += text;
    },
  });
  command.outputHelp();
  command.configureOutput(before);
  const information = command.helpInformation();
  return printed.slice(printed.indexOf(information) + information.length).trim();
}
