// The real git, over HTTP, with a password that expires.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { createCredentialBroker, netrcFile, runWithCredentials } from '../../src/credentials.js';
import { run } from '../../src/index.js';
import { contained } from '../run/support.js';
import { makeScratch } from '../support/fixtures.js';
import { waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { GitServer } from './support/git-server.js';
import { madeUpPassword, runId } from './support/scenes.js';

/** A clone takes long while others use the machine: it begins with at least half of this left. */
const LIFE = 8_000;
const lead = LIFE / 2;

needs('git-http-backend').describe('git', () => {
  const root = makeScratch();
  const valid = new Map<string, number>();
  let server: GitServer;

  beforeAll(async () => {
    const work = makeScratch();
    const git = (...args: string[]): void => {
      execFileSync('git', args, {
        cwd: work,
        env: {
          PATH: process.env['PATH'],
          GIT_CONFIG_GLOBAL: '/dev/null',
          GIT_CONFIG_SYSTEM: '/dev/null',
          GIT_AUTHOR_NAME: 'x',
          GIT_AUTHOR_EMAIL: 'x@example.com',
          GIT_COMMITTER_NAME: 'x',
          GIT_COMMITTER_EMAIL: 'x@example.com',
        },
        stdio: 'ignore',
      });
    };
    git('init', '-b', 'main');
    git('commit', '--allow-empty', '-m', 'first');
    git('clone', '--bare', work, path.join(root, 'project.git'));
    server = await GitServer.start(
      root,
      (user, password) => user === 'somebody' && Date.now() < (valid.get(password) ?? 0),
    );
  });
  afterAll(async () => {
    await server.stop();
  });

  /** A home whose own git has a helper that says in a file that it was asked. */
  function makeHostHome(): { home: string; asked: string } {
    const home = makeScratch();
    const asked = path.join(home, 'asked');
    const helper = `!f() { echo "$1" >> '${asked}'; echo username=somebody; echo password=of-the-host; }; f`;
    writeFileSync(
      path.join(home, '.gitconfig'),
      `[credential]\n\thelper = "${helper.replaceAll('"', '\\"')}"\n`,
    );
    return { home, asked };
  }

  const base = { PATH: '/usr/local/bin:/usr/bin:/bin', GIT_TERMINAL_PROMPT: '0' };

  function password(
    options: Partial<Parameters<typeof madeUpPassword>[1]> = {},
  ): ReturnType<typeof madeUpPassword> {
    const made = madeUpPassword(LIFE, {
      delivery: { by: 'process', for: 'git', url: server.url },
      lead,
      ...options,
    });
    const { mint } = made.source;
    return Object.assign(made, {
      source: {
        ...made.source,
        mint: async (context: Parameters<typeof mint>[0]) => {
          const minted = await mint(context);
          valid.set(minted.values['password'] ?? '', minted.expiresAt?.getTime() ?? Infinity);
          return minted;
        },
      },
    });
  }

  it('clones before and after an expiry, and never asks the helper of the host', async () => {
    const { home, asked } = makeHostHome();
    const target = makeScratch();
    const url = `${server.url}/project.git`;

    // Without us the helper of the host is asked: it would be seen.
    const plain = await run('git', ['clone', url, path.join(target, 'plain')], {
      ...contained,
      env: { ...base, HOME: home },
    });
    expect(plain.outcome.code).not.toBe(0);
    expect(existsSync(asked)).toBe(true);
    writeFileSync(asked, '');

    const made = password();
    const broker = createCredentialBroker({ runId, sources: [made.source] });
    const go = new PassThrough();
    server.requests.length = 0;
    const running = runWithCredentials(
      broker,
      'sh',
      ['-c', 'git clone "$1" "$2/a" && read -r go && git clone "$1" "$2/b"', 'sh', url, target],
      { ...contained, env: { ...base, HOME: home }, input: go, deadline: 60_000 },
    );
    await waitFor('the first clone', () => server.requests.length >= 3, 20_000);
    const used = server.requests.find(({ admitted }) => admitted)?.password ?? '';
    await waitFor('its expiry', () => Date.now() > (valid.get(used) ?? Infinity), 20_000);
    go.end('go\n');
    const report = await running;
    expect(report.outcome, report.output.stderr.text).toMatchObject({ kind: 'exited', code: 0 });
    expect(readdirSync(path.join(target, 'a'))).toEqual(['.git']);
    expect(readdirSync(path.join(target, 'b'))).toEqual(['.git']);
    const passwords = new Set(
      server.requests.flatMap((it) => (it.password === null ? [] : [it.password])),
    );
    expect(passwords.size).toBe(2);
    expect(server.requests.filter((it) => it.password !== null && !it.admitted)).toEqual([]);
    for (const one of passwords) expect(made.passwords).toContain(one);
    // Nobody wrote to it since.
    expect(execFileSync('cat', [asked], { encoding: 'utf8' })).toBe('');
    expect(report.credentials.fetches.map(({ outcome }) => outcome)).toEqual(['served', 'served']);
  });

  it('keeps what it was configured with by its environment', async () => {
    const broker = createCredentialBroker({ runId, sources: [password().source] });
    const env = {
      ...base,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'user.name',
      GIT_CONFIG_VALUE_0: 'made up',
    };
    const report = await runWithCredentials(
      broker,
      'git',
      ['config', '--get-regexp', '^(user.name|credential)'],
      { ...contained, env },
    );
    const lines = report.output.stdout.text.trimEnd().split('\n');
    expect(lines[0]).toBe('user.name made up');
    expect(lines[1]?.trimEnd()).toBe('credential.helper');
    expect(lines[2]).toContain(`credential.${server.url}.helper !`);
    expect(lines).toHaveLength(3);
  });

  it('is told at once where there is no password any more', async () => {
    const made = password();
    const target = makeScratch();
    const broker = createCredentialBroker({ runId, sources: [made.source] });
    const go = new PassThrough();
    broker.on('state', ({ state }) => {
      if (state === 'expired') go.end('go\n');
    });
    const running = runWithCredentials(
      broker,
      'sh',
      ['-c', 'read -r go; git clone "$1" "$2/a"', 'sh', `${server.url}/project.git`, target],
      { ...contained, env: { ...base, HOME: target }, input: go, deadline: 60_000 },
    );
    await running.started;
    made.failure = new Error('the forge is closed');
    const report = await running;
    expect(report.outcome.code).toBe(128);
    expect(report.output.stderr.text).toMatch(
      /sallyport: CredentialExpired: .*the forge is closed/,
    );
    expect(report.output.stderr.text).not.toContain('could not read Username');
  });

  it('finds a netrc in the home of the run', async () => {
    const home = makeScratch();
    const made = password({ delivery: netrcFile({ host: '127.0.0.1' }) });
    const broker = createCredentialBroker({ runId, sources: [made.source], home });
    mkdirSync(path.join(home, 'work'));
    const report = await runWithCredentials(
      broker,
      'git',
      ['clone', `${server.url}/project.git`, path.join(home, 'work/a')],
      { ...contained, env: { ...base, HOME: home } },
    );
    expect(report.outcome, report.output.stderr.text).toMatchObject({ kind: 'exited', code: 0 });
    expect(existsSync(path.join(home, '.netrc'))).toBe(false);
  });
});
