// Libraries that start programs do the same with and without register.
import { cpSync, existsSync, readdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

import { makeScratch, root } from '../support/fixtures.js';
import { runNode, runRegistered } from '../support/programs.js';
import { onEachNode } from '../support/runtimes.js';

const folder = path.join(root, 'test/compat/libraries');
const programs = readdirSync(folder);
const modules = path.join(root, 'test/peers/node_modules');
const mustRun = process.env['SALLYPORT_MUST_RUN'] === '1';

if (!existsSync(path.join(modules, 'execa'))) {
  const note = 'needs libraries: npm run test:peers';
  it(`libraries [${note}]`, (context) => {
    if (mustRun) throw new Error(`${note}, and SALLYPORT_MUST_RUN=1 allows no skip`);
    context.skip(note);
  });
} else {
  // Beside them, so that they are found.
  const scratch = makeScratch();
  cpSync(folder, scratch, { recursive: true });
  symlinkSync(modules, path.join(scratch, 'node_modules'));

  onEachNode((node) => {
    it.each(programs)(
      '%s',
      async (program) => {
        const words = [path.join(scratch, program)];
        const plain = await runNode(node, words);
        const registered = await runRegistered(node, words);
        expect(plain).toMatchObject({ code: 0, signal: null, stderr: '' });
        expect(plain.stdout.length).toBeGreaterThan(0);
        expect(registered).toEqual(plain);
      },
      120_000,
    );
  });
}
