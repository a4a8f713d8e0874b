// Builds what is named: `typescript` (src/ to dist/), `addon` (native/ to build/Release/).
// With --if-possible, a missing compiler is no failure: `npm ci --omit=dev` runs `prepare` too.
import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';

import { environment } from './node-headers.js';
import { root, run, runNode } from './tools.mjs';

async function buildTypeScript(ifPossible) {
  const tsc = 'node_modules/typescript/bin/tsc';
  if (!existsSync(path.join(root, tsc))) {
    if (ifPossible) return true;
    console.error('build: typescript is not installed; run npm ci first');
    return false;
  }
  if (!runNode(tsc, '-p', 'tsconfig.build.json')) return false;
  const { bundle } = await import('./bundle.mjs');
  removeStale(await bundle());
  // npm sets the mode of a bin only where the package is installed, not in a clone.
  chmodSync(path.join(root, 'dist/cli/main.js'), 0o755);
  return true;
}

/** What an earlier build left would be packed: types of a source that is gone, a bundle by another name. */
function removeStale(bundled) {
  const dist = path.join(root, 'dist');
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const file = path.relative(dist, path.join(entry.parentPath, entry.name));
    const source = path.join(root, 'src', file.replace(/\.d\.([cm]?)ts$/, '.$1ts'));
    const isTypes = /\.d\.[cm]?ts$/.test(file) && existsSync(source);
    if (entry.isFile() && !isTypes && !bundled.includes(file)) rmSync(path.join(dist, file));
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
  if (!(await build())) process.exit(1);
}
