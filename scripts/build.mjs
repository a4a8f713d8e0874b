// Builds what is named: `typescript` (src/ to dist/), `addon` (native/ to build/Release/).
// With --if-possible, a missing compiler is no failure: `npm ci --omit=dev` runs `prepare` too.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const require = createRequire(import.meta.url);

function resolve(name) {
  try {
    return require.resolve(name);
  } catch {
    return undefined;
  }
}

function run(script, ...args) {
  const { status } = spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

function buildTypeScript(ifPossible) {
  const package_ = resolve('typescript/package.json');
  if (package_ === undefined && ifPossible) return;
  if (package_ === undefined) {
    console.error('build: typescript is not installed; run npm ci first');
    process.exit(1);
  }
  run(path.join(path.dirname(package_), 'bin/tsc'), '-p', 'tsconfig.build.json');
  // npm sets the mode of a bin only where the package is installed, not in a clone.
  const command = path.join(root, 'dist/cli/main.js');
  if (existsSync(command)) chmodSync(command, 0o755);
}

function buildAddon() {
  const nodeGyp = require.resolve('node-gyp/bin/node-gyp.js');
  run(nodeGyp, 'configure', 'build', '--loglevel=warn', '--jobs=2');
}

const names = process.argv.slice(2);
const ifPossible = names.includes('--if-possible');
for (const name of names) {
  if (name === 'typescript') buildTypeScript(ifPossible);
  else if (name === 'addon') buildAddon();
  else if (name !== '--if-possible') {
    console.error(`build: unknown part '${name}'; write typescript or addon`);
    process.exit(1);
  }
}
