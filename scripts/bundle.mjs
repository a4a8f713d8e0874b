// Bundles src/ into few files: loading one takes 3.5 ms here where 35 took 12.
import { copyFileSync } from 'node:fs';
import path from 'node:path';

import { rolldown } from 'rolldown';

import { root } from './tools.mjs';

/** What others may load. What they share goes into files of its own, so that it exists once. */
const entries = {
  index: 'src/index.ts',
  'cli/main': 'src/cli/main.ts',
};

/** @returns the files written, relative to dist/ */
export async function bundle() {
  const build = await rolldown({
    cwd: root,
    input: entries,
    platform: 'node',
    external: [/^node:/, 'commander', 'node-gyp-build'],
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
  // The door for ESM is JavaScript already.
  copyFileSync(path.join(root, 'src/index.mts'), path.join(root, 'dist/index.mjs'));
  return [...output.map(({ fileName }) => fileName), 'index.mjs'];
}
