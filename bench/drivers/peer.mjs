// Finds a peer in the folder that the benchmarks install into, not from the project's own.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** The address to import, and the version. */
export function findPeer(folder, name) {
  const require = createRequire(path.join(folder, 'package.json'));
  const manifest = path.join(folder, 'node_modules', name, 'package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
  let entry;
  try {
    entry = require.resolve(name);
  } catch {
    // A package with an `import` condition only.
    const { exports } = JSON.parse(readFileSync(manifest, 'utf8'));
    const target = exports['.'] ?? exports;
    entry = path.join(path.dirname(manifest), target.import?.default ?? target.default ?? target);
  }
  return { url: pathToFileURL(entry).href, version };
}

export async function loadPeer(folder, name) {
  const { url, version } = findPeer(folder, name);
  return { module: await import(url), version };
}
