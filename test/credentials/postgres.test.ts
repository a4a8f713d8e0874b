// The real psql against a real PostgreSQL that enforces the expiry of a password.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';

import {
  createCredentialBroker,
  pgpassFile,
  runWithCredentials,
  type CredentialSource,
} from '../../src/credentials.js';
import { contained } from '../run/support.js';
import { makeScratch } from '../support/fixtures.js';
import { waitFor } from '../support/processes.js';
import { needs, postgresPrograms } from '../support/tools.js';
import { runId } from './support/scenes.js';

const LIFE = 6_000;
const isRoot = process.getuid?.() === 0;
/** PostgreSQL refuses to run as root. */
const account = isRoot ? { uid: 65534, gid: 65534 } : {};

needs('postgresql').describe('psql', () => {
  const programs = postgresPrograms() ?? '';
  const home = makeScratch();
  const sockets = path.join(home, 'sockets');
  let server: ChildProcess;
  let port = 0;

  beforeAll(async () => {
    chmodSync(home, 0o755);
    const data = path.join(home, 'data');
    for (const directory of [data, sockets]) {
      mkdirSync(directory, { mode: 0o700 });
      if (isRoot) chownSync(directory, 65534, 65534);
    }
    const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };
    const options = ['-D', data, '-U', 'admin', '--auth-local=trust', '--auth-host=scram-sha-256'];
    execFileSync(path.join(programs, 'initdb'), [...options, '--no-sync'], {
      ...account,
      env,
      cwd: '/',
      stdio: 'ignore',
    });
    port = await findPort();
    const settings = [`-k${sockets}`, '-p', String(port), '-h', '127.0.0.1', '-c', 'fsync=off'];
    server = spawn(path.join(programs, 'postgres'), ['-D', data, ...settings], {
      ...account,
      env,
      cwd: '/',
      stdio: 'ignore',
    });
    await waitFor(
      'PostgreSQL',
      () => {
        try {
          administer('select 1');
          return true;
        } catch {
          return false;
        }
      },
      30_000,
    );
    administer('create role developer login');
  }, 60_000);

  afterAll(async () => {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    // Fast shutdown.
    server.kill('SIGINT');
    await ended;
  });

  function administer(statement: string): void {
    execFileSync(
      'psql',
      ['-h', sockets, '-p', String(port), '-U', 'admin', '-d', 'postgres', '-qc', statement],
      {
        stdio: 'ignore',
      },
    );
  }

  it('works before and after an expiry, and the password that expired is refused', async () => {
    const passwords: string[] = [];
    const expiries: number[] = [];
    const source: CredentialSource = {
      name: 'database',
      reason: 'the task migrates the development database',
      plain: ['username'],
      delivery: pgpassFile({ host: '127.0.0.1', port }),
      lead: LIFE / 2,
      mint: () => {
        const password = randomBytes(12).toString('hex');
        const expiresAt = new Date(Date.now() + LIFE);
        administer(
          `alter role developer password '${password}' valid until '${expiresAt.toISOString()}'`,
        );
        passwords.push(password);
        expiries.push(expiresAt.getTime());
        return { values: { username: 'developer', password }, expiresAt };
      },
    };
    const broker = createCredentialBroker({ runId, sources: [source] });
    const go = new PassThrough();
    const query = `psql -h 127.0.0.1 -p ${port} -U developer -d postgres -Atc 'select current_user'`;
    const lines: string[] = [];
    const running = runWithCredentials(broker, 'sh', ['-c', `${query} && read -r go && ${query}`], {
      ...contained,
      env: { PATH: '/usr/bin:/bin', HOME: home },
      input: go,
      deadline: 60_000,
      output: { stdout: { to: (line) => void lines.push(line) } },
    });
    await waitFor('the first answer', () => lines.length === 1, 20_000);
    const [first = Infinity] = expiries;
    await waitFor('the expiry', () => Date.now() > first && passwords.length > 1, 20_000);
    go.end('go\n');
    const report = await running;
    expect(report.output.stderr.text).toBe('');
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    expect(lines).toEqual(['developer', 'developer']);

    // The server enforces it: what the run had at its end is of no use once that time has come.
    const last = expiries.at(-1) ?? Infinity;
    await waitFor('the last expiry', () => Date.now() > last, 20_000);
    const late = (): void => {
      execFileSync(
        'psql',
        [
          '-h',
          '127.0.0.1',
          '-p',
          String(port),
          '-U',
          'developer',
          '-d',
          'postgres',
          '-c',
          'select 1',
        ],
        {
          env: { PATH: '/usr/bin:/bin', PGPASSWORD: passwords.at(-1) },
          stdio: 'pipe',
        },
      );
    };
    expect(late).toThrow('password authentication failed');
  });
});

async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
