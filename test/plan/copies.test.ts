// Objects of another copy of this package in the same process: refused, and told from a mistake.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { root } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { copyPackage } from '../support/package-copy.js';

const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  version: string;
};

/** What each call says, which is given objects of another copy. */
function callWith(other: string): Promise<Record<string, { option: string; message: string }>> {
  return inNode(async ({ sallyport, root: own, require }, there) => {
    type Sallyport = typeof import('../../src/index.js');
    type Credentials = typeof import('../../src/credentials.js');
    const foreign = require(there) as Sallyport;
    const credentials = require(`${own}/dist/credentials.js`) as Credentials;
    const { createCredentialBroker } = require(`${there}/dist/credentials.js`) as Credentials;

    const env = foreign.createEnvironment({ set: { SECRET: 'made-up-value' } });
    const broker = createCredentialBroker({
      runId: 'b71e04',
      sources: [
        {
          name: 'a',
          reason: 'a test',
          delivery: { by: 'env', variables: { A: 'a' } },
          mint: () => ({ values: { a: 'b' }, expiresAt: null }),
        },
      ],
    });
    const pinned = await foreign.pinExecutable('/bin/true');
    const delivered = { environment: {}, remove: [], files: [] } as never;
    const calls: Record<string, () => unknown> = {
      spawn: () => sallyport.spawn('true', [], { env: env as never, stdio: 'null' }).exited,
      launch: () => sallyport.launch('true', [], { env: env as never, stdio: 'null' }),
      planLaunch: () => sallyport.planLaunch('true', [], { env: env as never }),
      run: () => sallyport.run('true', [], { env: env as never }),
      runSync: () => sallyport.runSync('true', [], { env: env as never }),
      reportGaps: () => sallyport.reportGaps({ options: { env: env } }),
      describeEnvironment: () => sallyport.describeEnvironment({}, env),
      applyCredentials: () => credentials.applyCredentials(env as never, delivered),
      runWithCredentials: () => credentials.runWithCredentials(broker as never, 'true'),
      pinned: () => sallyport.launch('/bin/true', [], { pinned: pinned }),
    };
    const said: Record<string, { option: string; message: string }> = {};
    for (const [name, call] of Object.entries(calls)) {
      try {
        await call();
        said[name] = { option: '', message: 'was taken' };
      } catch (error) {
        const { stagePath, message } = error as import('../../src/index.js').SallyportTypeError;
        said[name] = { option: stagePath ?? '', message };
      }
    }
    return said;
  }, other);
}

const options = {
  spawn: 'env',
  launch: 'env',
  planLaunch: 'env',
  run: 'env',
  runSync: 'env',
  reportGaps: 'options.env',
  describeEnvironment: 'run',
  applyCredentials: 'variables',
  runWithCredentials: 'broker',
  pinned: 'pinned',
};

describe('an object of another copy', () => {
  it('is refused by each call that takes one, with where both copies are', async () => {
    const other = copyPackage();
    const said = await callWith(other);
    expect(
      Object.fromEntries(Object.entries(said).map(([name, { option }]) => [name, option])),
    ).toEqual(options);
    for (const [name, { option, message }] of Object.entries(said)) {
      expect(message, name).toBe(
        `${option}: was made by another copy of sallyport (${version} in '${other}/dist'; this one is ${version} in '${root}/dist'): make it by the copy that is to use it, or install one only ('npm ls sallyport' shows them)`,
      );
    }
  });

  it('the control: of the same copy each is taken, and another of our objects is a mistake', async () => {
    const taken = await callWith(root);
    for (const [name, { message }] of Object.entries(taken))
      expect(message, name).toBe('was taken');
    const message = await inNode(({ sallyport }) => {
      try {
        sallyport.spawn('true', [], { pinned: sallyport.createEnvironment() as never });
        return 'was taken';
      } catch (error) {
        return (error as Error).message;
      }
    }, null);
    expect(message).toBe('pinned: must be what pinExecutable() resolved to');
  });
});
