// `limits`: every resource limit, soft and hard, read back from the kernel.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { launch, spawn, type Child, type SpawnOptions } from '../../../src/index.js';
import { LIMITS, type LimitName } from '../../../src/plan/attributes.js';
import { fixture, makeScratch } from '../../support/fixtures.js';
import { inNode } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';
import { witness } from '../../support/witness.js';

/** The names of /proc/<pid>/limits. */
const LABELS: Record<LimitName, string> = {
  cpu: 'Max cpu time',
  fsize: 'Max file size',
  data: 'Max data size',
  stack: 'Max stack size',
  core: 'Max core file size',
  rss: 'Max resident set',
  nproc: 'Max processes',
  nofile: 'Max open files',
  memlock: 'Max locked memory',
  as: 'Max address space',
  locks: 'Max file locks',
  sigpending: 'Max pending signals',
  msgqueue: 'Max msgqueue size',
  nice: 'Max nice priority',
  rtprio: 'Max realtime priority',
  rttime: 'Max realtime timeout',
};
const names = Object.keys(LABELS) as LimitName[];

type Pair = [soft: string, hard: string];

function readLimits(pid: number | 'self'): Record<string, Pair> {
  const lines = readFileSync(`/proc/${pid}/limits`, 'latin1').split('\n');
  return Object.fromEntries(
    names.map((name) => {
      const line = lines.find((text) => text.startsWith(LABELS[name])) ?? '';
      const [soft = '', hard = ''] = line.slice(LABELS[name].length).trim().split(/\s+/);
      return [name, [soft, hard] satisfies Pair];
    }),
  );
}

const own = readLimits('self');

/** What a process may set that cannot raise a hard limit, and what a program can still run with. */
function settable(name: LimitName): { soft: number; hard: number } {
  const largest = own[name]![1] === 'unlimited' ? 2 ** 40 : Number(own[name]![1]);
  // None like another, and none like what is there.
  const hard = Math.max(0, Math.min(largest, 2 ** 33) - 1 - LIMITS[name]);
  return { soft: Math.max(0, Math.floor(hard / 2) - LIMITS[name]), hard };
}

async function limitsOf(child: Child): Promise<Record<string, Pair>> {
  const seen = readLimits(child.pid);
  child.kill('SIGKILL');
  await child.exited;
  return seen;
}

const holding = (options: SpawnOptions): Child =>
  spawn(witness, ['--quiet', '--hold'], { stdio: 'null', ...options });

describe('limits', () => {
  it('sets every one, soft and hard', async () => {
    const limits = Object.fromEntries(names.map((name) => [name, settable(name)]));
    const wanted = Object.fromEntries(
      Object.entries(limits).map(([name, { soft, hard }]) => [name, [`${soft}`, `${hard}`]]),
    );
    const child = holding({ limits });
    expect(await limitsOf(child)).toEqual(wanted);
    const later = await launch(witness, ['--quiet', '--hold'], { stdio: 'null', limits });
    expect(await limitsOf(later)).toEqual(wanted);
    const direct = holding({ limits, noNewPrivileges: false });
    expect(direct.plan.route.kind).toBe('direct');
    expect(await limitsOf(direct)).toEqual(wanted);
  });

  it.each(names)('sets %s alone, and leaves all others as ours', async (name) => {
    const { soft, hard } = settable(name);
    const child = holding({ limits: { [name]: { soft, hard } } });
    expect(await limitsOf(child)).toEqual({ ...own, [name]: [`${soft}`, `${hard}`] });
  });

  it('takes one value for both, and unlimited', async () => {
    const child = holding({ limits: { core: 4096, locks: { soft: 5, hard: 'unlimited' } } });
    const seen = await limitsOf(child);
    expect(seen).toMatchObject({ core: ['4096', '4096'], locks: ['5', 'unlimited'] });
    const soft = holding({ limits: { core: { soft: 'unlimited', hard: 'unlimited' } } });
    expect((await limitsOf(soft)).core).toEqual(['unlimited', 'unlimited']);
  });

  it('is plain to the program: it cannot open more, nor raise the limit again', async () => {
    const script = 'ulimit -n 100 2>/dev/null || echo refused; ulimit -Sn; ulimit -Hn';
    // Root may raise a hard limit, where it has CAP_SYS_RESOURCE.
    const options = process.getuid?.() === 0 ? { user: 65534, group: 65534 } : {};
    const child = spawn('/bin/sh', ['-c', script], { limits: { nofile: 20 }, ...options });
    const pieces: Buffer[] = [];
    for await (const piece of child.stdout) pieces.push(piece as Buffer);
    expect(Buffer.concat(pieces).toString()).toBe('refused\n20\n20\n');
  });

  it('does not hinder what is passed along', async () => {
    const child = spawn(fixture('exact_fds'), ['0', '1', '2', '300'], {
      stdio: 'null',
      pass: [{ fd: 0, as: 300 }],
      limits: { nofile: 8 },
    });
    // exact_fds opens a directory: 3 is free and below the limit.
    expect((await child.exited).code).toBe(0);
  });

  it('leaves this process alone', async () => {
    const child = holding({ limits: { core: 0, nofile: 30 } });
    child.kill('SIGKILL');
    await child.exited;
    expect(readLimits('self')).toEqual(own);
  });
});

needs('strace').it('the kernel is asked for each by its own number', async () => {
  const output = path.join(makeScratch(), 'limits.trace');
  await inNode(
    async ({ sallyport, fixture }, limits) => {
      const child = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null', limits });
      return (await child.exited).code;
    },
    Object.fromEntries(names.map((name) => [name, settable(name)])),
    { wrap: ['strace', '-f', '-qq', '-e', 'trace=prlimit64', '-o', output] },
  );
  // Node's own calls read into a pointer instead of NULL, or set its soft limit of open files.
  const calls = [...readFileSync(output, 'utf8').matchAll(/prlimit64\(0, (\w+), \{.*?, NULL/g)];
  const asked = calls.map(([, name]) => name);
  expect(asked.slice(-names.length)).toEqual(names.map((name) => `RLIMIT_${name.toUpperCase()}`));
});
