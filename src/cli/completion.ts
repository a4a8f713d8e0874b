// `sallyport completion`: the script for one shell, made of the commands that there are.
import type { Command } from 'commander';

import { describeCommands, type CommandModel } from './command-model.js';
import type { COMPLETED } from './completion-commands.js';
import { formatBash } from './completion-bash.js';
import { formatFish } from './completion-fish.js';
import { formatZsh } from './completion-zsh.js';
import { print } from './output.js';

const FORMATS: Record<(typeof COMPLETED)[number], (program: CommandModel) => string> = {
  bash: formatBash,
  zsh: formatZsh,
  fish: formatFish,
  json: (program) => `${JSON.stringify({ version: 1, program }, null, 2)}\n`,
};

export function completion(program: Command, shell: keyof typeof FORMATS): number {
  print(FORMATS[shell](describeCommands(program)));
  return 0;
}
