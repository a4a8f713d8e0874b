// Launches that are refused for want of descriptors or processes, before there is a lane and later.
import { describe, expect, it } from 'vitest';

import { inNode } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

describe('for want of', () => {
  it('descriptors, while launches are queued: each rejects with EMFILE or has its child', async () => {
    const seen = await inNode(async ({ sallyport, storm, root, fixture, require }) => {
      const { startLanes, watchDescriptors } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../../support/lanes.cjs');
      // With pipes: libuv keeps a descriptor from its first stream on.
      await startLanes(sallyport.launch, fixture('exit_fast'), { stdio: 'pipe' });
      const watch = watchDescriptors();
      storm.setSoftLimit('nofile', 128);
      // Their pipes are opened when a lane gets to them: by then there is no room.
      const launches = Array.from({ length: 300 }, () =>
        sallyport.launch(fixture('exit_fast'), [], { stdio: 'pipe' }),
      );
      const opened: number[] = [];
      try {
        for (;;) opened.push(storm.openInheritable('/etc/hosts'));
      } catch {
        // Full.
      }
      const outcomes = new Map<string, number>();
      let running = 0;
      for (const outcome of await Promise.allSettled(launches)) {
        if (outcome.status === 'fulfilled') {
          running += 1;
          await outcome.value.exited;
          outcome.value[Symbol.dispose]();
          if (outcome.value.exitCode !== 0) outcomes.set('wrong', 1);
        } else {
          const { code, stage } = outcome.reason as { code: string; stage: string };
          outcomes.set(`${code} ${stage}`, (outcomes.get(`${code} ${stage}`) ?? 0) + 1);
        }
      }
      for (const fd of opened) storm.closeFd(fd);
      // A stream that is done with is closed a little later.
      await watch.settle();
      return {
        outcomes: [...outcomes.keys()],
        settled: running + (outcomes.get('EMFILE descriptor') ?? 0),
        more: watch.more(),
        children: storm.hasChildren(),
        again: (await (await sallyport.launch(fixture('exit_fast'))).exited).code,
      };
    }, null);
    expect(seen).toEqual({
      outcomes: ['EMFILE descriptor'],
      settled: 300,
      more: 0,
      children: false,
      again: 0,
    });
  });

  it('descriptors for the first lane: EMFILE with advice, and later it works', async () => {
    const seen = await inNode(async ({ sallyport, storm, fixture, root, require }) => {
      // Loads the addon, and fails before a lane is needed.
      await sallyport.launch('no-such-program').catch(() => undefined);
      const { listLanes } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../../support/lanes.cjs');
      const lanes = listLanes().length;
      storm.setSoftLimit('nofile', 64);
      const opened: number[] = [];
      try {
        for (;;) opened.push(storm.openInheritable('/etc/hosts'));
      } catch {
        // Full.
      }
      const attempt = async () => {
        try {
          await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
          return { code: 'started', stage: '', message: '' };
        } catch (error) {
          const { code, stage, message } = error as {
            code: string;
            stage: string;
            message: string;
          };
          return { code, stage, message };
        }
      };
      const close = () => {
        const fd = opened.pop();
        if (fd !== undefined) storm.closeFd(fd);
      };
      const full = await attempt();
      // One more each time: what an attempt has opened by then, it must give back.
      const refused: string[] = [];
      for (;;) {
        close();
        const { code, stage } = await attempt();
        if (code === 'started') break;
        refused.push(`${code} ${stage}`);
      }
      for (let more = 0; more < 20; more++) close();
      const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
      return { lanes, full, refused, code: (await child.exited).code };
    }, null);
    expect(seen.lanes).toBe(0);
    expect(seen.full).toMatchObject({ code: 'EMFILE', stage: 'descriptor' });
    expect(seen.full.message).toContain('of 64');
    // Two ends of a socket pair, and what the reactor needs.
    expect(seen.refused.length).toBeLessThan(8);
    expect([...new Set(seen.refused)]).toEqual(['EMFILE descriptor']);
    expect(seen.code).toBe(0);
  });

  needs('another uid').it('processes: no lane can start, EAGAIN with advice', async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, fixture }) => {
        await sallyport.launch('no-such-program').catch(() => undefined);
        const look = () => ({
          descriptors: processes.listDescriptors(),
          threads: processes.countThreads(),
          children: storm.hasChildren(),
        });
        storm.setSoftLimit('nproc', 1);
        const attempt = () =>
          sallyport.launch(fixture('exit_fast'), [], { stdio: 'pipe' }).then(
            () => ({}),
            (error: unknown) => ({ ...(error as object), message: (error as Error).message }),
          );
        const error = await attempt();
        const before = look();
        for (let count = 0; count < 20; count++) await attempt();
        return { error, before, after: look() };
      },
      null,
      { unprivileged: true },
    );
    expect(seen.error).toMatchObject({ code: 'EAGAIN', errno: -11, stage: 'process' });
    expect((seen.error as { message: string }).message).toContain('RLIMIT_NPROC');
    expect(seen.after).toEqual(seen.before);
    expect(seen.before.children).toBe(false);
  });

  needs('another uid').it(
    'processes, once lanes run: EAGAIN of each launch, then it works',
    async () => {
      const seen = await inNode(
        async ({ sallyport, storm, processes, fixture, require }) => {
          const os = require('node:os') as typeof import('node:os');
          const first = await Promise.all(
            Array.from({ length: 20 }, () =>
              sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }),
            ),
          );
          await Promise.all(first.map((child) => child.exited));
          const threads = processes.countThreads();
          storm.setSoftLimit('nproc', 1);
          const outcomes = await Promise.allSettled(
            Array.from({ length: 100 }, () =>
              sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }),
            ),
          );
          const codes = outcomes.map((outcome) =>
            outcome.status === 'rejected' ? (outcome.reason as { code: string }).code : 'started',
          );
          storm.setSoftLimit('nproc', 4096);
          const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
          return {
            codes: [...new Set(codes)],
            code: (await child.exited).code,
            uid: os.userInfo().uid,
            more: processes.countThreads() - threads,
            children: storm.hasChildren(),
          };
        },
        null,
        { unprivileged: true },
      );
      expect(seen).toMatchObject({ codes: ['EAGAIN'], code: 0, more: 0, children: false });
      expect(seen.uid).not.toBe(0);
    },
  );
});
