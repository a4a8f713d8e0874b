// Lanes belong to the process: a Worker that ends leaves the others served.
import { expect, it } from 'vitest';

import { inNode } from '../../support/node-script.js';

// The Worker never returns to its event loop: none of its launches can have been heard of.
it('terminated with launches queued and on their way, 50 times: nothing is left', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, root, fixture, require }) => {
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      const { listLanes, startLanes, watchDescriptors } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../../support/lanes.cjs');
      const kept = storm.openInheritable('/etc/hosts', 30);
      await startLanes(sallyport.launch, fixture('exit_fast'), { stdio: 'pipe' });
      const watch = watchDescriptors();
      const terminate = async () => {
        const worker = new Worker(
          `const { parentPort, workerData: { root, witness, kept } } = require('node:worker_threads');
           const { launch } = require(root);
           for (let count = 0; count < 60; count++)
             launch(witness, ['--quiet', '--hold'], { stdio: count % 2 ? 'null' : 'pipe',
               pass: [kept], noNewPrivileges: count % 3 > 0 }).catch(() => {});
           parentPort.postMessage('launched');
           Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`,
          { eval: true, workerData: { root, witness: fixture('witness'), kept } },
        );
        await new Promise((resolve, reject) => {
          worker.once('message', resolve);
          worker.once('error', reject);
        });
        await worker.terminate();
        await processes.waitFor('the end of its children', () => !storm.hasChildren());
      };
      await terminate();
      const codes = new Set<number | null>();
      for (let round = 1; round < 50; round++) {
        await terminate();
        const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
        codes.add((await child.exited).code);
      }
      await watch.settle();
      const again = await Promise.all(
        Array.from({ length: 200 }, () =>
          sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }),
        ),
      );
      for (const child of again) codes.add((await child.exited).code);
      return {
        codes: [...codes],
        zombies: processes.listZombies().length,
        tables: [...new Set(listLanes().map(({ descriptors }) => descriptors.length))],
      };
    },
    null,
    { deadline: 60_000 },
  );
  expect(seen).toEqual({ codes: [0], zombies: 0, tables: [4] });
}, 70_000);

it('terminated in the midst of hearing of them, 50 times: no crash, no lane lost', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, root, fixture, require }) => {
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      const codes = new Set<number | null>();
      for (let round = 0; round < 50; round++) {
        const worker = new Worker(
          `const { parentPort, workerData: { root, program } } = require('node:worker_threads');
           const { launch } = require(root);
           let heard = 0;
           const again = () => launch(program, [], { stdio: heard % 3 ? 'null' : 'pipe' }).then(
             (child) => child.on('exit', () => {
               heard += 1;
               if (heard === ${String(round)}) parentPort.postMessage('heard');
               again();
             }));
           for (let count = 0; count < 12; count++) again();
           if (heard === ${String(round)}) parentPort.postMessage('heard');`,
          { eval: true, workerData: { root, program: fixture('exit_fast') } },
        );
        await new Promise((resolve, reject) => {
          worker.once('message', resolve);
          worker.once('error', reject);
        });
        await worker.terminate();
        const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
        codes.add((await child.exited).code);
      }
      await processes.waitFor('the reaping', () => !storm.hasChildren());
      return [...codes];
    },
    null,
    { deadline: 60_000 },
  );
  expect(seen).toEqual([0]);
}, 70_000);

it('ended by itself in the midst of a batch: what it was told of and did not take is ended', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, root, fixture, require }) => {
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      const { startLanes, watchDescriptors } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../../support/lanes.cjs');
      await startLanes(sallyport.launch, fixture('exit_fast'), { stdio: 'pipe' });
      const end = async () => {
        const worker = new Worker(
          `const { workerData: { root, witness } } = require('node:worker_threads');
           const { launch } = require(root);
           const { listChildren } = require(root + '/test/support/processes.cjs');
           const { signal } = new AbortController();
           // Called with the first launch that is heard of.
           signal.removeEventListener = () => process.exit();
           for (let count = 0; count < 20; count++)
             launch(witness, ['--quiet', '--hold'], { stdio: 'pipe', signal });
           while (listChildren().length < 20);`,
          { eval: true, workerData: { root, witness: fixture('witness') } },
        );
        await new Promise((resolve) => worker.once('exit', resolve));
        await processes.waitFor('the end of its children', () => !storm.hasChildren());
      };
      await end();
      const watch = watchDescriptors();
      for (let round = 0; round < 10; round++) await end();
      await watch.settle();
      return 'settled';
    },
    null,
    { deadline: 60_000 },
  );
  expect(seen).toBe('settled');
}, 70_000);

it('a Worker started the only lanes and has ended: the main thread uses them', async () => {
  const seen = await inNode(async ({ sallyport, storm, root, fixture, require }) => {
    const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
    const { listLanes } = require(
      `${root}/test/support/lanes.cjs`,
    ) as typeof import('../../support/lanes.cjs');
    const worker = new Worker(
      `const { workerData: { root, program } } = require('node:worker_threads');
       require(root).launch(program, [], { stdio: 'null' });`,
      { eval: true, workerData: { root, program: fixture('exit_fast') } },
    );
    const code = await new Promise((resolve) => worker.once('exit', resolve));
    const lanes = listLanes().map(({ thread }) => thread);
    const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
    const { code: own } = await child.exited;
    return {
      code,
      own,
      started: lanes.length,
      kept: lanes.every((thread) => listLanes().some((lane) => lane.thread === thread)),
      children: storm.hasChildren(),
    };
  }, null);
  expect(seen).toEqual({ code: 0, own: 0, started: 1, kept: true, children: false });
});
