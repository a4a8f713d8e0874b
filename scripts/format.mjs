// Formats C and C++ as .clang-format says and the rest as .prettierrc.json says; with --check it only
// tells. Where clang-format is missing it leaves C and C++ alone and says so.
import { readdirSync } from 'node:fs';
import path from 'node:path';

import { isInstalled, root, run, runNode } from './tools.mjs';

const sources = ['native', 'test']
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true }).map((name) =>
      path.join(folder, name),
    ),
  )
  .filter((name) => /\.(c|cc|h)$/.test(name))
  // Compiled fixtures, and the headers of the Nodes that tests run on.
  .filter((name) => !name.split(path.sep).some((part) => ['build', 'node_modules'].includes(part)));

const scripts = '{src,test,bench,scripts,examples}/**/*.{ts,mts,js,cjs,mjs}';
const check = process.argv.includes('--check');

function formatNative() {
  if (!isInstalled('clang-format')) {
    console.log('format: C and C++ left alone: clang-format is not installed');
    return !check;
  }
  return run('clang-format', [...(check ? ['--dry-run', '--Werror'] : ['-i']), ...sources]);
}

const prettier = 'node_modules/prettier/bin/prettier.cjs';
const mode = [check ? '--check' : '--write', '--log-level=warn'];
const formatted = [formatNative(), runNode(prettier, ...mode, scripts, '*.{mjs,mts}')];
process.exitCode = formatted.includes(false) ? 1 : 0;
