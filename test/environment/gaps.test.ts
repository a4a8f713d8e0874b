// reportGaps and `sallyport gaps`: each gap open where it is, and closed by what closes it.
import { spawnSync } from 'node:child_process';
import { chmodSync, closeSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import {
  createEnvironment,
  planLaunch,
  reportGaps,
  type Gap,
  type GapKind,
  type GapReport,
} from '../../src/index.js';
import { makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { copyPackage } from '../support/package-copy.js';
import { needs } from '../support/tools.js';
import { runCli } from '../cli/command-line.js';

const find = (report: GapReport, kind: GapKind, subject?: string): Gap => {
  const found = report.gaps.find(
    (gap) => gap.kind === kind && (subject === undefined || gap.subject.endsWith(subject)),
  );
  if (found === undefined) throw new Error(`no ${kind} ${subject ?? ''}`);
  return found;
};

interface Looked {
  code: number;
  text: string;
  report: GapReport;
}

type World = Record<'before' | 'unasked' | 'owner' | 'unshielded' | 'other' | 'planned', Looked> & {
  quiet: number;
  requests: string[];
};

const OWNER = '12345';
/** Of a home: for their owner only. */
const SECRET = [
  '.aws/credentials',
  '.netrc',
  '.ssh/id_ed25519',
  '.docker/config.json',
  '.kube/config',
  '.config/gh/hosts.yml',
  '.git-credentials',
  '.gitconfig',
] as const;
// In the databases, so that the group is known too.
const OTHER = '65534';

needs('unshare', 'setpriv', 'root').describe('on a host full of credentials, all made up', () => {
  let world: World;

  beforeAll(() => {
    const scratch = makeScratch();
    chmodSync(scratch, 0o755);
    const copy = copyPackage();
    const script = path.join(import.meta.dirname, 'world.cjs');
    const cli = path.join(copy, 'dist/cli/main.js');
    const args = [script, cli, scratch, OWNER, OTHER, JSON.stringify(SECRET)];
    const { stdout, stderr } = spawnSync(
      'unshare',
      ['--mount', '--net', process.execPath, ...args],
      { encoding: 'utf8', timeout: 50_000 },
    );
    if (stdout === '') throw new Error(stderr);
    expect(stderr).toBe('');
    world = JSON.parse(stdout) as World;
  });

  it('as their owner each is open, and the report says why', () => {
    const { report, code } = world.owner;
    expect(code).toBe(1);
    expect(report).toMatchObject({ version: 1, uid: 12345, gid: 12345 });
    for (const file of SECRET) {
      expect(find(report, 'disk', file)).toMatchObject({
        state: 'open',
        mechanism: null,
        reason: 'the run has the uid 12345 of its owner: it may read it',
      });
    }
    expect(find(report, 'ssh-agent', '/agent.7')).toMatchObject({
      state: 'open',
      reason:
        'the run has the uid 12345 of its owner: it may connect; 2 keys are loaded, and it signs with each',
    });
    expect(find(report, 'control-socket', '/run/docker.sock')).toMatchObject({
      state: 'open',
      reason: 'the run has the uid 12345 of its owner: it may connect to the Docker daemon',
    });
    expect(find(report, 'metadata')).toMatchObject({
      state: 'open',
      reason: 'the network of the run leads there, and HTTP status 401 answers',
    });
    expect(find(report, 'sibling')).toMatchObject({ state: 'open' });
    expect(find(report, 'cache', '/.rustup')).toMatchObject({
      state: 'open',
      reason: expect.stringContaining('granted to be read (rustup)') as string,
    });
  });

  it('as another user each is closed by uid', () => {
    const { report } = world.other;
    for (const [kind, subject] of [
      ...SECRET.map((file) => ['disk', file] as const),
      ['ssh-agent', 'agent.7'],
      ['control-socket', '/run/docker.sock'],
      ['cache', '/.rustup'],
    ] as const) {
      expect(find(report, kind, subject)).toMatchObject({
        state: 'closed',
        mechanism: 'uid',
        errno: 'EACCES',
        reason: expect.stringContaining('belongs to uid 12345') as string,
      });
    }
    // What everybody may read is open for it as well.
    expect(find(report, 'disk', '.npmrc')).toMatchObject({
      state: 'open',
      reason: 'everybody may (mode 0644): it may read it',
    });
  });

  it('so it is for a run with another user than the one who looks', () => {
    const { report } = world.planned;
    expect(report.uid).toBe(65534);
    for (const kind of [
      'parent-environment',
      'parent-descriptors',
      'parent-sockets',
      'ptrace',
    ] as const)
      expect(find(report, kind)).toMatchObject({ state: 'closed', mechanism: 'uid' });
    expect(find(report, 'disk', '.aws/credentials')).toMatchObject({ mechanism: 'uid' });
  });

  it('the parent is closed by its shield, and open without it', () => {
    for (const kind of [
      'parent-environment',
      'parent-descriptors',
      'parent-sockets',
      'ptrace',
    ] as const) {
      expect(find(world.owner.report, kind)).toMatchObject({
        state: 'closed',
        mechanism: 'shield',
      });
      expect(find(world.unshielded.report, kind)).toMatchObject({
        state: 'open',
        reason: 'it has the same uid 12345, and is not shielded',
      });
    }
  });

  it('metadata is looked at only when asked for, and closed where nobody answers', () => {
    expect(find(world.unasked.report, 'metadata')).toMatchObject({ state: 'not-probed' });
    expect(world.quiet).toBe(0);
    expect(world.requests).toEqual(['/', '/']);
    expect(find(world.before.report, 'metadata')).toMatchObject({
      state: 'closed',
      mechanism: 'network',
      errno: 'ECONNREFUSED',
    });
  });

  it('no credential is in any report', () => {
    for (const name of ['before', 'owner', 'other', 'planned'] as const)
      expect(world[name].text).not.toContain('made-up-secret');
  });
});

describe('reportGaps', () => {
  it('the table is that of the plan, by options and by plan', async () => {
    const fd = openSync('/etc/hosts', 'r');
    const options = { pass: [{ fd, as: 7 }] };
    const held = 'it holds 0, 1, 2, 7, which the plan names';
    expect(find(await reportGaps({ options }), 'descriptors')).toMatchObject({
      state: 'closed',
      mechanism: 'descriptor-table',
      reason: held,
    });
    const plan = planLaunch('/bin/true', [], options);
    expect(find(await reportGaps({ plan }), 'descriptors').reason).toBe(held);
    closeSync(fd);
    // What the plan described is gone, and another object may have its number.
    expect(find(await reportGaps({ plan }), 'descriptors').reason).toBe(
      'it holds 0, 1, 2, which the plan names',
    );
  });

  it('a socket of an agent that nobody serves is closed by absence', async () => {
    const scratch = makeScratch();
    const socket = path.join(scratch, 'agent');
    spawnSync('python3', [
      '-c',
      'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])',
      socket,
    ]);
    process.env['SSH_AUTH_SOCK'] = socket;
    try {
      expect(find(await reportGaps(), 'ssh-agent', socket)).toMatchObject({
        state: 'closed',
        mechanism: 'absence',
        errno: 'ECONNREFUSED',
      });
    } finally {
      delete process.env['SSH_AUTH_SOCK'];
    }
  });

  it('files that a variable of ours names are looked at', async () => {
    const file = path.join(makeScratch(), 'config');
    writeFileSync(file, '');
    process.env['KUBECONFIG'] = `/no/such:${file}`;
    try {
      const report = await reportGaps();
      expect(find(report, 'disk', file).state).toBe('open');
      expect(report.gaps.some(({ subject }) => subject === '/no/such')).toBe(false);
    } finally {
      delete process.env['KUBECONFIG'];
    }
  });

  it('is found under the conditions of the run: environment, directory, limits, privileges', async () => {
    const report = await reportGaps({
      options: {
        // The probe obeys no variable: nothing here keeps it from its work.
        env: createEnvironment({ set: { LD_PRELOAD: '/no/such.so', NODE_OPTIONS: '--bad' } }),
        cwd: '/',
        session: 'inherit',
        noNewPrivileges: false,
        limits: { nofile: 16, core: 0 },
        umask: 0o77,
      },
    });
    expect(find(report, 'descriptors').state).toBe('closed');
  });

  it('leaves no process and no descriptor', async () => {
    const left = await inNode(async ({ sallyport, processes }) => {
      await sallyport.reportGaps();
      const before = processes.countBesidesSockets();
      for (let round = 0; round < 5; round += 1) await sallyport.reportGaps();
      await processes.waitFor(
        'the same descriptors',
        () => processes.countBesidesSockets() === before,
      );
      return processes.listChildren();
    }, null);
    expect(left).toEqual([]);
  });

  it('limits that the probe does not survive are told', async () => {
    const failed = await reportGaps({ options: { limits: { as: 1 } } }).catch((it: unknown) => it);
    expect((failed as Error).message).toMatch(/probe was ended by SIG(SEGV|KILL)/);
  });

  it.each([
    [{ plan: {} }, 'plan'],
    [{ plan: planLaunch('/bin/true'), options: {} }, 'options'],
    [{ options: 5 }, 'options'],
    [{ probe: true }, 'options.probe'],
  ])('%j is a mistake', async (options, position) => {
    const failed = await reportGaps(options as never).catch((it: unknown) => it);
    expect(failed).toBeInstanceOf(TypeError);
    expect((failed as Error).message).toContain(position);
  });

  it('what a launch of the run would be refused with is what this is refused with', async () => {
    const failed = await reportGaps({ options: { cwd: '/no/such' } }).catch((it: unknown) => it);
    expect(failed).toMatchObject({ code: 'ENOENT', stage: 'cwd' });
  });

  it('works for who is nobody', async () => {
    const uid = await inNode(async ({ sallyport }) => (await sallyport.reportGaps()).uid, null, {
      unprivileged: true,
    });
    expect(uid).toBe(process.getuid?.() === 0 ? 65534 : process.getuid?.());
  });

  needs('root').it('and for a run whose user cannot reach this package', () => {
    const copy = copyPackage();
    chmodSync(copy, 0o700);
    const script = `
const { reportGaps } = require(${JSON.stringify(copy)});
reportGaps({ options: { user: 65534 } }).then(({ uid }) => console.log(uid));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect({ stdout, stderr }).toEqual({ stdout: '65534\n', stderr: '' });
    const denied = spawnSync('ls', [copy], { uid: 65534, encoding: 'utf8' });
    expect(denied.status).not.toBe(0);
  });
});

describe('sallyport gaps', () => {
  it('prints one line for each', async () => {
    const { stdout, stderr, code } = await runCli(['gaps'], { env: { HOME: '/no/such' } });
    expect({ stderr, code }).toEqual({ stderr: '', code: 1 });
    expect(stdout).toMatch(/^A run as uid \d+, gid \d+: \d+ of \d+ are open\n/);
    expect(stdout).toMatch(
      /^disk +\/no\/such\/\.aws\/credentials +closed by absence: there is none/m,
    );
    expect(stdout).toMatch(
      /^metadata +169\.254\.169\.254:80 +not looked at: write --probe-metadata/m,
    );
    expect(stdout).toMatch(/^sibling .*open because /m);
    expect(stdout).toContain('Not tested:\n');
  });

  needs('root').it('--user', async () => {
    const { stdout } = await runCli(['gaps', '--user', 'nobody', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ uid: 65534 });
    expect((await runCli(['gaps', '--user', 'no-such-user-here'])).code).toBe(125);
  });
});
