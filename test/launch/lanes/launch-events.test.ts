// What the caller of launch() hears, and when: also of programs that end at once.
import { expect, it } from 'vitest';

import { inNode } from '../../support/node-script.js';

it('listeners attached after the await hear all of 1 000 programs that end at once', async () => {
  const seen = await inNode(async ({ sallyport, fixture }) => {
    const heard = new Map<string, number>();
    for (let count = 0; count < 1000; count++) {
      const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
      const before = child.exitCode;
      const events: string[] = [];
      const closed = new Promise((resolve) => child.on('close', resolve));
      child.on('spawn', () => events.push('spawn'));
      child.on('exit', (code) => events.push(`exit ${String(code)}`));
      child.on('close', () => events.push('close'));
      await closed;
      const line = `${String(before)}: ${events.join(', ')}`;
      heard.set(line, (heard.get(line) ?? 0) + 1);
    }
    return Object.fromEntries(heard);
  }, null);
  expect(seen).toEqual({ 'null: spawn, exit 0, close': 1000 });
});

// Launches and exits then come in one batch, in every mixture: an exit that overtakes the launch of
// its child is heard by nobody.
it('in crowds of 500, ten times over: each its own', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, fixture }) => {
      const missing = new Set<string>();
      const wrong: string[] = [];
      const follow = async (name: string) => {
        missing.add(name);
        const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
        const events: string[] = [];
        for (const event of ['spawn', 'exit'] as const) child.on(event, () => events.push(event));
        child.on('close', () => {
          if (events.join() !== 'spawn,exit') wrong.push(`${name}: ${events.join()}`);
          missing.delete(name);
        });
      };
      for (let round = 0; round < 10; round++) {
        for (let count = 0; count < 500; count++) {
          void follow(`${String(round)}:${String(count)}`);
        }
        await processes.waitFor('the rest of the children', () => missing.size === 0 || undefined);
      }
      return { wrong, children: storm.hasChildren() };
    },
    null,
    { deadline: 40_000 },
  );
  expect(seen).toEqual({ wrong: [], children: false });
}, 50_000);

it('the output of 200 programs that end at once is complete, read after the await', async () => {
  const seen = await inNode(async ({ sallyport, processes }) => {
    const wrong: string[] = [];
    const read = async (text: string) => {
      const child = await sallyport.launch('echo', [text]);
      if (child.stdout === null) throw new Error('no stdout');
      const got = (await processes.readAll(child.stdout)).toString();
      if (got !== `${text}\n`) wrong.push(`${text}: ${got}`);
      return (await child.exited).code;
    };
    const codes = new Set<number | null>();
    for (let round = 0; round < 10; round++) {
      const texts = Array.from({ length: 20 }, (_, index) => `${String(round)} ${String(index)}`);
      for (const code of await Promise.all(texts.map(read))) codes.add(code);
    }
    return { wrong, codes: [...codes] };
  }, null);
  expect(seen).toEqual({ wrong: [], codes: [0] });
});

it('an error in a listener is an uncaught exception, and the others still hear', async () => {
  const seen = await inNode(async ({ sallyport, processes, fixture }) => {
    const uncaught: string[] = [];
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => uncaught.push(error.message));
    const heard: number[] = [];
    for (let index = 0; index < 5; index++) {
      void sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }).then((child) => {
        child.on('exit', () => {
          heard.push(index);
          throw new Error(String(index));
        });
      });
    }
    await processes.waitFor('the errors', () => uncaught.length === 5 || undefined);
    return { heard: heard.sort(), uncaught: uncaught.sort() };
  }, null);
  expect(seen).toEqual({ heard: [0, 1, 2, 3, 4], uncaught: ['0', '1', '2', '3', '4'] });
});

it('5 000 launches in one tick: every exit code is the right one and nothing is left', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, root, fixture, require }) => {
      const { listLanes, startLanes, watchDescriptors } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../../support/lanes.cjs');
      // It exits with 100 + the number of descriptors that it misses.
      const start = (missing: number) =>
        sallyport.launch(
          fixture('exact_fds'),
          ['0', '1', '2', ...Array.from({ length: missing }, (_, index) => String(10 + index))],
          { stdio: 'null' },
        );
      await startLanes(sallyport.launch, fixture('exit_fast'));
      const watch = watchDescriptors();

      const launches = Array.from({ length: 5000 }, (_, index) => start(index % 50));
      const children = await Promise.all(launches);
      const statuses = await Promise.all(children.map((child) => child.exited));
      const wrong = statuses.filter(({ code }, index) => {
        const missing = index % 50;
        return code !== (missing === 0 ? 0 : 100 + missing);
      });
      return {
        wrong: wrong.length,
        pids: new Set(children.map(({ pid }) => pid)).size,
        more: watch.more(),
        lanes: [...new Set(listLanes().map(({ descriptors }) => descriptors.length))],
        zombies: processes.listZombies().length,
        children: storm.hasChildren(),
      };
    },
    null,
    { deadline: 40_000 },
  );
  expect(seen).toEqual({ wrong: 0, pids: 5000, more: 0, lanes: [4], zombies: 0, children: false });
}, 50_000);
