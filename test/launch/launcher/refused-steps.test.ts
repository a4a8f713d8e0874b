// Each step that is refused names itself, and the program does not run.
import { describe, expect, it } from 'vitest';

import type { SpawnOptions } from '../../../src/index.js';
import { fixture } from '../../support/fixtures.js';
import { inNode, type ScriptOptions } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

interface Refusal {
  code: string;
  errno: number;
  syscall: string;
  path: string;
  stage: string;
  stagePath?: string;
  stageSource: string;
  message: string;
}

/** What spawn throws and launch rejects with, after they were seen to be the same. */
async function refusal(options: SpawnOptions, script: ScriptOptions = {}): Promise<Refusal> {
  const seen = await inNode(
    async ({ sallyport, storm, processes, scratch, require }, given) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const program: [string, string[]] = ['/bin/sh', ['-c', `: > '${scratch}/ran'`]];
      const all: SpawnOptions = { stdio: 'pipe', ...given };
      const describe = (error: unknown) => ({
        ...(error as Refusal),
        message: (error as Error).message,
      });
      // A lane more may start at any time, and takes one.
      const count = () => processes.listDescriptors().length - countLanes();
      const countLanes = () =>
        processes.listThreads().filter((name) => name === 'sallyport-lane').length;
      const attempt = async () => {
        const errors = [];
        try {
          sallyport.spawn(...program, all);
        } catch (error) {
          errors.push(describe(error));
        }
        await sallyport.launch(...program, all).catch((error: unknown) => {
          errors.push(describe(error));
        });
        return errors;
      };
      // Once before the count, so that lanes and all else are there.
      await attempt();
      const before = count();
      const errors = await attempt();
      // A lane that is about to start has its descriptors before its name.
      await processes.waitFor('nothing to be kept', () => count() === before);
      return {
        errors,
        ran: fs.existsSync(`${scratch}/ran`),
        children: storm.hasChildren(),
      };
    },
    options,
    script,
  );
  expect(seen).toMatchObject({ ran: false, children: false });
  const [first, second] = seen.errors;
  expect(seen.errors).toHaveLength(2);
  expect(second).toEqual(first);
  expect(first).toMatchObject({
    stageSource: 'reported',
    path: '/bin/sh',
    syscall: 'spawn /bin/sh',
  });
  return first!;
}

const asOther: ScriptOptions = { unprivileged: true };

needs('another uid').describe('as another user', () => {
  it.each<[string, SpawnOptions, Partial<Refusal>, string]>([
    [
      'a hard limit above ours',
      { limits: { core: 0, nofile: { soft: 10, hard: 2 ** 30 } } },
      { code: 'EPERM', stage: 'limits', stagePath: 'nofile' },
      "prlimit 'nofile': operation not permitted: raising a hard limit needs CAP_SYS_RESOURCE",
    ],
    [
      'a niceness below ours',
      { nice: -5 },
      { code: 'EACCES', stage: 'nice' },
      'setpriority: permission denied: a lower value than the present one needs CAP_SYS_NICE',
    ],
    [
      'realtime I/O',
      { ioPriority: { class: 'realtime' } },
      { code: 'EPERM', stage: 'ioPriority' },
      'ioprio_set: operation not permitted: class realtime needs CAP_SYS_NICE',
    ],
    [
      'a lower oom_score_adj',
      { oomScoreAdjust: -1000 },
      { code: 'EACCES', stage: 'oomScoreAdjust' },
      'write /proc/self/oom_score_adj: permission denied: a lower value',
    ],
    [
      'a user',
      { user: 1, group: 1 },
      { code: 'EPERM', stage: 'groups' },
      'setgroups: operation not permitted: changing groups needs CAP_SETGID',
    ],
    [
      'a group',
      { group: 1 },
      { code: 'EPERM', stage: 'group', stagePath: '1' },
      "setresgid '1': operation not permitted: changing the group needs CAP_SETGID",
    ],
    [
      'groups',
      { groups: [1] },
      { code: 'EPERM', stage: 'groups' },
      'setgroups: operation not permitted',
    ],
  ])('%s', async (_, options, fields, message) => {
    const error = await refusal(options, asOther);
    expect(error).toMatchObject(fields);
    expect(error.message).toContain(`spawn /bin/sh ${error.code}: ${message}`);
  });

  it('the first step that is refused is named, with those before it taken', async () => {
    const options: SpawnOptions = { nice: -5, limits: { nofile: 2 ** 30 }, groups: [] };
    expect((await refusal(options, asOther)).stage).toBe('nice');
    const { nice: _nice, ...others } = options;
    expect((await refusal(others, asOther)).stage).toBe('limits');
  });
});

