// A Worker is terminated between any two steps of its JavaScript: what it holds as numbers is closed.
import { describe, expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';

describe('a Worker that ends', () => {
  it('in the midst of making the streams of a child: they are closed, and the child is ended', async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, root, fixture, require }) => {
        const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
        const { startLanes, watchDescriptors } = require(
          `${root}/test/support/lanes.cjs`,
        ) as typeof import('../support/lanes.cjs');
        await startLanes(sallyport.launch, fixture('exit_fast'), { stdio: 'pipe' });
        const end = async (call: string, streams: number) => {
          const worker = new Worker(
            `const { workerData: { root, witness, call, streams } } = require('node:worker_threads');
             const net = require('node:net');
             let made = 0;
             net.Socket = class extends net.Socket {
               constructor(...options) {
                 if (made === streams) process.exit();
                 made += 1;
                 super(...options);
               }
             };
             const options = call === 'run' ? { input: 'x' } : { stdio: 'pipe' };
             require(root)[call](witness, ['--quiet', '--hold'], options);`,
            {
              eval: true,
              workerData: { root, witness: fixture('witness'), call, streams },
            },
          );
          const code = await new Promise((resolve) => worker.once('exit', resolve));
          await processes.waitFor('the end of its child', () => !storm.hasChildren());
          return code;
        };
        await end('spawn', 0);
        const watch = watchDescriptors();
        const codes = [];
        for (const call of ['spawn', 'launch', 'run']) {
          for (const streams of [0, 1, 2]) codes.push(await end(call, streams));
        }
        await watch.settle();
        return codes;
      },
      null,
      { deadline: 40_000 },
    );
    expect(seen).toEqual(Array(9).fill(0));
  });

  it('with descriptors that the addon has given it: they are closed, and nothing else', async () => {
    const seen = await inNode(
      async ({ root, require }) => {
        const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
        const fs = require('node:fs') as typeof import('node:fs');
        const events = require('node:events') as typeof import('node:events');
        const worker = new Worker(
          `const { parentPort, workerData: { root } } = require('node:worker_threads');
           const fs = require('node:fs');
           const native = require(root + '/dist/native.js').native();
           const held = native.holdDescriptors(Int32Array.of(0, 1)).map(([fd]) => fd);
           const kept = [...held, native.openMemory('kept'), native.openMemoryFile('kept'),
             ...native.openPipe(), ...native.openSocketPair()];
           // As Node's streams do it: nobody tells the addon.
           const gone = [native.openMemory('gone'), ...native.openPipe(), ...native.openSocketPair()];
           for (const fd of gone) fs.closeSync(fd);
           parentPort.once('message', () => process.exit());
           parentPort.postMessage({ kept, gone });`,
          { eval: true, workerData: { root } },
        );
        const [{ kept, gone }] = (await events.once(worker, 'message')) as [
          { kept: number[]; gone: number[] },
        ];
        const isOpen = (fd: number): boolean => {
          try {
            fs.fstatSync(fd);
            return true;
          } catch {
            return false;
          }
        };
        const before = kept.map(isOpen);
        // Another thread gets the numbers that are free.
        const ours: number[] = [];
        while (!gone.every((fd) => ours.includes(fd))) ours.push(fs.openSync('/etc/hosts', 'r'));
        worker.postMessage('end');
        await events.once(worker, 'exit');
        return { before, after: kept.map(isOpen), ours: ours.every(isOpen) };
      },
      null,
      { deadline: 40_000 },
    );
    expect(seen).toEqual({
      before: Array(8).fill(true),
      after: Array(8).fill(false),
      ours: true,
    });
  });

  it('without disposing of what it pinned: that is closed', async () => {
    const seen = await inNode(
      async ({ root, require }) => {
        const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
        const fs = require('node:fs') as typeof import('node:fs');
        const events = require('node:events') as typeof import('node:events');
        const { listDescriptors } = require(
          `${root}/test/support/processes.cjs`,
        ) as typeof import('../support/processes.cjs');
        const count = (): number =>
          listDescriptors().filter((fd) =>
            fs.readlinkSync(`/proc/self/fd/${String(fd)}`).includes('sallyport-pinned'),
          ).length;
        const worker = new Worker(
          `const { parentPort, workerData: { root } } = require('node:worker_threads');
           require(root).pinExecutable('/bin/true').then((pinned) => {
             globalThis.pinned = pinned;
             parentPort.on('message', () => {});
             parentPort.postMessage('pinned');
           });`,
          { eval: true, workerData: { root } },
        );
        await events.once(worker, 'message');
        const during = count();
        await worker.terminate();
        return { during, after: count() };
      },
      null,
      { deadline: 40_000 },
    );
    expect(seen).toEqual({ during: 1, after: 0 });
  });
});
