// Bundles src/ into few files, about one for each room: loading one takes a fraction of a millisecond
// besides what is in it, and there would be 230.
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

/**
 * What goes into one file, from the room that imports least to the one that imports most: each takes
 * along what it needs and no earlier one has.
 */
const rooms = [
  { name: 'plan', test: of('objects', 'plan') },
  { name: 'launch', test: of('launch') },
  { name: 'audit', test: of('audit') },
  { name: 'review', test: of('review') },
  // All else that `sallyport` offers.
  { name: 'library', test: of('environment', 'run', 'sockets', 'index.ts') },
  { name: 'compat', test: of('compat') },
  { name: 'credentials', test: of('credentials') },
  { name: 'cli', test: of('cli'), minShareCount: 2 },
].map((room, position, { length }) => ({ ...room, priority: length - position }));

/** Also what the bundler adds of its own, which is to be in the first. */
function of(...names) {
  const paths = names.map((name) => path.join(root, 'src', name));
  const isIn = (id) => paths.some((each) => id === each || id.startsWith(each + path.sep));
  return (id) => id.startsWith('\0rolldown') || isIn(id);
}

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

/**
 * A `require` of a file of ours stays one, and that file is an entry: what the command line needs for
 * one command only. Bundled, it would have every module that it reaches wrapped in a function, which
 * takes V8 half as long again to load: it reads such a body twice.
 */
const requireLate = {
  name: 'require-late',
  resolveId(source, importer, { kind }) {
    if (kind !== 'require-call' || !source.startsWith('.')) return null;
    const file = path.resolve(path.dirname(importer), source).replace(/\.js$/, '.ts');
    const name = path.relative(path.join(root, 'src'), file).replace(/\.ts$/, '');
    this.emitFile({ type: 'chunk', id: file, fileName: `${name}.js` });
    return { id: `late:${name}.js`, external: true };
  },
  renderChunk(code, { fileName }) {
    return code.replaceAll(/require\("late:([^"]+)"\)/g, (_, file) => {
      const relative = path.relative(path.dirname(fileName), file);
      return `require("${relative.startsWith('.') ? relative : `./${relative}`}")`;
    });
  },
};

/** @returns the files written, relative to dist/ */
export async function bundle() {
  const build = await rolldown({
    cwd: root,
    input: entries,
    platform: 'node',
    external: [/^node:/, /^@secretlint\//, /^@aws-sdk\//, 'commander', 'node-gyp-build', 'zod'],
    plugins: [loadLate, requireLate],
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  });
  const { output } = await build.write({
    dir: path.join(root, 'dist'),
    format: 'cjs',
    exports: 'named',
    entryFileNames: '[name].js',
    // Beside index.js: src/native.ts finds the addon from where it stands.
    chunkFileNames: 'room-[name]-[hash].js',
    codeSplitting: { groups: rooms },
    // Those of the types are what editors show.
    comments: { jsdoc: false },
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
