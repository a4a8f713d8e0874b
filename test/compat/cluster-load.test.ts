// A registered cluster under load, all of its workers replaced one after the other.
import path from 'node:path';
import { expect, it } from 'vitest';

import { root } from '../support/fixtures.js';
import { runRegistered } from '../support/programs.js';

const REQUESTS = 200_000;

it(`answers ${REQUESTS} requests through a rolling restart`, async () => {
  const script = path.join(root, 'test/compat/scripts/cluster.cjs');
  const words = [script, String(REQUESTS)];
  const { code, stdout, stderr } = await runRegistered(process.execPath, words, {
    deadline: 240_000,
  });
  expect([code, stderr]).toEqual([0, '']);
  const found = JSON.parse(stdout) as { byWorker: Record<string, number> };
  expect(found).toMatchObject({ sent: REQUESTS, answered: REQUESTS, unexpected: 0, left: 0 });
  expect(found).toMatchObject({ exits: Array<string>(8).fill('0,') });
  // Those that replaced the first four have answered too.
  expect(Object.keys(found.byWorker).length).toBeGreaterThan(4);
}, 250_000);
