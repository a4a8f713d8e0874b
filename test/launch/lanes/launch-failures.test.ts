// launch() rejects with what spawn() throws, at every stage of failure, and leaves nothing.
import { describe, expect, it } from 'vitest';

import { inNode, type ScriptOptions } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

const stages = {
  'plan: a TypeError': 'plan',
  'plan: a wrong signal': 'plan',
  'lookup: missing': 'lookup',
  'lookup: not executable': 'lookup',
  'cwd: missing': 'cwd',
  'cwd: not a directory': 'cwd',
  'descriptor: not open': 'descriptor',
  'descriptor: above the limit': 'plan',
  'descriptor: unexpected': 'descriptor',
  'descriptor: EMFILE': 'descriptor',
  'terminal: none': 'terminal',
  'exec: missing interpreter': 'exec',
  'exec: no #!': 'exec',
  'exec: too big': 'exec',
  'exec: busy': 'exec',
} as const;

const unprivilegedStages = { 'cwd: not permitted': 'cwd' } as const;

type Stage = keyof typeof stages | keyof typeof unprivilegedStages;

const compare = (stage: Stage, times: number, options: ScriptOptions = {}) =>
  inNode(
    async ({ sallyport, storm, processes, root, fixture, scratch, require }, { stage, times }) => {
      const { prepareFailure } = require(
        `${root}/test/support/failing-calls.cjs`,
      ) as typeof import('../../support/failing-calls.cjs');
      const { listLanes, startLanes } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../../support/lanes.cjs');
      type Options = import('../../../src/index.js').SpawnOptions;
      const source = storm.openInheritable('/etc/hosts', 30);
      // Pipes and copies at once: whatever a failure could leave behind.
      const all: Options = { stdio: 'pipe', pass: [{ fd: source, as: 5 }], env: { A: '1' } };
      const unhandled: string[] = [];
      process.on('unhandledRejection', (reason) => unhandled.push(String(reason)));
      // Lanes, reactor and all else is there before the count.
      await startLanes(sallyport.launch, fixture('exit_fast'));
      const tools = { storm, scratch, source, all };
      const prepare = (): [file: string, args: string[], options: Options] => {
        switch (stage) {
          case 'plan: a wrong signal':
            return ['true', [], { ...all, killSignal: 'SIGNONE' as 'SIGHUP' }];
          case 'terminal: none':
            return ['true', [], { ...all, session: 'group', foreground: 0 }];
          default:
            return prepareFailure(stage, tools);
        }
      };
      const call = prepare();

      const describe = (thrown: unknown) => {
        const error = thrown as Error;
        return {
          ...(thrown as object),
          name: error.name,
          kind: error.constructor.name,
          message: error.message,
        };
      };
      const attempt = () => {
        try {
          sallyport.spawn(...call);
          return {};
        } catch (error) {
          return describe(error);
        }
      };
      const attemptLaunch = () => {
        // A rejection, whatever is wrong: nothing is thrown at the call.
        const launched = sallyport.launch(...call);
        return launched.then(
          () => ({}),
          (error: unknown) => describe(error),
        );
      };
      // Lanes apart: they come when they are needed, each with our end of its socket.
      const look = () => ({
        descriptors: processes.listDescriptors().length - listLanes().length,
        lanes: [...new Set(listLanes().map(({ descriptors }) => descriptors.length))],
        threads: processes.countThreads() - listLanes().length,
        children: storm.hasChildren(),
        zombies: processes.listZombies().length,
      });
      const spawned = attempt();
      const launched = await attemptLaunch();
      const before = look();
      const rest = [];
      for (let count = 0; count < times; count++) rest.push(attemptLaunch());
      const same = (await Promise.all(rest)).filter(
        (error) => JSON.stringify(error) === JSON.stringify(launched),
      ).length;
      const after = look();
      return { spawned, launched, same, before, after, unhandled };
    },
    { stage, times },
    options,
  );

function expectTheSame(seen: Awaited<ReturnType<typeof compare>>, stage: string, times: number) {
  expect(seen.launched).toMatchObject({ stage });
  expect(seen.launched).toEqual(seen.spawned);
  expect(seen.same).toBe(times);
  expect(seen.after).toEqual(seen.before);
  expect(seen.before).toMatchObject({ children: false, zombies: 0 });
  expect(seen.unhandled).toEqual([]);
}

describe('launch fails as spawn does', () => {
  for (const [name, stage] of Object.entries(stages)) {
    // Each of these is tried again for 100 ms.
    const times = name === 'exec: busy' ? 4 : 100;
    it(name, async () => {
      expectTheSame(await compare(name as Stage, times), stage, times);
    });
  }

  for (const [name, stage] of Object.entries(unprivilegedStages)) {
    needs('another uid').it(name, async () => {
      expectTheSame(await compare(name as Stage, 100, { unprivileged: true }), stage, 100);
    });
  }
});

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
