// A child that holds before its exec: what is seen of it is what it gets, and it runs only as planned.
import {
  chmodSync,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { launch, spawn, type SpawnOptions } from '../../../src/index.js';
import { fixture, loadStorm, makeScratch } from '../../support/fixtures.js';
import { inNode } from '../../support/node-script.js';
import { copyPackage, launcherOf } from '../../support/package-copy.js';
import { needs } from '../../support/tools.js';
import { readWitness, witness } from '../../support/witness.js';

describe('what is seen is what the child has', () => {
  const cases: Record<string, SpawnOptions> = {
    'a plain table': {},
    'pipes, merged': { stdio: ['pipe', 'pipe', 'stdout'] },
    'a pass list': { pass: [{ fd: openSync('/etc/hosts', 'r'), as: 9 }] },
    'another directory and session': { cwd: '/', session: 'group' },
    'our session': { session: 'inherit' },
    'a step of the launcher': { umask: 0o27, nice: 3 },
    'new privileges': { noNewPrivileges: false },
  };
  it.each(Object.entries(cases))('%s', async (_name, options) => {
    const all: SpawnOptions = {
      stdio: ['null', 'pipe', 'null'],
      env: { ONE: '1', TWO: 'secret-value' },
      verify: 'at-exec',
      ...options,
    };
    for (const start of [launch, async (...call: Parameters<typeof launch>) => spawn(...call)]) {
      const child = await start(witness, [], all);
      const told = await readWitness(child);
      const { evidence } = child;
      expect(evidence).toMatchObject({
        when: 'at-exec',
        pid: told.pid,
        differences: [],
        unread: null,
        environmentNames: ['ONE', 'TWO'],
      });
      expect(evidence?.facts).toMatchObject({
        session: String(told.sid),
        processGroup: String(told.pgid),
        cwd: told.cwd,
        noNewPrivileges: told.status.NoNewPrivs,
        openFiles: 'compared',
      });
      expect(JSON.stringify(evidence)).not.toContain('secret-value');
      const own = (link: string): boolean => link.startsWith('/proc/');
      expect(evidence?.descriptors.map(({ target, inode }) => [target, inode])).toEqual(
        told.descriptors.filter(({ link }) => !own(link)).map(({ fd, ino }) => [fd, ino]),
      );
      expect(child.plan.route.reasons.join()).toContain('verify');
      await child.exited;
    }
  });

  needs('root').it('another user, by a parent that may trace it', async () => {
    const child = await launch('/bin/true', [], { verify: 'at-exec', user: 65534, stdio: 'null' });
    expect(child.evidence?.facts).toMatchObject({ uids: '65534 65534 65534 65534', groups: '' });
    expect((await child.exited).code).toBe(0);
  });

  it('listeners, whose variables only the launcher can complete; and many variables', async () => {
    const storm = loadStorm();
    const { fd } = storm.listenInheritable();
    const many = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, index) => [`V${index}`, 'x'.repeat(100)]),
    );
    const child = await launch(witness, [], {
      stdio: ['null', 'pipe', 'null'],
      env: many,
      listeners: [{ fd, name: 'web' }],
      verify: 'at-exec',
    });
    const told = await readWitness(child);
    expect(told.environment).toContainEqual(['LISTEN_PID', String(told.pid)]);
    expect(child.evidence?.environmentNames).toEqual(told.environment.map(([name]) => name).sort());
    expect(child.evidence?.descriptors[3]).toMatchObject({ target: 3, kind: 'socket' });
    await child.exited;
    storm.closeFd(fd);
  });

  it('without verify nobody looks', async () => {
    const child = await launch('/bin/true', [], { stdio: 'null' });
    expect(child.evidence).toBeNull();
    await child.exited;
  });

  needs('root').it('of a parent whose effective group is not its real one', async () => {
    // exec makes the saved id of a program what its effective one is: not so in the parent.
    const gids = await inNode(async ({ sallyport }) => {
      process.setegid!(65534);
      const options = { stdio: 'null', env: {}, verify: 'at-exec' } as const;
      const children = [
        await sallyport.launch('/bin/true', [], options),
        sallyport.spawn('/bin/true', [], { ...options, noNewPrivileges: false }),
      ];
      for (const { exited } of children) await exited;
      return children.map(({ evidence }) => evidence?.facts['gids']);
    }, {});
    expect(gids).toEqual(['0 65534 65534 65534', '0 65534 65534 65534']);
  });
});

