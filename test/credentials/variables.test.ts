// Delivery by variables is fixed at the start, so it is refused where the run may last longer.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import {
  applyCredentials,
  createCredentialBroker,
  runWithCredentials,
} from '../../src/credentials.js';
import { createEnvironment } from '../../src/index.js';
import { strictProfile } from '../../src/review.js';
import { contained } from '../run/support.js';
import { makeScratch } from '../support/fixtures.js';
import { FakeAws } from './support/fake-aws.js';
import { developmentRole, madeUpPassword, refusalOf, runId } from './support/scenes.js';

const delivery = { by: 'env', variables: { DATABASE_PASSWORD: 'password' } } as const;

describe('a credential delivered by variables', () => {
  it.each([
    ['no deadline', undefined],
    ['a longer deadline', 120_000],
  ])('is refused to a run with %s, and nothing is started', async (_, deadline) => {
    const started = path.join(makeScratch(), 'started');
    const revoked: string[] = [];
    const { source, passwords } = madeUpPassword(60_000, {
      delivery,
      revoke: ({ values }) => void revoked.push(values['password'] ?? ''),
    });
    const broker = createCredentialBroker({ runId, sources: [source] });
    const running = runWithCredentials(broker, 'touch', [started], {
      ...contained,
      ...(deadline === undefined ? undefined : { deadline }),
    });
    const refusal = await refusalOf(running);
    expect(refusal).toMatchObject({
      code: 'ERR_SALLYPORT_CREDENTIAL_LIFETIME',
      stage: 'credentials',
      stagePath: 'made-up',
      message: expect.stringContaining('deliver it by endpoint, process or file') as string,
    });
    expect(await running.started).toBeNull();
    expect(existsSync(started)).toBe(false);
    expect(passwords).toHaveLength(1);
    expect(revoked).toEqual(passwords);
    expect(String(refusal)).not.toContain(passwords[0]);
  });

  it('is taken back where the scope of an await using ends', async () => {
    const revoked: string[] = [];
    const { source, passwords } = madeUpPassword(60_000, {
      delivery,
      revoke: ({ values }) => void revoked.push(values['password'] ?? ''),
    });
    const broker = createCredentialBroker({ runId, sources: [source] });
    const options = { ...contained, deadline: 30_000 };
    const running = runWithCredentials(broker, 'sleep', ['60'], options);
    expect(await running.started).not.toBeNull();
    await running[Symbol.asyncDispose]();
    expect(revoked).toEqual(passwords);
    expect((await running).outcome.kind).toBe('aborted');
  });

  it.each([{}, { mask: undefined }])('is masked in the output, with output: %j', async (output) => {
    const { source, passwords } = madeUpPassword(60_000, { delivery });
    const broker = createCredentialBroker({ runId, sources: [source] });
    const script = 'echo "$DATABASE_PASSWORD"; echo ${#DATABASE_PASSWORD}';
    const report = await runWithCredentials(broker, 'sh', ['-c', script], {
      ...contained,
      deadline: 30_000,
      output: output,
    });
    expect(report.output.stdout.text).toBe(`***\n${passwords[0]?.length ?? 0}\n`);
    expect(report.credentials.environmentNames).toContain('DATABASE_PASSWORD');
    expect(JSON.stringify(report)).not.toContain(passwords[0]);
  });

  it('may be there without a deadline where it does not expire', async () => {
    const { source } = madeUpPassword(null, { delivery });
    const broker = createCredentialBroker({ runId, sources: [source] });
    const report = await runWithCredentials(
      broker,
      'sh',
      ['-c', 'test -n "$DATABASE_PASSWORD"'],
      contained,
    );
    expect(report.outcome.code).toBe(0);
  });

  it('is what the AWS SDK uses, beside the URL of a database, in a run that is shorter', async () => {
    const aws = await FakeAws.start(60_000);
    const role = developmentRole(aws, {
      delivery: {
        by: 'env',
        variables: {
          AWS_ACCESS_KEY_ID: 'AccessKeyId',
          AWS_SECRET_ACCESS_KEY: 'SecretAccessKey',
          AWS_SESSION_TOKEN: 'SessionToken',
        },
      },
    });
    const database = madeUpPassword(60_000, {
      name: 'database',
      delivery: { by: 'env', variables: { DATABASE_URL: 'url' } },
      mint: () => ({
        values: { url: 'postgres://app:made-up-4c1d@127.0.0.1/development' },
        expiresAt: new Date(Date.now() + 60_000),
      }),
    });
    const broker = createCredentialBroker({ runId, sources: [role, database.source] });
    const client = path.join(import.meta.dirname, 'clients/s3.mjs');
    const script = '"$0" "$1" "$2" 1 1 && env | cut -d= -f1';
    const report = await runWithCredentials(
      broker,
      'sh',
      ['-c', script, process.execPath, client, aws.endpoint],
      {
        ...contained,
        deadline: 30_000,
        env: createEnvironment({ runId, set: { AWS_REGION: 'eu-west-1' } }),
      },
    );
    const [answer, ...names] = report.output.stdout.text.trim().split('\n');
    expect(answer, report.output.stderr.text).toBe(`{"ok":"for agent-${runId}"}`);
    expect(names).toEqual(
      expect.arrayContaining([
        'AWS_ACCESS_KEY_ID',
        'AWS_REGION',
        'AWS_SECRET_ACCESS_KEY',
        'AWS_SESSION_TOKEN',
        'DATABASE_URL',
      ]),
    );
    expect(aws.calls.map(({ session }) => session)).toEqual([`agent-${runId}`]);
    await aws.stop();
  });

  it('is refused where two set the same', async () => {
    const sources = ['one', 'two'].map((name) => madeUpPassword(null, { name, delivery }).source);
    const broker = createCredentialBroker({ runId, sources });
    await expect(broker.open()).rejects.toThrow('two deliveries set DATABASE_PASSWORD');
  });
});

