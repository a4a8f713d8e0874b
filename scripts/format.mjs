// Formats the C and C++ sources as .clang-format says; with --check it only tells.
import { readdirSync } from 'node:fs';
import path from 'node:path';

import { root, run } from './tools.mjs';

const sources = ['native', 'test']
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true }).map((name) => path.join(folder, name)),
  )
  .filter((name) => /\.(c|cc|h)$/.test(name) && !name.split(path.sep).includes('build'));

const mode = process.argv.includes('--check') ? ['--dry-run', '--Werror'] : ['-i'];
process.exitCode = run('clang-format', [...mode, ...sources]) ? 0 : 1;