describe('a child that is not as planned never runs', () => {
  const meddled = (what: string, own = false): Promise<Record<string, unknown>> => {
    const copy = copyPackage();
    const launcher = launcherOf(copy);
    copyFileSync(launcher, path.join(path.dirname(launcher), 'launcher'));
    copyFileSync(fixture('meddler'), launcher);
    chmodSync(launcher, 0o755);
    writeFileSync(path.join(path.dirname(launcher), 'meddle'), what);
    return inNode(
      async ({ storm, scratch, require }, given) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const sallyport = require(given.copy) as typeof import('../../../src/index.js');
        const fd = fs.openSync(`${scratch}/object`, 'w+');
        const readable = fs.openSync(`${scratch}/object`, 'r');
        const seen: Record<string, unknown> = {};
        for (const noNewPrivileges of [true, false]) {
          const tell = (outcome: unknown): void => {
            seen[String(noNewPrivileges)] = outcome;
          };
          try {
            const child = sallyport.spawn('/bin/sh', ['-c', `: > '${scratch}/ran'`], {
              stdio: ['null', 'pipe', 'null'],
              noNewPrivileges,
              pass: [{ fd: readable, as: 5 }],
              ...(given.own ? {} : { verify: 'at-exec' as const }),
            });
            tell((await child.exited).code);
          } catch (error) {
            const { code, stage, differences } = error as Record<string, unknown>;
            tell({ code, stage, differences });
          }
        }
        fs.closeSync(fd);
        return { ...seen, ran: fs.existsSync(`${scratch}/ran`), children: storm.hasChildren() };
      },
      { copy, own },
      { deadline: 20_000 },
    );
  };

  const refusal = (difference: string): unknown => ({
    code: 'ERR_SALLYPORT_NOT_AS_PLANNED',
    stage: 'verify',
    differences: expect.arrayContaining([expect.objectContaining({ path: difference })]) as unknown,
  });

  it.each([
    ['extra', 'descriptors.90'],
    ['object', 'descriptors.5'],
    ['access', 'descriptors.5.access'],
    ['again', 'descriptors.5.openFile'],
    ['closed', 'descriptors.5'],
    ['stdin', 'descriptors.0'],
    ['stdout', 'descriptors.1'],
    ['socket', 'descriptors.5'],
    ['cwd', 'directory'],
  ])('%s', async (what, difference) => {
    expect(await meddled(what)).toEqual({
      true: refusal(difference),
      false: refusal(difference),
      ran: false,
      children: false,
    });
  });

  it('the control: the same launcher without a change lets it run, and without verify so does a changed one', async () => {
    expect(await meddled('nothing')).toMatchObject({ true: 0, false: 0, ran: true });
    expect(await meddled('extra', true)).toMatchObject({ true: 0, false: 0, ran: true });
  });
});

describe('in a table that is shared', () => {
  it('the same is seen, by each route', async () => {
    const seen = await inNode(
      async ({ sallyport, require }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const pass = [{ fd: fs.openSync('/etc/hosts', 'r'), as: 30 }];
        const outcomes = [];
        for (const noNewPrivileges of [true, false]) {
          for (const call of ['spawn', 'launch'] as const) {
            const options = { verify: 'at-exec', stdio: 'null', pass, noNewPrivileges } as const;
            const child = await sallyport[call]('/bin/true', [], options);
            const { code } = await child.exited;
            const targets = child.evidence?.descriptors.map(({ target }) => target);
            outcomes.push([child.plan.route.kind, code, targets]);
          }
        }
        return outcomes;
      },
      null,
      { wrap: [fixture('seccomp_deny'), 'EPERM', 'close_range,unshare', '--'] },
    );
    const targets = [0, 1, 2, 30];
    expect(seen).toEqual([
      ['thread', 0, targets],
      ['thread', 0, targets],
      ['direct', 0, targets],
      ['thread', 0, targets],
    ]);
  });
});

