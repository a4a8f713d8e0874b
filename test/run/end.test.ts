// Ending a run: what is reached, how, and what the report says of it.
import { randomUUID } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';

import { run, type Run } from '../../src/index.js';
import { fixture } from '../support/fixtures.js';
import { hasEnded, listMarked, readStat, waitFor } from '../support/processes.js';
import { witness } from '../support/witness.js';
import { contained, expectNobody, runTree, ways } from './support.js';

const killed = { signal: 'SIGKILL', at: 'kill' };
const asked = { signal: 'SIGTERM', at: 'end' };

describe.each(ways)('containment %s', (method, containment) => {
  it('reaches members that ignore SIGTERM, are stopped, or have a group of their own', async () => {
    const { running, mark, pids } = runTree(['plain', 'ignore', 'stopped', 'group'], {
      containment,
      grace: 50,
    });
    const members = await pids;
    await waitFor('the stop', () => readStat(members.get('stopped') ?? 0)?.state === 'T');
    // All are there to be seen.
    expect(listMarked(mark)).toHaveLength(5);
    running.abort();
    const report = await running;
    await expectNobody(mark);
    expect(report.outcome).toMatchObject({ kind: 'aborted', signal: 'SIGTERM' });
    expect(report.cleanup).toMatchObject({ method, survivors: [], released: [] });
    expect(report.cleanup.signalled).toMatchObject([asked, killed]);
    expect(report.complete).toBe(false);
  });

  it('reaches a storm of forks', async () => {
    const { running, mark, pids } = runTree(['storm:20000', 'fan:20'], { containment, grace: 0 });
    await pids;
    running.abort();
    const report = await running;
    expect(report.cleanup.survivors).toEqual([]);
    await expectNobody(mark);
  });

  it('ends what is left when the target exits by itself', async () => {
    const script = 'sleep 30 >/dev/null 2>&1 & echo $!';
    const report = await run('sh', ['-c', script], { containment });
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    expect(report.output.stdout.end).toBe('eof');
    expect(report.cleanup.signalled).toMatchObject([asked]);
    expect(report.complete).toBe(true);
    expect(hasEnded(Number(report.output.stdout.text))).toBe(true);
  });

  it('is over where the scope of an await using ends', async () => {
    const { running, mark, pids } = runTree(['plain', 'group'], { containment });
    await pids;
    await running[Symbol.asyncDispose]();
    expect(listMarked(mark)).toEqual([]);
    expect((await running).outcome.kind).toBe('aborted');
  });

  it('disposal leaves a run that is over as it was, and never rejects', async () => {
    const over = run('true', [], { containment });
    await over;
    await over[Symbol.asyncDispose]();
    expect((await over).outcome.kind).toBe('exited');
    const mistaken = run('true', [], { containment, deadline: -1 });
    await mistaken[Symbol.asyncDispose]();
    await expect(mistaken).rejects.toThrow('deadline');
  });

  it('after the deadline, with SIGKILL after the grace', async () => {
    const report = await run(witness, ['--hold', '--ignore', '15'], {
      containment,
      deadline: 100,
      grace: 50,
    });
    expect(report.outcome).toMatchObject({ kind: 'deadline', code: null, signal: 'SIGKILL' });
    expect(report.cleanup.signalled).toMatchObject([asked, killed]);
  });

  it('leaves nothing where it is aborted while the program is being started', async () => {
    const mark = randomUUID();
    const abortSoon = (running: Run, index: number): void => {
      if (index % 3 === 0) running.abort();
      else if (index % 3 === 1) setImmediate(() => running.abort());
      else setTimeout(() => running.abort(), 1);
    };
    // One after the other: at some of these moments a program has just been started.
    for (let index = 0; index < 60; index++) {
      const running = run(fixture('tree'), [mark, 'plain'], { containment });
      abortSoon(running, index);
      const report = await running;
      expect(report.outcome.kind).toBe('aborted');
      expect(report.cleanup.survivors).toEqual([]);
    }
    await expectNobody(mark);
  });

  it('leaves a process that was released, and lists it', async () => {
    const { running, mark, pids } = runTree(['plain', 'ignore'], { containment, grace: 50 });
    const free = (await pids).get('ignore') ?? 0;
    running.release(free);
    running.abort();
    const report = await running;
    try {
      expect(report.cleanup).toMatchObject({ released: [free], survivors: [] });
      expect(listMarked(mark)).toEqual([free]);
    } finally {
      process.kill(free, 'SIGKILL');
    }
    await expectNobody(mark);
  });
});

