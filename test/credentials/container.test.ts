// The same in a container and in a CI job: an environment full of secrets around a run that has its own.
import { expect } from 'vitest';

import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';

/** What CI systems put into the environment of their jobs. */
const surroundings = {
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'ci-secret-1',
  ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.actions.example/ci-secret-2',
  ACTIONS_RUNTIME_TOKEN: 'ci-secret-3',
  AWS_ACCESS_KEY_ID: 'ci-secret-4',
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/ci-secret-5',
  AWS_ROLE_ARN: 'arn:aws:iam::999999999999:role/ci-secret-6',
  AWS_SECRET_ACCESS_KEY: 'ci-secret-7',
  AWS_SESSION_TOKEN: 'ci-secret-8',
  AWS_WEB_IDENTITY_TOKEN_FILE: '/var/run/secrets/ci-secret-9',
  BUILDKITE_AGENT_ACCESS_TOKEN: 'ci-secret-10',
  CI: 'true',
  CI_JOB_TOKEN: 'ci-secret-11',
  CI_REGISTRY_PASSWORD: 'ci-secret-12',
  DATABASE_URL: 'postgres://ci:ci-secret-13@db/production',
  DOCKER_AUTH_CONFIG: '{"auths":{"r":{"auth":"ci-secret-14"}}}',
  GITHUB_TOKEN: 'ci-secret-15',
  KUBECONFIG: '/home/ci/ci-secret-16',
  NODE_AUTH_TOKEN: 'ci-secret-17',
  NPM_TOKEN: 'ci-secret-18',
  SSH_AUTH_SOCK: '/tmp/ci-secret-19',
  SYSTEM_ACCESSTOKEN: 'ci-secret-20',
};

needs('user namespaces', 'another uid').it(
  'in a user and mount namespace of an unprivileged user a run has its own and none of the job',
  async () => {
    const seen = await inNode(
      async ({ require: load, root, scratch, sallyport: { run } }) => {
        const { mkdirSync, readFileSync } = load('node:fs') as typeof import('node:fs');
        const { execFileSync } = load('node:child_process') as typeof import('node:child_process');
        const { createCredentialBroker, runWithCredentials } = load(
          `${root}/dist/credentials.js`,
        ) as typeof import('../../src/credentials.js');
        // A filesystem that nobody outside of this namespace sees.
        const home = `${scratch}/home`;
        mkdirSync(home);
        execFileSync('mount', ['-t', 'tmpfs', 'none', home]);
        const aws = {
          name: 'aws',
          reason: 'a test',
          delivery: { by: 'endpoint' },
          mint: () => ({
            values: {
              AccessKeyId: 'minted-key',
              SecretAccessKey: 'minted-secret',
              SessionToken: 'minted-token',
            },
            expiresAt: new Date(Date.now() + 60_000),
          }),
        } as const;
        const broker = createCredentialBroker({ runId: 'b71e04', sources: [aws], home });
        const script = `
          const { readFileSync } = require('node:fs');
          const { env } = process;
          const authorization = readFileSync(env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, 'utf8');
          fetch(env.AWS_CONTAINER_CREDENTIALS_FULL_URI, { headers: { authorization } }).then(async (it) => {
            console.log(JSON.stringify({
              status: it.status,
              text: await it.text(),
              environ: readFileSync('/proc/self/environ', 'latin1'),
            }));
          });`;
        const report = await runWithCredentials(broker, process.execPath, ['-e', script], {
          containment: 'group',
        });
        const inherited = await run('cat', ['/proc/self/environ'], {
          containment: 'group',
          env: 'inherit',
        });
        return {
          uidMap: readFileSync('/proc/self/uid_map', 'utf8').trim().split(/\s+/),
          own: JSON.parse(report.output.stdout.text) as Record<string, unknown>,
          outcome: report.outcome.kind,
          inherited: inherited.output.stdout.text,
          files: report.credentials.files.map((file) => file.startsWith(home)),
          left: report.credentials.end?.filesLeft,
        };
      },
      null,
      {
        wrap: ['unshare', '--user', '--map-root-user', '--mount'],
        unprivileged: true,
        env: surroundings,
      },
    );
    expect(seen.outcome).toBe('exited');
    // Root inside, and nobody outside.
    expect(seen.uidMap).toEqual([
      '0',
      process.getuid?.() === 0 ? '65534' : String(process.getuid?.()),
      '1',
    ]);
    // It would have been seen: a run that inherits has all of it.
    for (const name of Object.keys(surroundings)) expect(seen.inherited).toContain(`${name}=`);
    const environ = String(seen.own['environ']);
    expect(environ).not.toContain('ci-secret');
    for (const name of Object.keys(surroundings)) expect(environ).not.toContain(`${name}=`);
    expect(environ).toContain('AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:');
    expect(seen.own['status']).toBe(200);
    expect(seen.own['text']).toContain('"AccessKeyId":"***"');
    expect(seen.files).toEqual([true]);
    expect(seen.left).toEqual([]);
  },
);
