'use strict';
// Credentials of a made-up source, fetched by a program of the run from the endpoint; and as files.
const { createCredentialBroker, runWithCredentials } = require('sallyport/credentials');
const { observe } = require('./observe.cjs');

const ASK = `
  const { readFileSync } = require('node:fs');
  const { AWS_CONTAINER_CREDENTIALS_FULL_URI: url, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file } = process.env;
  const ask = (authorization) => fetch(url, { headers: { authorization } });
  (async () => {
    const given = await ask(readFileSync(file, 'utf8'));
    const { AccessKeyId } = await given.json();
    console.log(given.status, AccessKeyId === 'made-up-key', (await ask('wrong')).status);
  })();`;

const source = (delivery, values) => ({
  name: 'aws',
  reason: 'a test',
  delivery,
  mint: () => ({ values, expiresAt: new Date(Date.now() + 60_000) }),
});
const broker = (one) => createCredentialBroker({ runId: 'b71e04', sources: [one] });

observe({
  async endpoint() {
    const values = {
      AccessKeyId: 'made-up-key',
      SecretAccessKey: 'made-up-secret',
      SessionToken: 'made-up-token',
    };
    const report = await runWithCredentials(
      broker(source({ by: 'endpoint' }, values)),
      process.env.TEST_NODE,
      ['-e', ASK],
      { deadline: 15_000 },
    );
    const { fetches, end } = report.credentials;
    return {
      printed: report.output.stdout.text,
      problems: report.output.stderr.text,
      outcomes: fetches.map(({ outcome }) => outcome),
      left: end?.filesLeft,
    };
  },
  async maskedVariable() {
    const values = { password: 'made-up-password' };
    const one = source({ by: 'env', variables: { PASSWORD: 'password' } }, values);
    const report = await runWithCredentials(broker(one), 'sh', ['-c', 'echo "is $PASSWORD"'], {
      deadline: 15_000,
    });
    const { text } = report.output.stdout;
    return {
      code: report.outcome.code,
      shown: text.includes('made-up-password'),
      long: text.length > 3,
    };
  },
});
