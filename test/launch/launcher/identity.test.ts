// `user`, `group`, `groups`: who the child is, and that it cannot be who we are.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { launch, spawn, type SpawnOptions } from '../../../src/index.js';
import { thrown } from '../../support/errors.js';
import { fixture, publicFixture } from '../../support/fixtures.js';
import { inNode } from '../../support/node-script.js';
import { readAll, readStatus } from '../../support/processes.js';
import { needs } from '../../support/tools.js';
import { readWitness, type Witness } from '../../support/witness.js';

const witness = publicFixture('witness');
const regain = publicFixture('regain');

const ask = (options: SpawnOptions): Promise<Witness> => readWitness(spawn(witness, [], options));

const numbers = (text: string): number[] => (text.trim().match(/\d+/g) ?? []).map(Number);
const idOf = (...args: string[]): number[] =>
  numbers(execFileSync('id', args, { encoding: 'utf8' }));
const ascending = (list: readonly number[]): number[] => [...list].sort((a, b) => a - b);

const all = <T>(id: T): [T, T, T] => [id, id, id];

needs('root').describe('as root', () => {
  const uid = 64_010;
  const gid = 64_011;

  it.each<[string, SpawnOptions, number, number, number[]]>([
    ['user and group by number', { user: uid, group: gid }, uid, gid, []],
    ['the highest numbers', { user: 4294967294, group: 4294967294 }, 4294967294, 4294967294, []],
    ['groups by number', { user: uid, group: gid, groups: [64_012, 7] }, uid, gid, [7, 64_012]],
    ['none of the groups', { user: uid, group: gid, groups: [] }, uid, gid, []],
    ['the same group among the groups', { user: uid, group: 7, groups: [7] }, uid, 7, [7]],
    ['group alone', { group: gid, groups: [] }, 0, gid, []],
    ['groups alone', { groups: [64_012] }, 0, 0, [64_012]],
    ['root by number', { user: 0, group: 0, groups: [] }, 0, 0, []],
  ])('%s: all three ids', async (_, options, user, group, groups) => {
    const expected = { uid: all(user), gid: all(group), groups };
    expect(await ask(options)).toMatchObject(expected);
    expect(await ask({ ...options, noNewPrivileges: false })).toMatchObject(expected);
    expect(await readWitness(await launch(witness, [], options))).toMatchObject(expected);
  });

  it('by name: the user, its own group, and no supplementary groups', async () => {
    const [nobody] = idOf('-u', 'nobody');
    const [own] = idOf('-g', 'nobody');
    const expected = { uid: all(nobody), gid: all(own), groups: [] };
    expect(await ask({ user: 'nobody' })).toMatchObject(expected);
    expect(await readWitness(await launch(witness, [], { user: 'nobody' }))).toMatchObject(
      expected,
    );
    // By number the database is asked for the group alone.
    expect(await ask({ user: nobody! })).toMatchObject(expected);
  });

  it('group by name, with a user and alone', async () => {
    const mail = numbers(execFileSync('getent', ['group', 'mail'], { encoding: 'utf8' }))[0]!;
    expect(await ask({ user: 'nobody', group: 'mail' })).toMatchObject({ gid: all(mail) });
    expect(await ask({ user: 64_010, group: 'mail' })).toMatchObject({
      gid: all(mail),
      groups: [],
    });
    expect(await ask({ group: 'mail' })).toMatchObject({ uid: all(0), gid: all(mail) });
  });

  it('root by name', async () => {
    expect(await ask({ user: 'root' })).toMatchObject({ uid: all(0), gid: all(0), groups: [] });
  });

  it("groups: 'init' is what id(1) says, of every user of this system", async () => {
    const users = readFileSync('/etc/passwd', 'utf8').match(/^[^:\n]+/gm) ?? [];
    expect(users.length).toBeGreaterThan(0);
    for (const user of users) {
      const seen = await ask({ user, groups: 'init' });
      expect(ascending(seen.groups), user).toEqual(ascending(idOf('-G', user)));
    }
  });

  it("groups: 'init' of a user in more groups than there is room for at first", async () => {
    const preload = { LD_PRELOAD: fixture('names.so') };
    const said = numbers(
      execFileSync('id', ['-G', 'crowd'], {
        encoding: 'utf8',
        env: { ...process.env, ...preload },
      }),
    );
    expect(said.length).toBe(41);
    const seen = await inNode(
      async ({ sallyport, processes }, program) => {
        const groupsOf = async (user: string | number) => {
          const child = await sallyport.launch(program, [], { user, groups: 'init' });
          const report = JSON.parse((await processes.readAll(child.stdout)).toString());
          return [report.uid[0], report.gid[0], ...report.groups] as number[];
        };
        return { byName: await groupsOf('crowd'), byNumber: await groupsOf(64_001) };
      },
      witness,
      { env: preload },
    );
    expect(seen.byName).toEqual([64_001, 64_002, ...said]);
    expect(seen.byNumber).toEqual(seen.byName);
  });

  it('the groups that this process has do not go along', async () => {
    const seen = await inNode(async ({ sallyport, processes, require }, program) => {
      const { setgroups } = process as Required<NodeJS.Process>;
      setgroups([64_020, 64_021]);
      const { spawnSync: run } = require('node:child_process') as typeof import('child_process');
      const control = run('id', ['-G'], { encoding: 'utf8' }).stdout;
      const child = sallyport.spawn(program, [], { user: 64_010, group: 64_011 });
      const report = JSON.parse((await processes.readAll(child.stdout)).toString());
      return { control, groups: report.groups as number[] };
    }, witness);
    expect(seen.control).toContain('64020 64021');
    expect(seen.groups).toEqual([]);
  });

  it('is seen from outside as well: all four ids of /proc/<pid>/status', async () => {
    const child = spawn(witness, ['--quiet', '--hold'], {
      stdio: 'null',
      user: uid,
      group: gid,
      groups: [64_012],
    });
    const { Uid, Gid, Groups } = readStatus(child.pid);
    child.kill('SIGKILL');
    await child.exited;
    expect(numbers(Uid!)).toEqual([uid, uid, uid, uid]);
    expect(numbers(Gid!)).toEqual([gid, gid, gid, gid]);
    expect(numbers(Groups!)).toEqual([64_012]);
  });

  it('as many groups as the kernel takes', async () => {
    const groups = Array.from({ length: 65_536 }, (_, index) => index + 100);
    const seen = await ask({ user: uid, group: gid, groups });
    expect(seen.groups).toEqual(groups);
  });

  it('we keep our ids, and so do all threads of ours', async () => {
    await ask({ user: uid, group: gid, groups: [] });
    await launch(witness, ['--quiet'], { stdio: 'null', user: 'nobody' });
    expect(await ask({})).toMatchObject({ uid: all(0), gid: all(0) });
    const uids = execFileSync('sh', ['-c', `cat /proc/${process.pid}/task/*/status | grep Uid:`]);
    expect(new Set(numbers(uids.toString().replaceAll('Uid', '')))).toEqual(new Set([0]));
  });
});

