// The Nodes that a test can be run on: this one, and those of `npm run test:peers`.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'vitest';

import { root } from './fixtures.js';

/** Those that the package says it runs on. */
const MAJORS = [20, 22, 24, 26] as const;

const mustRun = process.env['SALLYPORT_MUST_RUN'] === '1';

/** undefined: it is not here. */
function findRuntime(major: number): string | undefined {
  if (process.versions.node.startsWith(`${String(major)}.`)) return process.execPath;
  // The benchmarks' peers have the same.
  const folders = ['test/peers', 'bench/peers'];
  const files = folders.map((folder) =>
    path.join(root, folder, `node_modules/node${String(major)}/bin/node`),
  );
  return files.find((file) => existsSync(file));
}

/** `body` once for each Node; one that is missing is skipped by name, or fails in CI. */
export function onEachNode(body: (node: string, major: number) => void): void {
  for (const major of MAJORS) {
    const node = findRuntime(major);
    const name = `Node ${String(major)}`;
    if (node !== undefined) {
      describe(name, () => {
        body(node, major);
      });
      continue;
    }
    const note = `needs ${name}: npm run test:peers`;
    it(`${name} [${note}]`, (context) => {
      if (mustRun) throw new Error(`${note}, and SALLYPORT_MUST_RUN=1 allows no skip`);
      context.skip(note);
    });
  }
}
