// A broker that is left open, or closed while it opens: nothing of it stays.
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';

import { makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';

// By process.exit(): test/runtimes/endings.test.ts, on each runtime.
it('a process that ends by itself takes the files of its broker along', async () => {
  const home = makeScratch();
  const seen = await inNode(async ({ require: load, root }, at: string) => {
    const { createCredentialBroker } = load(
      `${root}/dist/credentials.js`,
    ) as typeof import('../../src/credentials.js');
    const { readdirSync: list } = load('node:fs') as typeof import('node:fs');
    const broker = createCredentialBroker({
      runId: 'b71e04',
      home: at,
      sources: [
        {
          name: 'aws',
          reason: 'a test',
          delivery: { by: 'endpoint' },
          mint: () => ({
            values: { AccessKeyId: 'a', SecretAccessKey: 'b', SessionToken: 'c' },
            expiresAt: new Date(Date.now() + 60_000),
          }),
        },
      ],
    });
    await broker.open();
    return list(`${at}/.credentials`);
  }, home);
  expect(seen).toEqual(['endpoint-token']);
  expect(readdirSync(home)).toEqual([]);
});

it('closed at any moment of its opening leaves no socket and no file', async () => {
  const outcomes = await inNode(async ({ require: load, root, processes }, directory: string) => {
    const { createCredentialBroker } = load(
      `${root}/dist/credentials.js`,
    ) as typeof import('../../src/credentials.js');
    const fs = load('node:fs') as typeof import('node:fs');
    const open = async (turns: number, isImmediate: boolean): Promise<string> => {
      const revoked: unknown[] = [];
      let minted = 0;
      const broker = createCredentialBroker({
        runId: 'b71e04',
        home: directory,
        sources: [
          {
            name: 'aws',
            reason: 'a test',
            delivery: [{ by: 'endpoint' }, { by: 'file', path: 'x/y', render: () => 'z' }],
            mint: async () => {
              await Promise.resolve();
              minted += 1;
              return {
                values: { AccessKeyId: 'a', SecretAccessKey: 'b', SessionToken: 'c' },
                expiresAt: new Date(Date.now() + 60_000),
              };
            },
            revoke: (set) => void revoked.push(set),
          },
        ],
      });
      const opening = broker.open().then(
        () => 'opened',
        () => 'refused',
      );
      for (let turn = 0; turn < turns; turn++) {
        await (isImmediate ? new Promise((resolve) => setImmediate(resolve)) : undefined);
      }
      await broker.close();
      const outcome = await opening;
      await new Promise((resolve) => setImmediate(resolve));
      return `${outcome}, ${minted - revoked.length} not revoked, left ${fs.readdirSync(directory).join()}`;
    };
    await open(20, true);
    const before = processes.listDescriptors().length;
    const seen = [];
    for (let turns = 0; turns < 40; turns++) seen.push(await open(turns, false));
    for (let turns = 1; turns < 10; turns++) seen.push(await open(turns, true));
    return { seen, more: processes.listDescriptors().length - before };
  }, makeScratch());
  expect(outcomes.more).toBe(0);
  expect(new Set(outcomes.seen)).toEqual(
    new Set(['refused, 0 not revoked, left ', 'opened, 0 not revoked, left ']),
  );
});
