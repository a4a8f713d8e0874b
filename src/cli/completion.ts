// `sallyport completion`: the script for one shell, made of the commands that there are.
import type { Command } from 'commander';

import { describeCommands, type CommandModel } from './command-model.js';
import type { COMPLETED } from './completion-commands.js';
import { formatBash } from './completion-bash.js';
import { formatFish } from './completion-fish.js';
import { formatZsh } from './completion-zsh.js';
import { printJson } from './json-output.js';
import { print } from './output.js';

type Shell = (typeof COMPLETED)[number];

const FORMATS: Record<Exclude<Shell, 'json'>, (program: CommandModel) => string> = {
  bash: formatBash,
  zsh: formatZsh,
  fish: formatFish,
};

export function completion(program: Command, shell: Shell): number {
  const model = describeCommands(program);
  if (shell === 'json') printJson('commands', { version: 1, program: model });
  else print(FORMATS[shell](model));
  return 0;
}
