// Plans that hang in exec, as on a dead mount: a tracer keeps their children before it.
import { expect } from 'vitest';

import { inNode } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

/** As many lanes as a process has at most, native/core/lane_pool.cc. */
const MOST_LANES = 32;

needs('ptrace').it(
  'a launch that hangs holds up nobody else: launches, spawns, the event loop',
  async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, scratch, root, fixture, require }) => {
        const { traceSelf } = require(
          `${root}/test/support/tracing.cjs`,
        ) as typeof import('../../support/tracing.cjs');
        const tracer = await traceSelf(storm, scratch);
        await tracer.hold(1);
        const stuck = sallyport.launch(fixture('witness'), ['--quiet', '--exit', '7'], {
          stdio: 'null',
        });
        await tracer.waitForHeld(1);
        let settled = false;
        void stuck.then(() => (settled = true));

        let turns = 0;
        const turn = () => {
          turns += 1;
          if (!settled) setImmediate(turn);
        };
        turn();
        const codes = new Set<number | null>();
        for (let count = 0; count < 40; count++) {
          const options = { stdio: 'null', noNewPrivileges: count % 4 < 2 } as const;
          codes.add(
            (await (await sallyport.launch(fixture('exit_fast'), [], options)).exited).code,
          );
          codes.add((await sallyport.spawn(fixture('exit_fast'), [], options).exited).code);
        }
        const crowd = await Promise.all(
          Array.from({ length: 200 }, () =>
            sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }),
          ),
        );
        for (const child of crowd) codes.add((await child.exited).code);
        const meanwhile = {
          settled,
          turns: turns > 80,
          hangs: !processes.hasEnded(tracer.held[0] ?? 0),
        };
        await tracer.release();
        const child = await stuck;
        const { code } = await child.exited;
        await tracer.stop();
        return {
          codes: [...codes],
          meanwhile,
          code,
          pid: child.pid === tracer.held[0],
          children: storm.hasChildren(),
        };
      },
      null,
    );
    expect(seen).toEqual({
      codes: [0],
      meanwhile: { settled: false, turns: true, hangs: true },
      code: 7,
      pid: true,
      children: false,
    });
  },
);

needs('ptrace').it(
  'more of them than there are lanes: others take their places, up to a bound',
  async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, scratch, root, fixture, require }, most) => {
        const { traceSelf } = require(
          `${root}/test/support/tracing.cjs`,
        ) as typeof import('../../support/tracing.cjs');
        const { listLanes } = require(
          `${root}/test/support/lanes.cjs`,
        ) as typeof import('../../support/lanes.cjs');
        const tracer = await traceSelf(storm, scratch);
        // One less than all there can be: the last one serves.
        await tracer.hold(most - 1);
        const stuck = Array.from({ length: most - 1 }, () =>
          sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }),
        );
        await tracer.waitForHeld(most - 1);
        const order: number[] = [];
        const served = await Promise.all(
          Array.from({ length: 300 }, async (_, index) => {
            const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
            order.push(index);
            return child;
          }),
        );
        const codes = new Set<number | null>();
        for (const child of served) codes.add((await child.exited).code);
        const spawned = await sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' }).exited;
        const lanes = listLanes().length;

        // All of them: who comes now waits, and is served as soon as one is free.
        await tracer.hold(1);
        stuck.push(sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }));
        await tracer.waitForHeld(most);
        let late = 'waits';
        const waiting = sallyport
          .launch(fixture('exit_fast'), [], { stdio: 'null' })
          .then((child) => {
            late = 'started';
            return child;
          });
        const direct = sallyport.spawn(fixture('exit_fast'), [], {
          stdio: 'null',
          noNewPrivileges: false,
        });
        const other = await sallyport.launch(fixture('exit_fast'), [], {
          stdio: 'null',
          noNewPrivileges: false,
        });
        const others = [(await direct.exited).code, (await other.exited).code, late];
        await tracer.release(tracer.held[5]);
        others.push((await (await waiting).exited).code);

        await tracer.release();
        for (const launched of stuck) codes.add((await (await launched).exited).code);
        await tracer.stop();
        await processes.waitFor('the reaping', () => !storm.hasChildren());
        return {
          inOrder: order.every((index, place) => index === place),
          served: order.length,
          // One of the other kind, for the direct opt-out it needs none.
          lanes,
          codes: [...codes],
          spawned: spawned.code,
          others,
          lanesAtLast: listLanes().length,
          tables: [...new Set(listLanes().map(({ descriptors }) => descriptors.length))],
        };
      },
      MOST_LANES,
      { deadline: 40_000 },
    );
    expect(seen).toEqual({
      inOrder: true,
      served: 300,
      lanes: MOST_LANES,
      codes: [0],
      spawned: 0,
      others: [0, 0, 'waits', 0],
      lanesAtLast: MOST_LANES + 1,
      tables: [4],
    });
  },
  50_000,
);

