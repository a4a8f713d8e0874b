// Containment by a control group: where it may be made, what is in it, and that nothing is left of it.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { run, type ContainmentWish } from '../../src/index.js';
import { listCgroups, makeCgroup, markDelegated, removeCgroup } from '../support/cgroups.js';
import { fixture, makeScratch, root } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { listMarked, readStat, waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { expectNobody, runTree } from './support.js';

const unavailable = { code: 'ERR_SALLYPORT_NO_CONTAINMENT', stagePath: 'containment' };
const hard = ['plain', 'ignore', 'stopped', 'group', 'setsid', 'daemon', 'hidden'];

needs('cgroup v2').describe('in a group that was delegated', () => {
  let parent = '';
  let containment: ContainmentWish = 'cgroup';

  beforeAll(() => {
    parent = makeCgroup() ?? '';
    containment = { require: 'cgroup', cgroup: { parent } };
  });

  afterAll(() => {
    expect(listCgroups(parent)).toEqual([]);
    removeCgroup(parent);
  });

  it('the program is born in one of its own, and its init is not', async () => {
    const running = run('sh', ['-c', 'cat /proc/self/cgroup; cat /proc/$PPID/cgroup'], {
      containment,
    });
    const { output, cleanup, outcome, notTested } = await running;
    const groups = [...output.stdout.text.matchAll(/^0::(.*)$/gm)].map(([, group]) => group);
    expect(groups[0]).toMatch(new RegExp(`/${path.basename(parent)}/sallyport-\\d+-\\d+-\\d+$`));
    expect(groups[1]).toBe(/^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]);
    expect(cleanup).toMatchObject({ method: 'cgroup', survivors: [] });
    expect(cleanup.guarantee).toContain('the kernel');
    // Of those that the machine has no controller for nothing is said.
    expect(Object.keys(outcome.peak ?? {})).toEqual(['memory', 'pids', 'oomKills']);
    expect(notTested.join('\n')).toContain('containment cgroup');
    expect(listCgroups(parent)).toEqual([]);
  });

  it('what is left when its init is killed at once is ended by the group', async () => {
    // Hidden: of the run's session, group, pipes and parents nothing ties it to the run.
    const { running, mark, pids } = runTree([...hard, 'storm:2000', 'fan:10'], { containment });
    await pids;
    const init = readStat((await running.started) ?? 0)?.ppid ?? 0;
    process.kill(init, 'SIGKILL');
    const report = await running;
    expect(listMarked(mark)).toEqual([]);
    expect(report.outcome.kind).toBe('lost');
    expect(report.cleanup.survivors).toEqual([]);
    expect(report.cleanup.guarantee).toContain('control group');
    expect(listCgroups(parent)).toEqual([]);
  });

  it('groups that the program makes in it go with it', async () => {
    const script = `group=$1$(sed -n 's/^0:://p' /proc/self/cgroup | sed "s|.*/||")
      mkdir $group/inner && echo 0 > $group/inner/cgroup.procs && sleep 60 & wait`;
    const running = run('sh', ['-c', script, 'sh', `${parent}/`], { containment, grace: 50 });
    const inner = await waitFor('the inner group', () =>
      listCgroups(parent).find((name) => existsSync(path.join(parent, name, 'inner'))),
    );
    await waitFor('its member', () =>
      readFileSync(path.join(parent, inner, 'inner/cgroup.procs'), 'utf8'),
    );
    running.abort();
    expect((await running).cleanup.survivors).toEqual([]);
    expect(listCgroups(parent)).toEqual([]);
  });

  it('a released process is in it no longer', async () => {
    const { running, mark, pids } = runTree(['setsid', 'ignore'], { containment, grace: 50 });
    const free = (await pids).get('setsid') ?? 0;
    running.release(free);
    expect(readFileSync(`/proc/${free}/cgroup`, 'utf8')).not.toContain('sallyport-');
    running.abort();
    const { cleanup } = await running;
    expect(cleanup).toMatchObject({ released: [free], survivors: [] });
    expect(listMarked(mark)).toEqual([free]);
    process.kill(free, 'SIGKILL');
    await expectNobody(mark);
  });

  it('of a launch that fails nothing is left', async () => {
    const report = await run('/etc/passwd', [], { containment });
    expect(report.outcome).toMatchObject({ kind: 'spawn-failed', error: { code: 'EACCES' } });
    expect(listCgroups(parent)).toEqual([]);
  });

  it('what a killed parent leaves is removed by the next', async () => {
    const mark = randomUUID();
    const script = `const { run } = require(${JSON.stringify(root)});
      run(${JSON.stringify(fixture('tree'))}, ${JSON.stringify([mark, ...hard])}, {
        containment: ${JSON.stringify(containment)},
        output: { stdout: { to: (line) => line.startsWith('ready') && process.stdout.write('.') } },
      });`;
    const parentProcess = spawn(process.execPath, ['-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(parentProcess.stdout, 'data');
    const groups = listCgroups(parent);
    parentProcess.kill('SIGKILL');
    await once(parentProcess, 'exit');
    await waitFor('nobody with the mark', () => listMarked(mark).length === 0, 1_000);
    expect(groups).toHaveLength(1);
    expect(listCgroups(parent)).toEqual(groups);
    await inNode(
      async ({ sallyport }, wish) =>
        (await sallyport.run('true', [], { containment: wish })).complete,
      containment,
    );
    expect(listCgroups(parent)).toEqual([]);
  });

  it('a limit whose controller is missing is refused by its name', async () => {
    const controllers = readFileSync(path.join(parent, 'cgroup.controllers'), 'utf8');
    for (const [name, controller, value] of [
      ['memoryMax', 'memory', 1 << 20],
      ['pidsMax', 'pids', 10],
      ['cpuMax', 'cpu', 0.5],
    ] as const) {
      if (controllers.split(/\s/).includes(controller)) continue;
      const wish = { require: 'cgroup', cgroup: { parent, [name]: value } } as const;
      await expect(run('true', [], { containment: wish })).rejects.toMatchObject({
        ...unavailable,
        message: expect.stringContaining(`'${controller}', which is not delegated to ${parent}`),
      });
    }
    expect(listCgroups(parent)).toEqual([]);
  });

  needs('another uid').it('what this user may not make is refused', async () => {
    const [refusal, kind] = await inNode(
      async ({ sallyport }, place) => {
        const wish = { require: 'cgroup', cgroup: { parent: place } } as const;
        const error: unknown = await sallyport.run('true', [], { containment: wish }).catch(String);
        const preferred = { prefer: ['cgroup', 'init'], cgroup: { parent: place } } as const;
        const { cleanup } = await sallyport.run('true', [], { containment: preferred });
        return [error, cleanup.method];
      },
      parent,
      { unprivileged: true },
    );
    expect(refusal).toContain(`${parent} cannot be used (EACCES)`);
    expect(kind).toBe('init');
  });

  it('our own group is used where it bears the mark of having been delegated', async () => {
    const own = path.join(parent, 'own');
    mkdirSync(own);
    const ask = `const { run } = require(${JSON.stringify(root)});
      process.stdin.once('data', () => run('true', [], { containment: 'cgroup' }).then(
        ({ cleanup, complete }) => console.log(cleanup.method, complete),
        ({ code, message }) => console.log(code, message),
      ).then(() => process.exit()));`;
    const answers: string[] = [];
    for (const isMarked of [false, true]) {
      if (isMarked && !markDelegated(own, 'user.delegate')) continue;
      const child = spawn(process.execPath, ['-e', ask], { stdio: ['pipe', 'pipe', 'inherit'] });
      writeFileSync(path.join(own, 'cgroup.procs'), String(child.pid));
      child.stdin.write('go');
      const [answer] = (await once(child.stdout, 'data')) as [Buffer];
      answers.push(answer.toString().trim());
      await once(child, 'exit');
    }
    expect(answers[0]).toMatch(/^ERR_SALLYPORT_NO_CONTAINMENT .*own, which was not delegated/);
    expect(answers.slice(1).every((answer) => answer === 'cgroup true')).toBe(true);
    await waitFor('its end', () => readFileSync(path.join(own, 'cgroup.procs'), 'utf8') === '');
    removeCgroup(own);
  });
});

it('a directory that is no control group is refused', async () => {
  const parent = makeScratch();
  const containment = { require: 'cgroup', cgroup: { parent } } as const;
  await expect(run('true', [], { containment })).rejects.toMatchObject({
    ...unavailable,
    message: expect.stringContaining(`${parent} is no cgroup v2`),
  });
});

it.each<[string, object, string]>([
  ['containment.cgroup.parent', { require: 'cgroup', cgroup: { parent: 'here' } }, 'absolute'],
  ['containment.cgroup.parent', { require: 'cgroup', cgroup: { parent: '/a\0b' } }, 'absolute'],
  ['containment.cgroup.pidsMax', { require: 'cgroup', cgroup: { pidsMax: 0 } }, 'from 1'],
  ['containment.cgroup.cpuMax', { require: 'cgroup', cgroup: { cpuMax: 0 } }, 'processors'],
  ['containment.cgroup.memoryMax', { require: 'cgroup', cgroup: { memoryMax: 0.5 } }, 'bytes'],
  ['containment.cgroup', { require: 'init', cgroup: {} }, 'is for the method'],
  ['containment.cgroup', { prefer: ['cgroup', 'init'], cgroup: { pidsMax: 5 } }, 'would be lost'],
])('%s: a mistake rejects', async (stagePath, wish, message) => {
  await expect(run('true', [], { containment: wish as ContainmentWish })).rejects.toMatchObject({
    name: 'SallyportTypeError',
    stagePath,
    message: expect.stringContaining(message),
  });
});