describe('the environment of a run with credentials', () => {
  const set = { PURPOSE: { value: 'a test', reason: 'the program prints it' } };

  it('has its own reasons and its workspace, and those of the sources', async () => {
    const workspace = makeScratch();
    const { source } = madeUpPassword(null, { delivery });
    const broker = createCredentialBroker({ runId, sources: [source] });
    const report = await runWithCredentials(broker, 'pwd', [], {
      ...contained,
      env: createEnvironment({ runId, workspace, set }),
    });
    expect(report.output.stdout.text).toBe(`${workspace}\n`);
    expect(report.plan?.environment).toMatchObject({
      runId,
      workspace,
      fixed: expect.arrayContaining(['PATH', 'HOME', 'AWS_EC2_METADATA_DISABLED']) as string[],
      grants: [
        { name: 'PURPOSE', origin: 'set', reason: 'the program prints it' },
        { name: 'DATABASE_PASSWORD', origin: 'credentials', reason: 'a test' },
      ],
    });
  });

  it('says of a plain record what was given, and what was made for it', async () => {
    const broker = createCredentialBroker({ runId, sources: [] });
    const report = await runWithCredentials(broker, '/bin/true', [], {
      ...contained,
      env: { PATH: '/bin' },
    });
    expect(report.plan?.environment.grants).toMatchObject([
      { name: 'PATH', origin: 'given' },
      { name: 'AWS_EC2_METADATA_DISABLED', origin: 'credentials', reason: 'no reason given' },
    ]);
  });

  it('leaves the hint on the metadata service as the caller has it', () => {
    const delivered = { environment: { AWS_EC2_METADATA_DISABLED: 'true' } };
    const environment = { AWS_EC2_METADATA_DISABLED: 'false' };
    expect(applyCredentials(environment, delivered)).toEqual(environment);
    expect(applyCredentials({}, delivered)).toEqual(delivered.environment);
  });

  it('is the same by hand', () => {
    const delivered = { environment: { TOKEN: 'made up' }, remove: ['PURPOSE'], files: ['/x'] };
    const environment = createEnvironment({ runId, set });
    const { variables, record } = applyCredentials(environment, delivered);
    expect({ ...variables }).toEqual(applyCredentials(environment.variables, delivered));
    expect(variables).not.toHaveProperty('PURPOSE');
    expect(record).toMatchObject({
      runId,
      grants: [{ name: 'TOKEN', origin: 'credentials' }],
      files: ['/x'],
    });
  });

  it.each([
    [undefined, { environment: {} }, 'variables'],
    [{}, undefined, 'delivered.environment'],
    [{}, { environment: {}, remove: 'X' }, 'delivered.remove'],
  ])('cannot be made of %o and %o', (variables, delivered, option) => {
    expect(() => applyCredentials(variables as never, delivered as never)).toThrow(
      expect.objectContaining({ stage: 'plan', stagePath: option }) as Error,
    );
  });
});

