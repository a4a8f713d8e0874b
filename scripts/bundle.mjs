// Bundles src/ into few files: loading one takes 3.5 ms here where 35 took 12.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { rolldown } from 'rolldown';
import ts from 'typescript';

import { root } from './tools.mjs';

/** What others may load. What they share goes into files of its own, so that it exists once. */
const entries = {
  index: 'src/index.ts',
  vitest: 'src/vitest.ts',
  review: 'src/review.ts',
  'cli/main': 'src/cli/main.ts',
};

/** @returns the files written, relative to dist/ */
export async function bundle() {
  const build = await rolldown({
    cwd: root,
    input: entries,
    platform: 'node',
    external: [/^node:/, 'commander', 'node-gyp-build', 'zod'],
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  });
  const { output } = await build.write({
    dir: path.join(root, 'dist'),
    format: 'cjs',
    exports: 'named',
    entryFileNames: '[name].js',
    // Beside index.js: src/native.ts finds the addon from where it stands.
    chunkFileNames: 'shared-[hash].js',
  });
  await build.close();
  // These doors for ESM are JavaScript already.
  for (const door of ['index', 'review']) {
    copyFileSync(path.join(root, `src/${door}.mts`), path.join(root, `dist/${door}.mjs`));
  }
  copyVitestDoor();
  return [...output.map(({ fileName }) => fileName), 'index.mjs', 'review.mjs', 'vitest.mjs'];
}

/** The door for vitest also says which matchers there are, in types. */
function copyVitestDoor() {
  const source = readFileSync(path.join(root, 'src/vitest.mts'), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  });
  writeFileSync(path.join(root, 'dist/vitest.mjs'), outputText);
}
