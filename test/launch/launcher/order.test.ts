// The order of the steps: what needs privileges before they are given up, what an id change clears after it.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';

import { spawn } from '../../../src/index.js';
import { makeScratch, publicFixture } from '../../support/fixtures.js';
import { inNode } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';
import { readWitness } from '../../support/witness.js';

const SIGKILL = 9;

needs('root').it('limits are raised as root for a user who may not', async () => {
  const { witness, seen } = await inNode(async ({ sallyport, storm, processes }, program) => {
    storm.setSoftLimit('nofile', 100);
    const child = sallyport.spawn(program, [], {
      user: 64_010,
      group: 64_011,
      limits: { nofile: { soft: 200, hard: 200 } },
    });
    const report = JSON.parse((await processes.readAll(child.stdout)).toString());
    return { witness: report.uid[0] as number, seen: report.limits.nofile as string[] };
  }, publicFixture('witness'));
  expect(witness).toBe(64_010);
  expect(seen).toEqual(['200', '200']);
});

needs('root', 'raised priority').it(
  'priorities of root, groups and a signal at our end, for a user without rights',
  async () => {
    const child = spawn(publicFixture('witness'), [], {
      // Written in the wrong order on purpose.
      dieWithParent: true,
      groups: [64_012],
      group: 64_011,
      user: 64_010,
      ioPriority: { class: 'realtime', level: 2 },
      nice: -7,
      limits: { nproc: 50 },
    });
    expect(await readWitness(child)).toMatchObject({
      uid: [64_010, 64_010, 64_010],
      gid: [64_011, 64_011, 64_011],
      groups: [64_012],
      nice: -7,
      ioPriority: (1 << 13) | 2,
      deathSignal: SIGKILL,
      limits: { nproc: ['50', '50'] },
    });
  },
);

/** Calls of the steps, in the order of src/plan/steps.ts. */
const STEPS = [
  'oom_score_adj',
  'setpriority',
  'ioprio_set',
  'sched_setaffinity',
  'TIOCSCTTY',
  'umask',
  'RLIMIT_CORE',
  'setgroups',
  'setresgid',
  'setresuid',
  'PR_SET_PDEATHSIG',
  'exit_fast',
];

needs('root', 'strace').it('as the kernel sees it', async () => {
  const output = path.join(makeScratch(), 'steps.trace');
  const code = await inNode(
    async ({ sallyport, storm }, { program }) => {
      const [, tty = -1] = storm.makeInheritable('terminal');
      const child = sallyport.spawn(program, [], {
        stdio: ['null', 'null', 'null'],
        pass: [{ fd: tty, as: 5 }],
        dieWithParent: true,
        user: 64_010,
        group: 64_011,
        groups: [],
        limits: { core: 0 },
        umask: 0,
        terminal: 5,
        cpuAffinity: Array.from({ length: 1024 }, (_, cpu) => cpu),
        ioPriority: { class: 'idle' },
        nice: 1,
        oomScoreAdjust: 1000,
      });
      return (await child.exited).code;
    },
    { program: publicFixture('exit_fast') },
    { wrap: ['strace', '-f', '-qq', '-s', '4096', '-o', output] },
  );
  expect(code).toBe(0);
  const lines = readFileSync(output, 'utf8').split('\n');
  const start = lines.findIndex((line) => /execve\("[^"]*sallyport-launcher"/.test(line));
  const pid = lines[start]?.split(' ')[0] ?? '';
  const own = lines.slice(start + 1).filter((line) => line.startsWith(`${pid} `));
  const seen = own.flatMap((line) => STEPS.filter((step) => line.includes(step)));
  expect(seen).toEqual(STEPS);
  // Nothing else than these, its two descriptors and the parent's number.
  const calls = own.map((line) => /^\d+ +(\w+)\(/.exec(line)?.[1]).filter(Boolean);
  const expected = new Set([
    ...['fcntl', 'lseek', 'mmap', 'close', 'openat', 'write', 'getppid', 'prctl', 'ioctl'],
    ...['setpriority', 'ioprio_set', 'sched_setaffinity', 'umask', 'prlimit64', 'execve'],
    ...['setgroups', 'setresgid', 'setresuid', 'exit_group'],
  ]);
  expect([...new Set(calls)].filter((call) => !expected.has(call!))).toEqual([]);
});