describe('a run with credentials', () => {
  it('has its record with what it was given, and without a value', async () => {
    const record = path.join(makeScratch(), 'runs.jsonl');
    const { source, passwords } = madeUpPassword(60_000, { delivery });
    const broker = createCredentialBroker({ runId, sources: [source] });
    const report = await runWithCredentials(broker, 'true', [], {
      ...contained,
      deadline: 30_000,
      record,
    });
    const line = readFileSync(record, 'utf8');
    expect(JSON.parse(line)).toMatchObject(JSON.parse(JSON.stringify(report)));
    expect(report.credentials).toMatchObject({
      version: 1,
      runId,
      grants: [
        {
          name: 'made-up',
          reason: 'a test',
          state: 'fresh',
          deliveries: ['env DATABASE_PASSWORD'],
          minted: 1,
          outages: [],
          unmasked: [],
        },
      ],
      fetches: [],
      end: { filesLeft: [] },
    });
    expect(line).not.toContain(passwords[0]);
  });

  it('that is aborted while they are minted is not started', async () => {
    const { source } = madeUpPassword(60_000, {
      delivery: { by: 'file', path: 'p', render: () => '' },
      mint: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reject(new Error('told to stop'));
          });
        }),
    });
    const abort = new AbortController();
    const broker = createCredentialBroker({ runId, sources: [source] });
    const running = runWithCredentials(broker, 'true', [], { ...contained, signal: abort.signal });
    abort.abort();
    const report = await running;
    expect(report.outcome).toMatchObject({ kind: 'aborted', code: null });
    expect(await running.started).toBeNull();
    expect(report.credentials.end).not.toBeNull();
  });

  it('that is aborted before has nothing minted for it', async () => {
    const { source, passwords } = madeUpPassword(null, { delivery });
    const broker = createCredentialBroker({ runId, sources: [source] });
    const report = await runWithCredentials(broker, 'true', [], {
      ...contained,
      signal: AbortSignal.abort(),
    });
    expect(report.outcome).toMatchObject({ kind: 'aborted', code: null });
    expect(report.credentials.end).not.toBeNull();
    expect(passwords).toEqual([]);
  });

  it('may have its deadline from a profile', async () => {
    const { source } = madeUpPassword(60_000, { delivery });
    const broker = createCredentialBroker({ runId, sources: [source] });
    const profile = strictProfile({
      executable: '/bin/true',
      arguments: [],
      environment: {},
      cwd: '/',
    });
    const running = runWithCredentials(broker, '/bin/true', [], {
      ...contained,
      cwd: '/',
      profile: { ...profile, limits: { deadline: 30_000 } },
    });
    // The profile knows none of its variables: it is reviewed, and no more.
    const { outcome } = await running;
    expect(outcome).toMatchObject({ error: { code: 'ERR_SALLYPORT_NOT_ADMITTED' } });
  });

  it('takes null for what is left out', async () => {
    const broker = createCredentialBroker({ runId, sources: [] });
    const running = runWithCredentials(broker, 'true', [], {
      ...contained,
      ...({ record: null, signal: null, deadline: null } as object),
    });
    expect((await running).outcome.code).toBe(0);
    const other = createCredentialBroker({ runId, sources: [] });
    const report = await runWithCredentials(other, 'true', [], null as never);
    expect(report.outcome.code).toBe(0);
  });

  it('refuses another broker, as a rejection', async () => {
    const running = runWithCredentials({} as never, 'true');
    await expect(running).rejects.toMatchObject({ stagePath: 'broker' });
    expect(await running.started).toBeNull();
  });

  it('that is aborted while it runs is ended', async () => {
    const { source } = madeUpPassword(60_000, {
      delivery: { by: 'file', path: 'p', render: () => '' },
    });
    const broker = createCredentialBroker({ runId, sources: [source] });
    const running = runWithCredentials(broker, 'sleep', ['60'], { ...contained, grace: 0 });
    expect(await running.started).toBeGreaterThan(0);
    running.abort();
    expect((await running).outcome.kind).toBe('aborted');
  });

  it('refuses a mistake before anything is minted', async () => {
    const { source, passwords } = madeUpPassword(60_000, { delivery });
    const broker = createCredentialBroker({ runId, sources: [source] });
    const running = runWithCredentials(broker, 'true', [], { ...contained, deadlin: 1 } as never);
    await expect(running).rejects.toMatchObject({ code: 'ERR_SALLYPORT_UNKNOWN_OPTION' });
    expect(passwords).toEqual([]);
  });

  it.each([
    [{ runId: 'a b', sources: [] }, 'runId'],
    [{ runId, sources: {} }, 'sources'],
    [{ runId, sources: [], home: 'relative' }, 'home'],
    [{ runId, sources: [], home: '/a\0b' }, 'home'],
    [{ runId, sources: [], owner: { uid: 1 } }, 'owner'],
    [{ runId, sources: [{}] }, 'sources[0].name'],
    [{ runId, sources: [{ name: 'x' }] }, 'sources[0].reason'],
    [{ runId, sources: [{ name: 'x', reason: 'y' }] }, 'sources[0].mint'],
    [{ runId, sources: [{ name: 'x', reason: 'y', mint() {} }] }, 'sources[0].delivery'],
    [withDelivery({ by: 'mail' }), 'sources[0].delivery'],
    [withDelivery({ by: 'endpoint', token: 'some' }), 'sources[0].delivery.token'],
    [withDelivery({ by: 'process', for: 'git', url: 'https://u:p@h' }), 'sources[0].delivery.url'],
    [withDelivery({ by: 'file', path: '../x', render() {} }), 'sources[0].delivery.path'],
    [withDelivery({ by: 'file', path: 'x' }), 'sources[0].delivery.render'],
    [withDelivery({ by: 'env', variables: { 'A=B': 'x' } }), 'sources[0].delivery.variables'],
    [withDelivery({ by: 'env', variables: {}, more: 1 }), 'sources[0].delivery.more'],
  ])('cannot be asked for by %o', (options, option) => {
    expect(() => createCredentialBroker(options as never)).toThrow(
      expect.objectContaining({ stage: 'plan', stagePath: option }) as Error,
    );
  });
});

function withDelivery(delivery: object): object {
  return { runId, sources: [{ name: 'x', reason: 'y', mint: () => undefined, delivery }] };
}
