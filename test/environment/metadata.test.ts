// The hint on the metadata service of clouds, as real SDKs take it, beside a service that is made up.
import path from 'node:path';
import { expect } from 'vitest';

import { root } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { has, needs } from '../support/tools.js';

/** Prints the key that the default chain of an SDK comes to. */
const CLIENTS: Record<string, readonly string[]> = {
  'AWS SDK for JavaScript': [
    process.execPath,
    '-e',
    `const { S3Client } = require(${JSON.stringify(path.join(root, 'node_modules/@aws-sdk/client-s3'))});
     new S3Client({ region: 'eu-west-1' }).config.credentials().then(
       ({ accessKeyId }) => console.log(accessKeyId), () => console.log('none'));`,
  ],
  ...(has('boto3')
    ? {
        boto3: [
          '/usr/bin/python3',
          '-c',
          'import boto3; found = boto3.Session().get_credentials(); print(found.access_key if found else "none")',
        ],
      }
    : {}),
};

needs('root', 'unshare').it(
  'a run asks it for nothing; an environment without the hint does',
  async () => {
    const seen = await inNode(
      async ({ sallyport, require }, clients) => {
        const { execFileSync } =
          require('node:child_process') as typeof import('node:child_process');
        const http = require('node:http') as typeof import('node:http');
        // In a network namespace of our own.
        execFileSync('ip', ['link', 'set', 'lo', 'up']);
        execFileSync('ip', ['address', 'add', '169.254.169.254/32', 'dev', 'lo']);
        type Env = NonNullable<import('../../src/index.js').RunOptions['env']>;
        let requests = 0;
        const service = http.createServer(({ url = '' }, response) => {
          requests += 1;
          if (url.endsWith('/api/token')) {
            response.setHeader('x-aws-ec2-metadata-token-ttl-seconds', '60');
            response.end('made-up-token');
          } else if (url.endsWith('/security-credentials/')) response.end('host-role');
          else {
            const Expiration = new Date(Date.now() + 3_600_000).toISOString();
            const key = { AccessKeyId: 'KEY-OF-THE-HOST', SecretAccessKey: 'x', Token: 'y' };
            response.end(JSON.stringify({ Code: 'Success', Type: 'AWS-HMAC', ...key, Expiration }));
          }
        });
        await new Promise<void>((resolve) => service.listen(80, '169.254.169.254', resolve));
        const answers: Record<string, unknown> = {};
        for (const [name, [file = '', ...args]] of Object.entries(clients)) {
          const ask = async (env: Env) => {
            requests = 0;
            const { output } = await sallyport.run(file, args, { env });
            return [output.stdout.text.trim(), requests > 0];
          };
          answers[name] = {
            run: await ask(sallyport.createEnvironment({ runId: 'b71e04' })),
            without: await ask({}),
          };
        }
        service.close();
        service.closeAllConnections();
        return answers;
      },
      CLIENTS,
      { wrap: ['unshare', '--net'] },
    );
    const expected = { run: ['none', false], without: ['KEY-OF-THE-HOST', true] };
    expect(seen).toEqual(Object.fromEntries(Object.keys(CLIENTS).map((name) => [name, expected])));
  },
);