describe('of anybody', () => {
  it('processors that are not there', async () => {
    const error = await refusal({ cpuAffinity: [8190, 8191] });
    expect(error).toMatchObject({ code: 'EINVAL', errno: -22, stage: 'cpuAffinity' });
    expect(error.message).toContain('none of these processors can be used here');
  });

  it('a terminal that is none', async () => {
    const error = await refusal({ terminal: 0, stdio: ['null', 'pipe', 'pipe'] });
    expect(error).toMatchObject({ code: 'ENOTTY', stage: 'terminal', stagePath: '0' });
    expect(error.message).toContain('TIOCSCTTY');
  });
});

// Steps that nobody is refused, but by a container's profile. Numbers of x86-64 and arm64.
const isArm = process.arch === 'arm64';
const CALLS = {
  setpriority: isArm ? 140 : 141,
  ioprio_set: isArm ? 30 : 251,
  sched_setaffinity: isArm ? 122 : 203,
  setgroups: isArm ? 159 : 116,
  setresgid: isArm ? 149 : 119,
  setresuid: isArm ? 147 : 117,
  // PR_SET_PDEATHSIG
  prctl: isArm ? '167:1' : '157:1',
};

describe('by a seccomp filter', () => {
  it.each<[keyof typeof CALLS, SpawnOptions, Partial<Refusal>]>([
    ['setpriority', { nice: 1 }, { stage: 'nice' }],
    ['ioprio_set', { ioPriority: { class: 'idle' } }, { stage: 'ioPriority' }],
    ['sched_setaffinity', { cpuAffinity: [0] }, { stage: 'cpuAffinity' }],
    ['setgroups', { groups: [] }, { stage: 'groups' }],
    ['setresgid', { group: 0 }, { stage: 'group', stagePath: '0' }],
    ['prctl', { dieWithParent: true }, { stage: 'dieWithParent' }],
  ])('%s', async (call, options, fields) => {
    const wrap = [fixture('seccomp_deny'), 'EPERM', String(CALLS[call]), '--'];
    const error = await refusal(options, { wrap });
    expect(error).toMatchObject({ code: 'EPERM', errno: -1, ...fields });
    expect(error.message).toContain(call);
  });

  needs('root').it('setresuid, with the groups changed already', async () => {
    const wrap = [fixture('seccomp_deny'), 'EPERM', String(CALLS.setresuid), '--'];
    const error = await refusal({ user: 64_010, group: 64_011 }, { wrap });
    expect(error).toMatchObject({ code: 'EPERM', stage: 'user', stagePath: '64010' });
    expect(error.message).toContain('changing the user needs CAP_SETUID');
  });

  it('memfd_create, which the launcher is told by', async () => {
    const memfdCreate = isArm ? 279 : 319;
    const wrap = [fixture('seccomp_deny'), 'EPERM', String(memfdCreate), '--'];
    const error = await refusal({ umask: 0o22 }, { wrap });
    expect(error).toMatchObject({ code: 'EPERM', stage: 'launcher' });
    expect(error.message).toBe(
      'spawn /bin/sh EPERM: instruct the launcher: operation not permitted',
    );
  });
});
