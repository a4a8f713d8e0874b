// A parent whose 0, 1 or 2 is closed, where Node's own spawnSync ends the process.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

import { makeScratch, root } from '../support/fixtures.js';
import { runNode, runRegistered, type Printed } from '../support/programs.js';
import { onEachNode } from '../support/runtimes.js';

const script = path.join(root, 'test/compat/scripts/closed-channels.cjs');
const COMBINATIONS = ['', '0', '1', '2', '01', '02', '12', '012'];

/** ls's own is the lowest number that is free. */
const LISTING = '0\n1\n2\n3\n';

async function start(
  run: typeof runNode,
  node: string,
  closed: string,
): Promise<{ printed: Printed; found: Record<string, unknown> | undefined }> {
  const report = path.join(makeScratch(), 'report.json');
  const printed = await run(node, [script, closed, report]);
  const found = existsSync(report)
    ? (JSON.parse(readFileSync(report, 'utf8')) as Record<string, unknown>)
    : undefined;
  return { printed, found };
}

onEachNode((node) => {
  it.each(COMBINATIONS)('closed: %s', async (closed) => {
    const { printed, found } = await start(runRegistered, node, closed);
    expect(printed.stderr).toBe('');
    expect(found).toEqual({
      status: 0,
      output: [null, `in ${LISTING}`, 'error\n'],
      big: 500_000,
      shared: closed === '' ? 'started' : 'EBADF',
      text: 'by a shell\n',
      late: 'ETIMEDOUT',
      seen: { stdout: `async ${LISTING}`, stderr: 'error\n' },
      code: 0,
    });
  });

  it('ends Node itself', async () => {
    const results = await Promise.all(COMBINATIONS.map((closed) => start(runNode, node, closed)));
    expect(results[0]?.found).toBeDefined();
    expect(results.some(({ found }) => found === undefined)).toBe(true);
  });
});
