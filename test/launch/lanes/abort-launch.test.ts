// Taking a launch back: before, in the queue, on its way to exec, and after its start.
import { expect, it } from 'vitest';

import { inNode } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

it('an aborted signal: nothing is started, and the reason is in the error', async () => {
  const seen = await inNode(async ({ sallyport, storm, processes, fixture }) => {
    const kept = storm.openInheritable('/etc/hosts', 30);
    await (
      await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' })
    ).exited;
    const before = processes.listDescriptors();
    const reason = new Error('made-up reason');
    const errors = await Promise.all(
      Array.from({ length: 10 }, () =>
        sallyport
          .launch(fixture('exit_fast'), [], {
            stdio: 'pipe',
            pass: [kept],
            signal: AbortSignal.abort(reason),
          })
          .then(
            () => 'started',
            (error: unknown) => {
              const { name, code, cause } = error as Error & { code: string };
              return `${name} ${code} ${String(cause === reason)}`;
            },
          ),
      ),
    );
    return {
      errors: [...new Set(errors)],
      same: processes.listDescriptors().join() === before.join(),
      children: storm.hasChildren(),
    };
  }, null);
  expect(seen).toEqual({ errors: ['AbortError ABORT_ERR true'], same: true, children: false });
});

it('in the queue: rejected at once, its descriptors are closed when abort() returns', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, fixture, root, require }) => {
      const { startLanes, watchDescriptors } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../../support/lanes.cjs');
      const kept = storm.openInheritable('/etc/hosts', 30);
      await startLanes(sallyport.launch, fixture('exit_fast'));
      const watch = watchDescriptors();

      const ahead = Array.from({ length: 2000 }, () =>
        sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }),
      );
      const events = require('node:events') as typeof import('node:events');
      const controller = new AbortController();
      // Node would print a warning, and open its stderr for that.
      events.setMaxListeners(0, controller.signal);
      const outcomes = new Map<string, number>();
      const settled: Array<Promise<void>> = [];
      let rejected = 0;
      for (let count = 0; count < 100; count++) {
        const launched = sallyport.launch(fixture('witness'), ['--hold'], {
          stdio: 'pipe',
          pass: [kept, { fd: kept, as: 7 }],
          signal: controller.signal,
        });
        const settle = (outcome: string) => {
          rejected += 1;
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        };
        settled.push(
          launched.then(
            () => settle('started'),
            (error: unknown) => settle((error as Error).name),
          ),
        );
      }
      // Each holds a copy of what is passed; the children ahead have pidfds for some time.
      const copies = () => {
        const fs = require('node:fs') as typeof import('node:fs');
        return processes.listDescriptors().filter((fd) => {
          try {
            return fs.readlinkSync(`/proc/self/fd/${String(fd)}`) === '/etc/hosts';
          } catch {
            return false;
          }
        }).length;
      };
      const held = copies();
      controller.abort();
      const afterwards = copies();
      // Two turns, however long the queue still is.
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      const soon = rejected;
      await Promise.all(settled);
      const children = await Promise.all(ahead);
      await Promise.all(children.map((child) => child.exited));
      return {
        held,
        afterwards,
        soon,
        outcomes: Object.fromEntries(outcomes),
        more: watch.more(),
        children: storm.hasChildren(),
      };
    },
    null,
    { deadline: 40_000 },
  );
  expect(seen).toEqual({
    held: 101,
    afterwards: 1,
    soon: 100,
    outcomes: { AbortError: 100 },
    more: 0,
    children: false,
  });
}, 50_000);

