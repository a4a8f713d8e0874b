// Runs every check that needs no running code, all of them, and says at the end which failed; with
// names (style, types, package), only those of these kinds.
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

import { configure } from './cmake.mjs';
import { isInstalled, mustRun, root, run, runNode } from './tools.mjs';

const packed = 'reports/package';

function clangTidy() {
  const sources = readFileSync(path.join(root, 'native/core_sources.txt'), 'utf8');
  return (
    configure() &&
    run('clang-tidy', ['--quiet', '-p', 'build-cmake', ...sources.trim().split('\n')])
  );
}

/** Packs once, so that publint and attw judge the file that would be published. */
function pack() {
  rmSync(path.join(root, packed), { recursive: true, force: true });
  mkdirSync(path.join(root, packed), { recursive: true });
  return run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', packed]);
}

const tarball = () => path.join(packed, readdirSync(path.join(root, packed))[0] ?? 'none.tgz');

const checks = [
  { name: 'eslint', kind: 'style', check: () => runNode('node_modules/eslint/bin/eslint.js', '.') },
  {
    name: 'tsc',
    kind: 'types',
    check: () => runNode('node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'),
  },
  {
    name: 'format',
    kind: 'style',
    tools: ['clang-format'],
    check: () => runNode('scripts/format.mjs', '--check'),
  },
  { name: 'clang-tidy', kind: 'style', tools: ['clang-tidy', 'cmake'], check: clangTidy },
  { name: 'build', kind: 'package', check: () => runNode('scripts/build.mjs', 'typescript') },
  { name: 'pack', kind: 'package', check: pack },
  {
    name: 'publint',
    kind: 'package',
    check: () => runNode('node_modules/publint/src/cli.js', tarball(), '--strict'),
  },
  {
    name: 'attw',
    kind: 'package',
    // Resolution from before `exports`, TypeScript 5's for CommonJS, finds the types by typesVersions.
    check: () =>
      runNode(
        'node_modules/@arethetypeswrong/cli/dist/index.js',
        tarball(),
        '--exclude-entrypoints',
        'profile.schema.json',
      ),
  },
];

const wanted = process.argv.slice(2);
const unknown = wanted.find((kind) => !checks.some((each) => each.kind === kind));
if (unknown !== undefined) {
  console.error(`lint: unknown kind '${unknown}'; write style, types or package`);
  process.exit(1);
}

const failed = [];
const skipped = [];
for (const { name, kind, tools = [], check } of checks) {
  if (wanted.length > 0 && !wanted.includes(kind)) continue;
  const missing = tools.filter((tool) => !isInstalled(tool));
  if (missing.length > 0) skipped.push(`${name}: ${missing.join(', ')} not installed`);
  else if (!check()) failed.push(name);
}

for (const reason of skipped) console.log(`lint: skipped ${reason}`);
for (const name of failed) console.log(`lint: ${name} failed`);
if (mustRun && skipped.length > 0) console.log('lint: SALLYPORT_MUST_RUN=1: a skip is a failure');
const ok = failed.length === 0 && !(mustRun && skipped.length > 0);
console.log(ok ? 'lint: clean' : 'lint: not clean');
process.exitCode = ok ? 0 : 1;
