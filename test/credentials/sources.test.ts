// Where credentials come from: a role, a program, a file.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  assumeRole,
  commandSource,
  createCredentialBroker,
  fileSource,
  netrcFile,
  npmrcFile,
  parseCredential,
  pgpassFile,
  type CredentialSource,
  type Minted,
} from '../../src/credentials.js';
import { makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { ACCOUNT, FakeAws, ROLE } from './support/fake-aws.js';
import { developmentRole, refusalOf, runId } from './support/scenes.js';

const until = '2999-01-01T00:00:00.000Z';

async function mint({ mint: call }: CredentialSource): Promise<Minted> {
  return call({ runId, signal: new AbortController().signal });
}

describe('a role', () => {
  let aws: FakeAws;
  beforeEach(async () => {
    aws = await FakeAws.start(60_000);
  });
  afterEach(async () => {
    await aws.stop();
  });

  it('is assumed for the run, by its name and with its tag', async () => {
    const source = developmentRole(aws, { tags: { team: 'x' }, durationSeconds: 1200 });
    const { values, expiresAt } = await mint(source);
    expect(Object.keys(values)).toEqual(['AccessKeyId', 'SecretAccessKey', 'SessionToken']);
    expect(expiresAt?.getTime()).toBeGreaterThan(Date.now());
    const [asked] = aws.assumed;
    expect(Object.fromEntries(asked ?? [])).toMatchObject({
      RoleArn: ROLE,
      RoleSessionName: 'agent-b71e04',
      DurationSeconds: '1200',
      'Tags.member.1.Key': 'team',
      'Tags.member.2.Key': 'run_id',
      'Tags.member.2.Value': 'b71e04',
    });
  });

  it('has a session name of 64 characters at most', async () => {
    const { mint: call } = developmentRole(aws);
    const long = 'r'.repeat(100);
    await call({ runId: long, signal: new AbortController().signal });
    expect(aws.assumed[0]?.get('RoleSessionName')).toBe(`agent-${'r'.repeat(58)}`);
    expect(aws.assumed[0]?.get('Tags.member.1.Value')).toBe(long);
  });

  it('of another account than the one that is named serves nobody', async () => {
    aws.account = '999999999999';
    const broker = createCredentialBroker({ runId, sources: [developmentRole(aws)] });
    const refusal = await refusalOf(broker.open());
    expect(String(refusal)).toContain('role of account 999999999999, and only 111122223333 may');
    for (const secret of aws.secrets) expect(String(refusal)).not.toContain(secret);
  });

  it.each([
    [{ account: undefined }, 'account'],
    [{ account: '1' }, 'account'],
    [{ account: '999999999999' }, 'roleArn'],
    [{ roleArn: `arn:aws:iam::${ACCOUNT}:user/x` }, 'roleArn'],
    [{ durationSeconds: 899 }, 'durationSeconds'],
    [{ sessionName: 'x' }, 'assumeRole.sessionName'],
  ])('is not described by %o', (wrong, option) => {
    expect(() =>
      assumeRole({ reason: 'x', roleArn: ROLE, account: ACCOUNT, ...wrong } as never),
    ).toThrow(expect.objectContaining({ stagePath: option }) as Error);
  });

  it('needs the SDK only when it is used, and says so where there is none', async () => {
    const message = await inNode(async ({ require: load, root, scratch }) => {
      const { cpSync, mkdirSync } = load('node:fs') as typeof import('node:fs');
      // The package as somebody has it who installed no SDK.
      const copy = `${scratch}/node_modules/sallyport`;
      mkdirSync(copy, { recursive: true });
      cpSync(`${root}/dist`, `${copy}/dist`, { recursive: true });
      cpSync(`${root}/package.json`, `${copy}/package.json`);
      const entry = load(
        `${copy}/dist/credentials.js`,
      ) as typeof import('../../src/credentials.js');
      const source = entry.assumeRole({
        reason: 'x',
        roleArn: 'arn:aws:iam::111122223333:role/x',
        account: '111122223333',
      });
      const broker = entry.createCredentialBroker({ runId: 'x', sources: [source] });
      return broker.open().then(
        () => 'no error',
        (error: unknown) => (error as Error).message,
      );
    }, null);
    expect(message).toContain('@aws-sdk/client-sts is not installed: npm install');
  });
});

describe('a program', () => {
  const common = { name: 'tool', reason: 'a test', delivery: [] as never };

  it('prints a credential', async () => {
    const printed = JSON.stringify({ values: { token: 'made-up' }, expiresAt: until });
    const source = commandSource({ ...common, file: 'printf', args: ['%s', printed] });
    expect(await mint(source)).toEqual({
      values: { token: 'made-up' },
      expiresAt: new Date(until),
    });
  });

  it('has nothing in its environment that was not named', async () => {
    process.env['SALLYPORT_TEST_TOKEN'] = 'made-up';
    const script =
      'printf \'{"values":{"seen":"%s"},"expiresAt":null}\' "${SALLYPORT_TEST_TOKEN-none}"';
    const args = ['-c', script];
    const source = commandSource({ ...common, file: 'sh', args });
    expect((await mint(source)).values).toEqual({ seen: 'none' });
    const env = { SALLYPORT_TEST_TOKEN: 'given', PATH: '/usr/bin:/bin' };
    const given = commandSource({ ...common, file: 'sh', args, env });
    expect((await mint(given)).values).toEqual({ seen: 'given' });
    delete process.env['SALLYPORT_TEST_TOKEN'];
  });

  it('that fails is told by its exit code, and what it printed is not repeated', async () => {
    const script = 'echo secret-on-stdout; echo secret-on-stderr >&2; exit 3';
    const source = commandSource({ ...common, file: 'sh', args: ['-c', script] });
    const refusal = await refusalOf(mint(source));
    expect(String(refusal)).toContain('exit code 3; it wrote 17 bytes to stderr');
    expect(String(refusal)).not.toContain('secret-on');
  });

  it('that prints something else is told so, without what it printed', async () => {
    const source = commandSource({ ...common, file: 'echo', args: ['secret-on-stdout'] });
    const refusal = await refusalOf(mint(source));
    expect(String(refusal)).toContain('what the program printed could not be parsed');
    expect(String(refusal)).not.toContain('secret');
  });

  it('that is not there is told as everywhere', async () => {
    const source = commandSource({ ...common, file: 'no-such-program' });
    await expect(mint(source)).rejects.toThrow('spawn no-such-program ENOENT');
  });

  it('is ended at the deadline of the mint', async () => {
    const source = commandSource({
      ...common,
      file: 'sleep',
      args: ['60'],
      mintDeadline: 100,
      delivery: { by: 'file', path: 'x', render: () => '' },
    });
    const broker = createCredentialBroker({ runId, sources: [source] });
    await expect(broker.open()).rejects.toThrow('it took longer than 100 ms');
  });
});

describe('a file', () => {
  it('is read for each mint', async () => {
    const file = path.join(makeScratch(), 'token');
    const source = fileSource({ name: 'x', reason: 'y', path: file, delivery: [] as never });
    for (const token of ['one', 'two']) {
      writeFileSync(file, JSON.stringify({ values: { token }, expiresAt: null }));
      expect((await mint(source)).values).toEqual({ token });
    }
  });

  it('may have another form', async () => {
    const file = path.join(makeScratch(), 'token');
    writeFileSync(file, 'made-up\n');
    const source = fileSource({
      name: 'x',
      reason: 'y',
      path: file,
      delivery: [] as never,
      parse: (text) => ({ values: { token: text.trim() }, expiresAt: null }),
    });
    expect((await mint(source)).values).toEqual({ token: 'made-up' });
  });

  it('is one with an end, that nobody has to wait for', async () => {
    const fifo = path.join(makeScratch(), 'pipe');
    execFileSync('mkfifo', [fifo]);
    const large = path.join(makeScratch(), 'large');
    writeFileSync(large, 'x'.repeat((1 << 20) + 1));
    for (const [file, why] of [
      [fifo, 'is no regular file'],
      ['/dev/zero', 'is no regular file'],
      ['/', 'is no regular file'],
      [large, 'has more than 1048576 bytes'],
    ] as const) {
      const source = fileSource({ name: 'x', reason: 'y', path: file, delivery: [] as never });
      await expect(mint(source)).rejects.toThrow(`${file} ${why}`);
    }
  });
});

describe('parseCredential', () => {
  it('takes what a credential_process prints', () => {
    const printed = { Version: 1, AccessKeyId: 'a', SecretAccessKey: 'b', SessionToken: 'c' };
    const { Version: _, ...values } = printed;
    expect(parseCredential(JSON.stringify({ ...printed, Expiration: until }))).toEqual({
      values,
      expiresAt: new Date(until),
    });
    expect(parseCredential(JSON.stringify(printed)).expiresAt).toBeNull();
  });
});

describe('what is described wrongly', () => {
  it.each([
    [commandSource, undefined, 'file'],
    [commandSource, { name: 'x', file: 'x', arg: ['y'] }, 'commandSource.arg'],
    [fileSource, undefined, 'path'],
    [fileSource, { path: 'x', file: 'x' }, 'fileSource.file'],
    [fileSource, { path: '/a\0b' }, 'path'],
    [assumeRole, undefined, 'account'],
    [pgpassFile, undefined, 'host'],
    [pgpassFile, { host: 'a\nb' }, 'host'],
    [pgpassFile, { host: 'a', port: '5432' }, 'port'],
    [pgpassFile, { host: 'a', database: 1 }, 'database'],
    [netrcFile, undefined, 'host'],
    [npmrcFile, undefined, 'registry'],
    [npmrcFile, { registry: 'https://registry.example', scope: 1 }, 'scope'],
  ])('is a mistake of the caller: %o of %o', (make, options, option) => {
    expect(() => (make as (given: unknown) => unknown)(options)).toThrow(
      expect.objectContaining({ name: 'SallyportTypeError', stagePath: option }) as Error,
    );
  });
});
