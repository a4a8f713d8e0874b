// A broker in a process without rights that has shielded itself from its children.
import { expect } from 'vitest';

import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';

needs('another uid').it(
  'delivers files and answers its run, in a process that is shielded',
  async () => {
    const seen = await inNode(
      async ({ require: load, root, sallyport: { shieldParent } }) => {
        const { createCredentialBroker, runWithCredentials } = load(
          `${root}/dist/credentials.js`,
        ) as typeof import('../../src/credentials.js');
        shieldParent();
        const broker = createCredentialBroker({
          runId: 'b71e04',
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
        const script = `
        const { readFileSync } = require('node:fs');
        const { env, ppid } = process;
        const authorization = readFileSync(env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, 'utf8');
        let parent = 'readable';
        try { readFileSync('/proc/' + ppid + '/environ'); } catch (error) { parent = error.code; }
        fetch(env.AWS_CONTAINER_CREDENTIALS_FULL_URI, { headers: { authorization } })
          .then((it) => console.log(it.status, parent));`;
        const report = await runWithCredentials(broker, process.execPath, ['-e', script], {
          containment: 'group',
        });
        const { fetches, end } = report.credentials;
        return {
          uid: process.getuid?.(),
          printed: report.output.stdout.text + report.output.stderr.text,
          outcomes: fetches.map(({ outcome }) => outcome),
          left: end?.filesLeft,
        };
      },
      null,
      { unprivileged: true },
    );
    expect(seen.uid).not.toBe(0);
    expect(seen).toMatchObject({ printed: '200 EACCES\n', outcomes: ['served'], left: [] });
  },
);
