// Real clients of AWS outlive many credentials, and no secret of theirs is anywhere but with them.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  createCredentialBroker,
  runWithCredentials,
  type AssumeRole,
  type CredentialedReport,
} from '../../src/credentials.js';
import { contained } from '../run/support.js';
import { makeScratch } from '../support/fixtures.js';
import { listChildren } from '../support/processes.js';
import { has, needs } from '../support/tools.js';
import { FakeAws } from './support/fake-aws.js';
import { developmentRole, runId } from './support/scenes.js';

// The same number of credentials in a sixth of the time: three minutes of 30-second credentials are
// what SALLYPORT_LONG_CREDENTIALS=1 runs.
const isLong = process.env['SALLYPORT_LONG_CREDENTIALS'] === '1';
const LIFE = isLong ? 30_000 : 5_000;
const DURATION = 6 * LIFE;
const PAUSE = LIFE / 10;
const PATIENCE = DURATION + 60_000;
/** At least so many credentials are needed for it. */
const LEAST = DURATION / LIFE;

const clients = path.join(import.meta.dirname, 'clients');

interface Observed {
  readonly aws: FakeAws;
  readonly report: CredentialedReport;
  /** Everything that was in an environment or among arguments of processes of the run, or printed. */
  readonly seen: string;
  readonly record: string;
}

/** Looks at the processes of the run while they work. */
async function watch(
  delivery: AssumeRole['delivery'],
  file: string,
  args: (endpoint: string) => readonly string[],
): Promise<Observed> {
  const aws = await FakeAws.start(LIFE);
  const source = developmentRole(aws, {
    ...(delivery === undefined ? undefined : { delivery }),
    // A client is slow to use what it got while others use the machine.
    lead: LIFE / 2,
    jitter: LIFE / 20,
  });
  const record = path.join(makeScratch(), 'runs.jsonl');
  const broker = createCredentialBroker({ runId, sources: [source] });
  const seen: string[] = [];
  const running = runWithCredentials(broker, file, args(aws.endpoint), {
    ...contained,
    deadline: PATIENCE,
    record,
  });
  broker.on('fetch', (fetch) => {
    seen.push(JSON.stringify(fetch));
    for (const pid of [fetch.pid, fetch.parentPid]) {
      if (pid !== null) seen.push(...readProcess(pid));
    }
  });
  broker.on('state', (status) => seen.push(JSON.stringify(status)));
  const pid = await running.started;
  if (pid !== null) {
    seen.push(...readProcess(pid), ...listChildren(pid).flatMap((child) => readProcess(child.pid)));
  }
  const report = await running;
  await aws.stop();
  return { aws, report, seen: seen.join('\n'), record: readFileSync(record, 'utf8') };
}

function readProcess(pid: number): string[] {
  return ['environ', 'cmdline'].map((what) => {
    try {
      return readFileSync(`/proc/${pid}/${what}`, 'latin1');
    } catch {
      return '';
    }
  });
}

function expectWorked({ aws, report, seen, record }: Observed, least: number): void {
  const printed = report.output.stdout.text + report.output.stderr.text;
  expect(report.outcome, printed).toMatchObject({ kind: 'exited', code: 0 });
  expect(aws.calls.length).toBeGreaterThan(least);
  expect(aws.calls.filter(({ refused }) => refused !== null)).toEqual([]);
  expect(new Set(aws.calls.map(({ session }) => session))).toEqual(new Set([`agent-${runId}`]));
  expect(aws.assumed.length).toBeGreaterThanOrEqual(LEAST);
  const [first] = aws.assumed;
  expect(first?.get('DurationSeconds')).toBe('900');
  expect([first?.get('Tags.member.1.Key'), first?.get('Tags.member.1.Value')]).toEqual([
    'run_id',
    runId,
  ]);
  const [grant] = report.credentials.grants;
  expect(grant).toMatchObject({ state: 'fresh', outages: [], unmasked: [] });
  expect(grant?.minted).toBe(aws.assumed.length);
  expect(report.credentials.fetches.filter(({ outcome }) => outcome === 'refused')).toEqual([]);

  // The search can find one: a secret of another kind is found where it is.
  expect(seen).toContain('AWS_EC2_METADATA_DISABLED=true');
  expect(aws.secrets.length).toBeGreaterThanOrEqual(3 * LEAST);
  for (const secret of aws.secrets) {
    expect(seen).not.toContain(secret);
    expect(record).not.toContain(secret);
    expect(printed).not.toContain(secret);
    expect(JSON.stringify(report)).not.toContain(secret);
  }
  for (const file of report.credentials.files) expect(existsSync(file)).toBe(false);
  expect(report.credentials.end?.filesLeft).toEqual([]);
}