needs('root').describe('no way back', () => {
  const EPERM = 1;
  const refusals = {
    setgroups: EPERM,
    setgid: EPERM,
    setegid: EPERM,
    setresgid: EPERM,
    setuid: EPERM,
    seteuid: EPERM,
    setresuid: EPERM,
  };

  const tryAll = async (options: SpawnOptions): Promise<unknown> => {
    const child = spawn(regain, [], options);
    return JSON.parse((await readAll(child.stdout!)).toString());
  };

  it.each([true, false])('to root, with noNewPrivileges %s', async (noNewPrivileges) => {
    // The control: the same program as root gets all of it.
    expect(Object.values((await tryAll({})) as object)).toEqual(Array(7).fill(0));
    expect(await tryAll({ user: 64_010, group: 64_011, noNewPrivileges })).toEqual(refusals);
    expect(await tryAll({ user: 'nobody', groups: 'init', noNewPrivileges })).toEqual(refusals);
  });

  it('no capability is left', async () => {
    const seen = await ask({ user: 64_010, group: 64_011, noNewPrivileges: false });
    const none = '0000000000000000';
    expect(seen.status).toMatchObject({ CapPrm: none, CapEff: none, CapAmb: none });
  });

  needs('setpriv').it(
    'nor an ambient capability of a service that is not root itself',
    async () => {
      // As by AmbientCapabilities= of systemd.exec(5): capabilities that outlive an exec.
      const caps = '+setuid,+setgid';
      const service = [
        ...['setpriv', '--reuid=64010', '--regid=64010', '--clear-groups'],
        ...['--inh-caps', caps, '--ambient-caps', caps],
      ];
      expect(spawnSync(service[0]!, [...service.slice(1), regain]).stdout.toString()).toContain(
        '"setresuid":0',
      );
      const seen = await inNode(
        async ({ sallyport, processes }, { regain: program, witness: reporter }) => {
          const options = { user: 64_030, group: 64_031 };
          const tried = sallyport.spawn(program, [], options);
          const asked = sallyport.spawn(reporter, [], options);
          return {
            tried: JSON.parse((await processes.readAll(tried.stdout)).toString()) as unknown,
            report: JSON.parse((await processes.readAll(asked.stdout)).toString()) as Witness,
          };
        },
        { regain, witness },
        { wrap: service, publicly: true },
      );
      expect(seen.report.uid).toEqual(all(64_030));
      expect(seen.report.status.CapAmb).toBe('0000000000000000');
      expect(seen.tried).toEqual(refusals);
    },
  );
});

needs('another uid').describe('as another user', () => {
  it.each<[string, SpawnOptions, string]>([
    ['user, even our own', { user: 65_534, group: 65_534 }, 'groups'],
    ['groups', { groups: [] }, 'groups'],
    ['group', { group: 0 }, 'group'],
  ])('%s: refused, and nothing runs', async (_, options, stage) => {
    const seen = await inNode(
      ({ sallyport, storm, fixture }, given) => {
        try {
          sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null', ...given });
        } catch (error) {
          return { ...(error as object), children: storm.hasChildren() };
        }
        return undefined;
      },
      options,
      { unprivileged: true },
    );
    expect(seen).toMatchObject({
      code: 'EPERM',
      errno: -1,
      stage,
      stageSource: 'reported',
      children: false,
    });
  });
});

describe('names that are in no database', () => {
  it.each<[SpawnOptions, string, string]>([
    [{ user: 'no-such-user' }, 'user', 'no-such-user'],
    [{ user: 0, group: 'no-such-group' }, 'group', 'no-such-group'],
    [{ group: 'no-such-group' }, 'group', 'no-such-group'],
    [{ user: 64_099 }, 'user', '64099'],
    [{ user: 64_099, group: 1, groups: 'init' }, 'user', '64099'],
  ])('%j: named, before anything is started', async (options, stage, stagePath) => {
    const expected = { code: 'ENOENT', stage, stagePath, stageSource: 'reported', path: 'true' };
    expect(thrown(() => spawn('true', [], options))).toMatchObject(expected);
    await expect(launch('true', [], options)).rejects.toMatchObject(expected);
    const { message } = thrown(() => spawn('true', [], options));
    expect(message).toContain(`look up '${stagePath}'`);
    expect(message).toContain('give numbers');
  });
});
