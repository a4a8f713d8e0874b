// Each program prints the same with and without register, byte for byte, on each Node.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

import { root } from '../support/fixtures.js';
import { runNode, runRegistered } from '../support/programs.js';
import { onEachNode } from '../support/runtimes.js';

const folder = path.join(root, 'test/compat/programs');
const programs = readdirSync(folder).filter((name) => /\.[cm]js$/.test(name));

onEachNode((node) => {
  it.each(programs)(
    '%s',
    async (program) => {
      const words = [path.join(folder, program)];
      // One after the other: some count what is open, and all of them load two processors.
      const plain = await runNode(node, words);
      const registered = await runRegistered(node, words);
      expect(plain).toMatchObject({ code: 0, signal: null });
      expect(plain.stdout.length).toBeGreaterThan(0);
      expect(registered).toEqual(plain);
    },
    120_000,
  );
});