describe('what cannot be looked at does not run', () => {
  needs('root').it('a child of another user, by a parent that may not trace it', async () => {
    const seen = await inNode(
      async ({ sallyport, storm, scratch, require }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const error = await sallyport
          .launch('/bin/sh', ['-c', `: > '${scratch}/ran'`], {
            stdio: 'null',
            user: 65534,
            verify: 'at-exec',
          })
          .then(
            () => null,
            (refused: unknown) => refused as Record<string, unknown>,
          );
        return {
          code: error?.['code'],
          stage: error?.['stage'],
          message: String((error as unknown as Error | null)?.message),
          ran: fs.existsSync(`${scratch}/ran`),
          children: storm.hasChildren(),
        };
      },
      null,
      { wrap: ['setpriv', '--bounding-set', '-sys_ptrace', '--inh-caps', '-sys_ptrace', '--'] },
    );
    expect(seen).toMatchObject({
      code: 'ERR_SALLYPORT_UNVERIFIABLE',
      stage: 'verify',
      ran: false,
      children: false,
    });
    expect(seen.message).toContain('CAP_SYS_PTRACE');
  });
});

it('where the memory of a child may not be read it does not run', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, scratch, require }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const options = { stdio: 'null', verify: 'at-exec' } as const;
      const error = await sallyport.launch('/bin/sh', ['-c', `: > '${scratch}/ran'`], options).then(
        () => null,
        (refused: unknown) => refused as Record<string, unknown>,
      );
      return {
        code: error?.['code'],
        stagePath: String(error?.['stagePath']),
        ran: fs.existsSync(`${scratch}/ran`),
        children: storm.hasChildren(),
      };
    },
    null,
    { wrap: [fixture('seccomp_deny'), 'EPERM', 'process_vm_readv', '--'] },
  );
  expect(seen).toMatchObject({ code: 'ERR_SALLYPORT_UNVERIFIABLE', ran: false, children: false });
  expect(seen.stagePath).toMatch(/^\/proc\/\d+\/mem$/);
});

describe('the program', () => {
  it('the evidence names the file that runs, not the one of before', async () => {
    const scratch = makeScratch();
    const file = path.join(scratch, 'program');
    copyFileSync('/bin/true', file);
    chmodSync(file, 0o755);
    const before = await launch(file, [], { stdio: 'null', verify: 'at-exec' });
    const named = before.evidence?.facts['executable'];
    expect((await before.exited).code).toBe(0);
    copyFileSync('/bin/false', `${file}.new`);
    chmodSync(`${file}.new`, 0o755);
    renameSync(`${file}.new`, file);
    const after = await launch(file, [], { stdio: 'null', verify: 'at-exec' });
    expect(after.evidence?.facts['executable']).not.toBe(named);
    expect((await after.exited).code).toBe(1);
    expect(readFileSync(file)).toEqual(readFileSync('/bin/false'));
  });
});

it('a directory that leads nowhere fails as it does without a look', async () => {
  const loop = path.join(makeScratch(), 'loop');
  symlinkSync('loop', loop);
  for (const verify of [undefined, 'at-exec', 'after-exec'] as const) {
    const options = {
      stdio: 'null',
      cwd: loop,
      ...(verify === undefined ? {} : { verify }),
    } as const;
    await expect(launch('/bin/true', [], options)).rejects.toMatchObject({
      code: 'ELOOP',
      stage: 'cwd',
      stagePath: loop,
    });
  }
});

it('a later look says that it is one', async () => {
  const child = await launch('/bin/sleep', ['10'], { stdio: 'null', verify: 'after-exec' });
  expect(child.evidence).toMatchObject({ when: 'after-exec', differences: [], unread: null });
  expect(child.evidence?.descriptors.map(({ target }) => target)).toEqual([0, 1, 2]);
  expect(child.plan.route.launcher).toBe(false);
  child.kill('SIGKILL');
  await child.exited;
});
