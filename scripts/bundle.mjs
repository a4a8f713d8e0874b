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
  credentials: 'src/credentials.ts',
  // A program: what the tools of a run start to ask for a credential.
  'credential-helper': 'src/credential-helper.ts',
  review: 'src/review.ts',
  register: 'src/register.ts',
  child_process: 'src/child_process.ts',
  'cli/main': 'src/cli/main.ts',
};

/** Doors for ESM that are JavaScript already. */
const plainDoors = ['index', 'credentials', 'review', 'register', 'child_process'];

/**
 * Node's own modules that a plain launch does not need. Requiring them takes longer than reading this
 * package, so that each is required when something of it is first used.
 */
const LATE = ['crypto', 'fs/promises', 'stream', 'timers/promises', 'url', 'worker_threads'];

const loadLate = {
  name: 'load-late',
  renderChunk(code) {
    return LATE.reduce((text, name) => {
      const id = `node_${name.replace('/', '_')}`;
      const early = `let ${id} = require("node:${name}");`;
      if (!text.includes(early)) return text;
      const late = `let ${id}$;\nconst ${id} = () => (${id}$ ??= require("node:${name}"));`;
      const [before, after] = text.split(early);
      return before + late + after.replaceAll(new RegExp(`\\b${id}\\.`, 'g'), `(${id}()).`);
    }, code);
  },
};

/** @returns the files written, relative to dist/ */
export async function bundle() {
  const build = await rolldown({
    cwd: root,
    input: entries,
    platform: 'node',
    external: [/^node:/, /^@secretlint\//, /^@aws-sdk\//, 'commander', 'node-gyp-build', 'zod'],
    plugins: [loadLate],
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
  // The doors for ESM are JavaScript already.
  for (const door of plainDoors) {
    copyFileSync(path.join(root, `src/${door}.mts`), path.join(root, `dist/${door}.mjs`));
  }
  copyVitestDoor();
  const doors = [...plainDoors, 'vitest'].map((door) => `${door}.mjs`);
  return [...output.map(({ fileName }) => fileName), ...doors];
}

/** The door for vitest also says which matchers there are, in types. */
function copyVitestDoor() {
  const source = readFileSync(path.join(root, 'src/vitest.mts'), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  });
  writeFileSync(path.join(root, 'dist/vitest.mjs'), outputText);
}
