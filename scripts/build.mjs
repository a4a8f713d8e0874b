// Builds what is named: `typescript` (src/ to dist/), `addon` (native/ to build/Release/).
// With --if-possible, a missing compiler is no failure: `npm ci --omit=dev` runs `prepare` too.
import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';

import { environment } from './node-headers.js';
import { root, run, runNode } from './tools.mjs';

function buildTypeScript(ifPossible) {
  const tsc = 'node_modules/typescript/bin/tsc';
  if (!existsSync(path.join(root, tsc))) {
    if (ifPossible) return true;
    console.error('build: typescript is not installed; run npm ci first');
    return false;
  }
  if (!runNode(tsc, '-p', 'tsconfig.build.json')) return false;
  removeStale();
  // npm sets the mode of a bin only where the package is installed, not in a clone.
  const command = path.join(root, 'dist/cli/main.js');
  if (existsSync(command)) chmodSync(command, 0o755);
  return true;
}

/** tsc leaves the output of a source that was renamed, and it would be packed. */
function removeStale() {
  for (const name of readdirSync(path.join(root, 'dist'), { recursive: true })) {
    const source = name.replace(/(\.d)?\.([cm]?)[jt]s$/, '.$2ts');
    if (source !== name && !existsSync(path.join(root, 'src', source))) {
      rmSync(path.join(root, 'dist', name));
    }
  }
}

function buildAddon() {
  const nodeGyp = path.join(root, 'node_modules/node-gyp/bin/node-gyp.js');
  const args = [nodeGyp, 'configure', 'build', '--loglevel=warn', '--jobs=2'];
  return run(process.execPath, args, environment());
}

const names = process.argv.slice(2);
const ifPossible = names.includes('--if-possible');
for (const name of names.filter((name) => name !== '--if-possible')) {
  const build = { typescript: () => buildTypeScript(ifPossible), addon: buildAddon }[name];
  if (build === undefined) {
    console.error(`build: unknown part '${name}'; write typescript or addon`);
    process.exit(1);
  }
  if (!build()) process.exit(1);
}