const byGroup = { containment: 'group' } as const;

describe('containment group', () => {
  it('does not reach what has left the session, and says so', async () => {
    const { running, mark, pids } = runTree(['setsid', 'plain'], { ...byGroup, grace: 50 });
    const escaped = (await pids).get('setsid') ?? 0;
    running.abort();
    const report = await running;
    expect(listMarked(mark)).toEqual([escaped]);
    process.kill(escaped, 'SIGKILL');
    await expectNobody(mark);
    expect(report.notTested.join('\n')).toContain('descendants that left the session');
    expect(report.cleanup).toMatchObject({ method: 'group', survivors: [] });
    expect(report.cleanup.guarantee).toContain('what left both was not looked for');
    expect(report.cleanup.guarantee).not.toContain('every descendant');
  });

  it('is refused where the target would be in our own group', async () => {
    await expect(run('true', [], { ...byGroup, session: 'inherit' })).rejects.toMatchObject({
      code: 'ERR_SALLYPORT_INVALID_ARGUMENT',
      stagePath: 'session',
    });
  });

  it('with session group: reaches the group', async () => {
    const { running, mark, pids } = runTree(['ignore'], {
      ...byGroup,
      session: 'group',
      grace: 0,
    });
    await pids;
    running.abort();
    expect((await running).cleanup.survivors).toEqual([]);
    await expectNobody(mark);
  });
});

describe('abort', () => {
  it('before the start: nothing is started', async () => {
    const signal = AbortSignal.abort();
    const running = run('touch', ['/nowhere/at-all'], { ...contained, signal });
    expect(await running.started).toBeNull();
    expect((await running).outcome).toMatchObject({ kind: 'aborted', code: null, signal: null });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('while it is being started: it is taken back or ended', async () => {
    const controller = new AbortController();
    const running = run('sleep', ['60'], { ...contained, signal: controller.signal });
    controller.abort();
    const report = await running;
    expect(report.outcome.kind).toBe('aborted');
    expect(report.cleanup.survivors).toEqual([]);
  });

  it('leaves no listener on a signal', async () => {
    const { signal } = new AbortController();
    await run('true', [], { ...contained, signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

describe('stall', () => {
  it('no output and no progress: with evidence of each process', async () => {
    const report = await run('sh', ['-c', 'echo begun; sleep 60; :'], { ...contained, stall: 200 });
    expect(report.outcome).toMatchObject({ kind: 'stalled', signal: 'SIGTERM' });
    const { stall } = report.outcome;
    expect(stall?.silentMs).toBeGreaterThanOrEqual(200);
    expect(stall?.lastOutputMs).toBeGreaterThanOrEqual(200);
    expect(stall?.processes).toMatchObject([
      { state: 'S', cpuMs: 0 },
      { state: 'S', cpuMs: 0 },
    ]);
    expect(stall?.processes.map(({ executable }) => executable?.split('/').at(-1))).toContain(
      'sleep',
    );
  });

  it('not while it computes', async () => {
    const script = 'while :; do :; done';
    const report = await run('sh', ['-c', script], { ...contained, stall: 300, deadline: 1_200 });
    expect(report.outcome.kind).toBe('deadline');
    expect(report.outcome.stall).toBeUndefined();
  });

  it('not while it writes', async () => {
    const script = 'for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $n; sleep 0.1; done';
    const report = await run('sh', ['-c', script], { ...contained, stall: 1_000 });
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
  });
});

describe('the first reason counts', () => {
  it('a limit before a deadline', async () => {
    const report = await run('yes', [], {
      ...contained,
      deadline: 20_000,
      output: { maxBytes: 10 },
    });
    expect(report.outcome.kind).toBe('output-limit');
    expect(report.output.stdout).toMatchObject({ bytesKept: 10, omitted: { at: 10 } });
  });
});