const forProcess = { by: 'process', for: 'aws', region: 'eu-west-1' } as const;

describe('for longer than its credentials hold', () => {
  // Side by side: each takes as long as the others.
  const observed = new Map<string, Promise<Observed>>();
  const seconds = (milliseconds: number): string => String(milliseconds / 1000);

  beforeAll(() => {
    observed.set(
      'js',
      watch(undefined, process.execPath, (endpoint) => [
        path.join(clients, 's3.mjs'),
        endpoint,
        String(DURATION),
        String(PAUSE),
      ]),
    );
    if (has('boto3')) {
      const script = path.join(clients, 's3.py');
      observed.set(
        'boto3',
        watch(forProcess, '/usr/bin/python3', (endpoint) => [
          script,
          endpoint,
          seconds(DURATION),
          seconds(PAUSE),
        ]),
      );
    }
    if (has('aws cli')) {
      // A process of its own for each call.
      const script = `end=$(($(date +%s) + ${seconds(DURATION)}))
        while [ "$(date +%s)" -lt "$end" ]; do
          /usr/bin/aws --endpoint-url "$1" s3api get-object --bucket b --key k /dev/stderr || exit 1
          sleep ${seconds(PAUSE)}
        done`;
      observed.set(
        'aws',
        watch(forProcess, 'sh', (endpoint) => ['-c', script, 'sh', endpoint]),
      );
    }
    // Whoever is late to await them hears of it all the same.
    for (const promise of observed.values()) promise.catch(() => undefined);
  });

  afterAll(async () => {
    await Promise.allSettled(observed.values());
  }, PATIENCE);

  async function take(name: string): Promise<Observed> {
    const promise = observed.get(name);
    if (promise === undefined) throw new Error(`${name} was not started`);
    return promise;
  }

  it(
    'works the AWS SDK for JavaScript, by the endpoint',
    async () => {
      const seen = await take('js');
      expectWorked(seen, DURATION / PAUSE / 4);
      const { fetches, environmentNames } = seen.report.credentials;
      expect(fetches.map(({ executable }) => executable)).toContain(process.execPath);
      expect(environmentNames).not.toContain('AWS_ACCESS_KEY_ID');
      expect(seen.report.inheritance.environmentNames).not.toContain('AWS_SESSION_TOKEN');
    },
    PATIENCE,
  );

  needs('boto3').it(
    'works boto3, by credential_process',
    async () => {
      const seen = await take('boto3');
      expectWorked(seen, DURATION / PAUSE / 4);
      const parents = seen.report.credentials.fetches.map((fetch) => fetch.parentExecutable);
      expect(parents.every((parent) => /python3/.test(parent ?? ''))).toBe(true);
    },
    PATIENCE,
  );

  needs('aws cli').it(
    'works the AWS CLI, by credential_process',
    async () => {
      expectWorked(await take('aws'), 3);
    },
    PATIENCE,
  );
});

describe('what a run prints', () => {
  it('is masked, whoever reads it', async () => {
    // It asks as an SDK does, and prints all that it gets, cut in two.
    const script = `
      const { readFileSync } = require('node:fs');
      const { AWS_CONTAINER_CREDENTIALS_FULL_URI: url } = process.env;
      const authorization = readFileSync(process.env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, 'utf8');
      fetch(url, { headers: { authorization } }).then((it) => it.text()).then((text) => {
        const half = text.indexOf('SecretAccessKey') + 30;
        process.stdout.write(text.slice(0, half));
        setImmediate(() => process.stdout.write(text.slice(half) + ' and more', () => {
          process.stderr.write('key ' + JSON.parse(text).SecretAccessKey);
        }));
      });`;
    const lines: string[] = [];
    const aws = await FakeAws.start(60_000);
    const broker = createCredentialBroker({ runId, sources: [developmentRole(aws)] });
    const report = await runWithCredentials(broker, process.execPath, ['-e', script], {
      ...contained,
      output: { stdout: { to: (line) => void lines.push(line) } },
    });
    const { stdout, stderr } = report.output;
    expect(stdout.text).toMatch(
      /^\{"AccessKeyId":"\*\*\*","SecretAccessKey":"\*\*\*","Token":"\*\*\*","Expiration":"20.*"\} and more$/,
    );
    expect(lines.join('\n')).toBe(stdout.text);
    expect(stderr.text).toBe('key ***');
    expect(stdout.bytesSeen).toBe(stdout.data.length);
    expect(stdout.end).toBe('eof');
    await aws.stop();
  });
});
