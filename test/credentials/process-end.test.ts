// A broker that is left open: it holds up no process, and leaves no file behind.
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';

import { makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';

it.each([
  ['ends by itself', false],
  ['calls process.exit()', true],
])('a process that %s takes the files of its broker along', async (_, exits) => {
  const home = makeScratch();
  const seen = await inNode(
    async ({ require: load, root }, options: { home: string; exits: boolean }) => {
      const { createCredentialBroker } = load(
        `${root}/dist/credentials.js`,
      ) as typeof import('../../src/credentials.js');
      const { readdirSync: list } = load('node:fs') as typeof import('node:fs');
      const broker = createCredentialBroker({
        runId: 'b71e04',
        home: options.home,
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
      // Once what is returned here has been written down.
      if (options.exits) setImmediate(() => process.exit());
      return list(`${options.home}/.credentials`);
    },
    { home, exits },
  );
  expect(seen).toEqual(['endpoint-token']);
  expect(readdirSync(home)).toEqual([]);
});
