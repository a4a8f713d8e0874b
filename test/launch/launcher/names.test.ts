// Users and groups by name: looked up off the main thread, and nobody else waits for it.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';

import { fixture, makeScratch } from '../../support/fixtures.js';
import { inNode, type ScriptContext, type ScriptOptions } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

const UID_OF_SLOW = 64_003;

interface SlowNames extends ScriptContext {
  /** Until `openGate()` was called, looking up `slow` does not come back. */
  openGate: () => void;
  /** How many threads look something up. */
  countLookups: () => number;
}

/** What the script sees is its own source: this goes around it. */
const around = async (context: ScriptContext, gate: string, body: (own: SlowNames) => unknown) => {
  const fs = context.require('node:fs') as typeof import('node:fs');
  const made = context.sallyport.spawn('mkfifo', [gate], { stdio: 'null' });
  if ((await made.exited).code !== 0) throw new Error('no gate');
  return body(
    Object.assign(Object.create(context) as SlowNames, {
      // Not closed: readers that come later find it open too.
      openGate: () => fs.openSync(gate, 'r+'),
      countLookups: () =>
        context.processes.listThreads().filter((name) => name === 'sallyport-names').length,
    }),
  );
};

function withSlowNames<T>(
  body: (context: SlowNames) => Promise<T>,
  options: ScriptOptions = {},
): Promise<T> {
  const gate = path.join(makeScratch(), 'gate');
  const script = `(context, gate) => (${String(around)})(context, gate, ${String(body)})`;
  return inNode({ toString: () => script } as unknown as () => Promise<T>, gate, {
    ...options,
    publicly: true,
    env: { LD_PRELOAD: fixture('names.so'), NAMES_GATE: gate },
  });
}

needs('root').describe('a lookup that takes long', () => {
  needs('root').it('holds up no other launch, and no event', async () => {
    const seen = await withSlowNames(async (context) => {
      const { sallyport, processes, fixture: find, openGate, countLookups } = context;
      const uidOf = async (child: import('../../../src/index.js').Child) =>
        JSON.parse((await processes.readAll(child.stdout!)).toString()).uid[0] as number;
      let settled = false;
      const slow = [
        sallyport.launch(find('witness'), [], { user: 'slow' }).then(uidOf),
        sallyport.launch(find('witness'), [], { user: 'slow', groups: 'init' }).then(uidOf),
      ];
      void Promise.race(slow).finally(() => (settled = true));
      await processes.waitFor('both lookups', () => countLookups() === 2);
      // All of these are called later, half of them through the launcher.
      const others = Array.from({ length: 20 }, async (_, index) => {
        const ids = index % 2 === 0 ? {} : { user: 64_050, group: 64_051 };
        const child = await sallyport.launch(find('exit_fast'), [], { stdio: 'null', ...ids });
        return (await child.exited).code;
      });
      const codes = await Promise.all(others);
      const crowd = await uidOf(sallyport.spawn(find('witness'), [], { user: 'crowd' }));
      const before = { settled, lookups: countLookups(), crowd };
      openGate();
      const uids = await Promise.all(slow);
      await processes.waitFor('the end of both threads', () => countLookups() === 0);
      return { codes, before, uids };
    });
    expect(seen.codes).toEqual(Array(20).fill(0));
    expect(seen.before).toEqual({ settled: false, lookups: 2, crowd: 64_001 });
    expect(seen.uids).toEqual([UID_OF_SLOW, UID_OF_SLOW]);
  });

  const traceTo = (output: string) => [
    ...['strace', '-f', '-qq', '-s', '4096', '-e', 'signal=none', '-e', 'trace=execve'],
    ...['-o', output],
  ];
  const launcherRuns = (output: string): number =>
    readFileSync(output, 'utf8').match(/execve\("[^"]*sallyport-launcher"/g)?.length ?? 0;

  needs('root', 'strace').it('aborted meanwhile: rejected at once, and never started', async () => {
    const output = path.join(makeScratch(), 'aborted.trace');
    const seen = await withSlowNames(
      async ({ sallyport, processes, fixture: find, openGate, countLookups, storm }) => {
        const source = storm.openInheritable('/etc/hosts', 40);
        const before = processes.listDescriptors().length;
        const abort = new AbortController();
        const slow = sallyport
          .launch(find('exit_fast'), [], { user: 'slow', pass: [source], signal: abort.signal })
          .then(
            () => 'started',
            (error: unknown) => (error as Error).name,
          );
        await processes.waitFor('the lookup', () => countLookups() === 1);
        const during = processes.listDescriptors().length;
        abort.abort();
        const outcome = await slow;
        // Nothing is held for it any longer, though the lookup has not come back.
        const after = processes.listDescriptors().length;
        const pending = countLookups();
        openGate();
        await processes.waitFor('the end of the lookup', () => countLookups() === 0);
        // The same way through the same lanes, so that it would have come before.
        const control = await sallyport.launch(find('exit_fast'), [], {
          stdio: 'null',
          user: 'crowd',
        });
        await control.exited;
        return { outcome, pending, held: during - before, kept: after - before };
      },
      { wrap: traceTo(output) },
    );
    expect(seen).toMatchObject({ outcome: 'AbortError', pending: 1, kept: 0 });
    expect(seen.held).toBeGreaterThan(0);
    expect(launcherRuns(output)).toBe(1);
  });

  needs('root', 'strace').it('asked for by a Worker that has ended: never started', async () => {
    const output = path.join(makeScratch(), 'worker.trace');
    await withSlowNames(
      async ({ sallyport, processes, fixture: find, openGate, countLookups, root, require }) => {
        const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
        const worker = new Worker(
          `const { from, program } = require('node:worker_threads').workerData;
           require(from).launch(program, [], { user: 'slow' });`,
          { eval: true, workerData: { from: root, program: find('exit_fast') } },
        );
        await processes.waitFor('the lookup', () => countLookups() === 1);
        await worker.terminate();
        openGate();
        await processes.waitFor('the end of the lookup', () => countLookups() === 0);
        const control = await sallyport.launch(find('exit_fast'), [], {
          stdio: 'null',
          user: 'crowd',
        });
        await control.exited;
      },
      { wrap: traceTo(output) },
    );
    expect(launcherRuns(output)).toBe(1);
  });
});
