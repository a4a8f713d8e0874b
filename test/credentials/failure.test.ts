// A mint that fails: one clear error for whoever asks, soon, and one entry in the report.
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  createCredentialBroker,
  runWithCredentials,
  type CredentialBroker,
  type CredentialedReport,
} from '../../src/credentials.js';
import { contained } from '../run/support.js';
import { needs } from '../support/tools.js';
import { FakeAws } from './support/fake-aws.js';
import { developmentRole, runId } from './support/scenes.js';

const clients = path.join(import.meta.dirname, 'clients');
const WHY = 'User: arn:aws:iam::111122223333:user/harness is not authorized to assume the role';
/** The shortest that leaves a client time for a call. */
const LIFE = 2_000;

let aws: FakeAws;
beforeEach(async () => {
  aws = await FakeAws.start(LIFE);
});
afterEach(async () => {
  await aws.stop();
});

/** Mint fails from the first call of the child on. */
function failSoon(broker: CredentialBroker): void {
  broker.once('fetch', () => {
    aws.refusal = WHY;
  });
}

interface Line {
  ok?: string;
  error?: string;
  Code?: string;
  Message?: string;
  message?: string;
  ms?: number;
}

function readLines(report: CredentialedReport): Line[] {
  const { text } = report.output.stdout;
  expect(text, report.output.stderr.text).not.toBe('');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

function expectOneOutage({ credentials }: CredentialedReport): void {
  const [grant] = credentials.grants;
  expect(grant?.state).toBe('expired');
  expect(grant?.outages).toHaveLength(1);
  const [outage] = grant?.outages ?? [];
  expect(outage).toMatchObject({ until: null, why: `AccessDenied: ${WHY}` });
  expect(outage?.attempts).toBeGreaterThan(1);
  expect(new Date(outage?.since ?? '').getTime()).toBeGreaterThan(0);
}

describe('where a role cannot be assumed any more', () => {
  it('the AWS SDK for JavaScript has one error, within 10 s, 4 requests with the token and one without', async () => {
    const broker = createCredentialBroker({ runId, sources: [developmentRole(aws)] });
    failSoon(broker);
    // The second call comes when what the first one got has expired. Before that, the SDK asks anew in
    // the background of a call that works: those requests are of no call that fails.
    const args = [path.join(clients, 's3.mjs'), aws.endpoint, '20000', String(LIFE * 1.5)];
    const report = await runWithCredentials(broker, process.execPath, args, {
      ...contained,
      deadline: 60_000,
    });
    const lines = readLines(report);
    const failed = lines.at(-1);
    expect(lines.slice(0, -1).every(({ ok }) => ok === `for agent-${runId}`)).toBe(true);
    expect(lines.length).toBeGreaterThan(1);
    expect(failed?.error).toBeDefined();
    expect(failed?.ms).toBeLessThan(10_000);
    const refused = report.credentials.fetches.filter(({ outcome }) => outcome === 'refused');
    // By its HTTP provider, with the token; then by the older one, which knows no token file. It waits a
    // second for each: on a busy machine it may have gone when its turn comes.
    expect(refused.map(({ why }) => why?.replace(/:.*/s, ''))).toEqual([
      ...Array.from({ length: 4 }, () => expect.stringMatching(/^(CredentialExpired|NotInRun)$/)),
      expect.stringMatching(/^(WrongToken|NotInRun)$/),
    ]);
    const gone = refused.filter(({ why }) => why?.startsWith('NotInRun') === true);
    expect(gone.every(({ why }) => why?.includes('closed its connection'))).toBe(true);
    expect(gone.length).toBeLessThan(4);
    expectOneOutage(report);
  });

  needs('boto3').it('boto3 has one, with the reason in it', async () => {
    const delivery = { by: 'process', for: 'aws', region: 'eu-west-1' } as const;
    const broker = createCredentialBroker({ runId, sources: [developmentRole(aws, { delivery })] });
    failSoon(broker);
    const args = [path.join(clients, 's3.py'), aws.endpoint, '20', '0.2'];
    const report = await runWithCredentials(broker, '/usr/bin/python3', args, {
      ...contained,
      deadline: 60_000,
    });
    const lines = readLines(report);
    const failed = lines.at(-1);
    expect(failed?.error).toBe('CredentialRetrievalError');
    expect(failed?.message).toContain(WHY);
    // credential_process itself: two seconds, beside what one that gives costs on this machine now.
    const given = Math.max(...lines.slice(0, -1).map(({ ms = 0 }) => ms));
    expect(failed?.ms).toBeLessThan(2_000 + 3 * given);
    const refused = report.credentials.fetches.filter(({ outcome }) => outcome === 'refused');
    expect(refused).toHaveLength(1);
    expectOneOutage(report);
  });

  it('a program that asks by itself is told why, in Code and Message', async () => {
    const broker = createCredentialBroker({ runId, sources: [developmentRole(aws)] });
    // Asks until it is refused, and then once more.
    const script = `
      const { readFileSync } = require('node:fs');
      const { env } = process;
      const authorization = readFileSync(env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, 'utf8');
      const ask = () => fetch(env.AWS_CONTAINER_CREDENTIALS_FULL_URI, { headers: { authorization } });
      (async () => {
        let answer;
        do answer = await ask(); while (answer.ok);
        const start = Date.now();
        answer = await ask();
        console.log(JSON.stringify({ status: answer.status, ...(await answer.json()), ms: Date.now() - start }));
      })();`;
    failSoon(broker);
    const report = await runWithCredentials(broker, process.execPath, ['-e', script], {
      ...contained,
      deadline: 60_000,
    });
    const [told] = readLines(report);
    expect(told).toMatchObject({ status: 400, Code: 'CredentialExpired' });
    expect(told?.Message).toContain(WHY);
    expect(told?.ms).toBeLessThan(2_000);
  });

  it('one that holds again is fresh again, and the outage has its end', async () => {
    const broker = createCredentialBroker({ runId, sources: [developmentRole(aws)] });
    const states: string[] = [];
    await broker.open({});
    const recovered = new Promise<void>((resolve) => {
      broker.on('state', ({ state }) => {
        states.push(state);
        if (state === 'expired') aws.refusal = null;
        if (state === 'fresh' && states.includes('expired')) resolve();
      });
    });
    aws.refusal = WHY;
    await recovered;
    const [grant] = (await broker.close()).grants;
    expect(states).toEqual(expect.arrayContaining(['refreshing', 'degraded', 'expired', 'fresh']));
    expect(states.indexOf('degraded')).toBeLessThan(states.indexOf('expired'));
    expect(grant?.outages).toHaveLength(1);
    expect(grant?.outages[0]?.until).not.toBeNull();
    expect(grant?.lastError).toBeNull();
  });
});