needs('ptrace').it('on its way to exec: the child that hangs there is killed', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, scratch, root, fixture, require }) => {
      const { traceSelf } = require(
        `${root}/test/support/tracing.cjs`,
      ) as typeof import('../../support/tracing.cjs');
      const { startLanes, watchDescriptors } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../../support/lanes.cjs');
      const kept = storm.openInheritable('/etc/hosts', 30);
      await startLanes(sallyport.launch, fixture('exit_fast'), { stdio: 'pipe' });
      const watch = watchDescriptors();
      const tracer = await traceSelf(storm, scratch);
      const traced = watchDescriptors();

      // A child of the same lane that lives on: it must not be taken for the one that hangs.
      const alive = await Promise.all(
        Array.from({ length: 8 }, () =>
          sallyport.launch(fixture('witness'), ['--quiet', '--hold'], { stdio: 'null' }),
        ),
      );
      const outcomes: string[] = [];
      for (let round = 0; round < 10; round++) {
        const controller = new AbortController();
        await tracer.hold(1);
        const launched = sallyport.launch(fixture('witness'), ['--hold'], {
          stdio: 'pipe',
          pass: [kept],
          signal: controller.signal,
          killSignal: 'SIGTERM',
        });
        await tracer.waitForHeld(round + 1);
        const stuck = tracer.held[round] ?? 0;
        const name = launched.then(
          () => 'started',
          (error: unknown) => (error as Error).name,
        );
        controller.abort();
        outcomes.push(await name);
        await processes.waitFor('the end of the child', () => processes.isGone(stuck));
      }
      const living = alive.filter((child) => !processes.hasEnded(child.pid)).length;
      for (const child of alive) child.kill('SIGKILL');
      await Promise.all(alive.map((child) => child.exited));
      // The lanes that hung serve again.
      const again = await Promise.all(
        Array.from({ length: 100 }, () =>
          sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }),
        ),
      );
      const codes = await Promise.all(again.map(async (child) => (await child.exited).code));
      await traced.settle();
      await tracer.stop();
      return {
        outcomes: [...new Set(outcomes)],
        gone: tracer.gone.length,
        living,
        codes: [...new Set(codes)],
        more: watch.more(),
        children: storm.hasChildren(),
      };
    },
    null,
  );
  expect(seen).toEqual({
    outcomes: ['AbortError'],
    gone: 10,
    living: 8,
    codes: [0],
    more: 0,
    children: false,
  });
});

it('after the start: killSignal, and the error event for those who listen', async () => {
  const seen = await inNode(async ({ sallyport, storm, fixture }) => {
    const start = async (killSignal?: NodeJS.Signals) => {
      const controller = new AbortController();
      const child = await sallyport.launch(fixture('witness'), ['--quiet', '--hold'], {
        stdio: 'null',
        signal: controller.signal,
        ...(killSignal === undefined ? {} : { killSignal }),
      });
      return { child, controller };
    };
    const ends: unknown[] = [];
    for (const killSignal of [undefined, 'SIGINT', 'SIGKILL'] as const) {
      const { child, controller } = await start(killSignal);
      const errors: string[] = [];
      if (killSignal !== 'SIGINT') child.on('error', (error) => errors.push(error.name));
      controller.abort();
      ends.push([(await child.exited).signal, errors]);
    }
    // Of a child that has ended already it is nobody's business.
    const controller = new AbortController();
    const { signal } = controller;
    const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null', signal });
    child.on('error', (error) => ends.push(error.name));
    await child.exited;
    controller.abort();
    return { ends, code: child.exitCode, children: storm.hasChildren() };
  }, null);
  expect(seen).toEqual({
    ends: [
      ['SIGTERM', ['AbortError']],
      ['SIGINT', []],
      ['SIGKILL', ['AbortError']],
    ],
    code: 0,
    children: false,
  });
});

it('at any moment: 1 000 launches, each aborted a little later than the one before', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, root, fixture, require }) => {
      const { startLanes, watchDescriptors } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../../support/lanes.cjs');
      await startLanes(sallyport.launch, fixture('exit_fast'), { stdio: 'pipe' });
      const watch = watchDescriptors();
      const outcomes = new Map<string, number>();
      const note = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      const closed: Array<Promise<unknown>> = [];
      for (let round = 0; round < 1000; round++) {
        const controller = new AbortController();
        const launched = sallyport.launch(fixture('witness'), ['--quiet', '--hold'], {
          stdio: 'pipe',
          signal: controller.signal,
          killSignal: 'SIGKILL',
        });
        const settled = launched.then(
          async (child) => {
            closed.push(new Promise((resolve) => child.once('close', resolve)));
            note(String((await child.exited).signal));
          },
          (error: unknown) => note((error as Error).name),
        );
        // From at once to some hundred microseconds.
        const until = process.hrtime.bigint() + BigInt(round % 250) * 2000n;
        while (process.hrtime.bigint() < until);
        controller.abort();
        if (round % 10 === 9) await settled;
        else void settled;
      }
      await processes.waitFor('the end of all children', () => !storm.hasChildren());
      await Promise.all(closed);
      await watch.settle();
      let total = 0;
      for (const count of outcomes.values()) total += count;
      return { kinds: [...outcomes.keys()].sort(), total };
    },
    null,
    { deadline: 40_000 },
  );
  expect(seen.total).toBe(1000);
  expect(seen.kinds.filter((kind) => kind !== 'SIGKILL')).toEqual(['AbortError']);
}, 50_000);