// Looking for lanes that hang must not depend on a moment without any events.
needs('ptrace').it(
  'with children ending all the time, the queue behind two that hang is served',
  async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, scratch, root, fixture, require }) => {
        const { traceSelf } = require(
          `${root}/test/support/tracing.cjs`,
        ) as typeof import('../../support/tracing.cjs');
        const { listLanes, startLanes } = require(
          `${root}/test/support/lanes.cjs`,
        ) as typeof import('../../support/lanes.cjs');
        await startLanes(sallyport.launch, fixture('exit_fast'));
        const tracer = await traceSelf(storm, scratch);
        const usual = listLanes().length;
        await tracer.hold(usual);
        const stuck = Array.from({ length: usual }, () =>
          sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }),
        );
        await tracer.waitForHeld(usual);
        let served = false;
        const queued = sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
        void queued.then(() => (served = true));
        const options = { stdio: 'null', noNewPrivileges: false } as const;
        let ended = 0;
        await processes.waitFor('the queued launch', async () => {
          for (let count = 0; count < 10; count++) {
            await sallyport.spawn(fixture('exit_fast'), [], options).exited;
            ended += 1;
          }
          return served;
        });
        await tracer.release();
        await Promise.all([...stuck, queued].map(async (launched) => (await launched).exited));
        await tracer.stop();
        return { served, ended: ended > 0 };
      },
      null,
    );
    expect(seen).toEqual({ served: true, ended: true });
  },
);

needs('ptrace').it(
  'a Worker whose spawn hangs holds up itself only, and others launch',
  async () => {
    const seen = await inNode(async ({ sallyport, storm, scratch, root, fixture, require }) => {
      const { traceSelf } = require(
        `${root}/test/support/tracing.cjs`,
      ) as typeof import('../../support/tracing.cjs');
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      await (
        await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' })
      ).exited;
      const tracer = await traceSelf(storm, scratch);
      await tracer.hold(1);
      const worker = new Worker(
        `const { parentPort, workerData: { root, program } } = require('node:worker_threads');
         require(root).spawn(program, [], { stdio: 'null' }).exited.then(({ code }) =>
           parentPort.postMessage(code));`,
        { eval: true, workerData: { root, program: fixture('exit_fast') } },
      );
      const ended = new Promise((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
      await tracer.waitForHeld(1);
      const codes = new Set<number | null>();
      for (let count = 0; count < 50; count++) {
        codes.add((await sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' }).exited).code);
        const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
        codes.add((await child.exited).code);
      }
      await tracer.release();
      const code = await ended;
      await tracer.stop();
      return { codes: [...codes], code, children: storm.hasChildren() };
    }, null);
    expect(seen).toEqual({ codes: [0], code: 0, children: false });
  },
);

needs('ptrace').it(
  'the queue has a bound: EAGAIN with advice, and all can be taken back',
  async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, scratch, root, fixture, require }, most) => {
        const events = require('node:events') as typeof import('node:events');
        const { traceSelf } = require(
          `${root}/test/support/tracing.cjs`,
        ) as typeof import('../../support/tracing.cjs');
        const tracer = await traceSelf(storm, scratch);
        // No lane takes more than one of them, however many lanes there are.
        await tracer.hold(most);
        const controller = new AbortController();
        events.setMaxListeners(0, controller.signal);
        const options = { stdio: 'null', signal: controller.signal } as const;
        const outcomes = new Map<string, number>();
        const launches = Array.from({ length: 16_384 + most + 100 }, () =>
          sallyport.launch(fixture('exit_fast'), [], options).then(
            () => 'started',
            (error: unknown) => {
              const { name, code, stage, message } = error as Error & {
                code: string;
                stage: string;
              };
              return name === 'AbortError'
                ? name
                : `${code} ${stage} ${String(message.includes('wait for a lane'))}`;
            },
          ),
        );
        controller.abort();
        for (const outcome of await Promise.all(launches)) {
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        }
        await tracer.hold(0);
        await tracer.release();
        await tracer.stop();
        await processes.waitFor('the end of all children', () => !storm.hasChildren());
        const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
        return { outcomes: Object.fromEntries(outcomes), code: (await child.exited).code };
      },
      MOST_LANES,
      { deadline: 40_000 },
    );
    expect(Object.keys(seen.outcomes).sort()).toEqual(['AbortError', 'EAGAIN process true']);
    expect(seen.outcomes['EAGAIN process true']).toBeGreaterThanOrEqual(100);
    expect(seen.code).toBe(0);
  },
  50_000,
);
