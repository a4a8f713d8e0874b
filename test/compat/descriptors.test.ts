// What a registered program's children receive: their stdio, and nothing else.
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { root } from '../support/fixtures.js';
import { runNode, runRegistered, type ProgramOptions } from '../support/programs.js';
import { onEachNode } from '../support/runtimes.js';

const program = path.join(root, 'test/compat/scripts/descriptors.cjs');

describe('children of a registered program', () => {
  let hosts: number;

  beforeAll(() => {
    hosts = openSync('/etc/hosts', 'r');
  });
  afterAll(() => {
    closeSync(hosts);
  });

  const options = (): ProgramOptions => ({ pass: [{ fd: hosts, as: 30 }] });

  onEachNode((node) => {
    it('have 0, 1, 2 and what stdio names', async () => {
      const plain = await runNode(node, [program], options());
      const leaky = JSON.parse(plain.stdout) as Record<string, number[]>;
      for (const numbers of Object.values(leaky)) expect(numbers).toContain(30);

      const registered = await runRegistered(node, [program], options());
      const { fork, extra, ...others } = JSON.parse(registered.stdout) as typeof leaky;
      expect(fork).toEqual([0]); // of an empty line
      expect(extra).toEqual([0, 1, 2, 3, 4, 5]);
      for (const numbers of Object.values(others)) expect(numbers).toEqual([0, 1, 2, 3]);
      expect(Object.keys(others).length).toBe(Object.keys(leaky).length - 2);
    });

    it('have what pass names as well, where it is open', async () => {
      const env = { SALLYPORT_REGISTER: 'pass=30,31' };
      const { stdout } = await runRegistered(node, [program], { ...options(), env });
      const found = JSON.parse(stdout) as Record<string, number[]>;
      expect(found['spawn']).toEqual([0, 1, 2, 3, 30]);
      expect(found['spawnSync']).toEqual([0, 1, 2, 3, 30]);
      expect(found['fork']).toEqual([30]);
    });
  });
});
