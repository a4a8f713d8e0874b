// Launching from Worker threads: each hears of its own children, and a terminated one leaves none.
import { describe, expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';

describe('Worker threads', () => {
  it.each(['spawn', 'launch'] as const)(
    'four of them and the main thread %s at once: each gets its own exit codes',
    async (name) => {
      const seen = await inNode(
        async ({ sallyport, storm, root, fixture, require }, call) => {
          const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
          const { listLanes } = require(
            `${root}/test/support/lanes.cjs`,
          ) as typeof import('../support/lanes.cjs');
          const source = `
        const { parentPort, workerData: { root, witness, first, call } } = require('node:worker_threads');
        const start = require(root)[call];
        (async () => {
          const children = await Promise.all(Array.from({ length: 50 }, (_, index) =>
            start(witness, ['--quiet', '--exit', String(first + index)], { stdio: 'null' })));
          const codes = await Promise.all(children.map(async (child) => (await child.exited).code));
          parentPort.postMessage(codes.filter((code, index) => code !== first + index).length);
        })();`;
          const workers = [0, 50, 100, 150].map(
            (first) =>
              new Promise<number>((resolve, reject) => {
                const worker = new Worker(source, {
                  eval: true,
                  workerData: { root, witness: fixture('witness'), first, call },
                });
                let wrong = -1;
                worker.once('message', (count: number) => (wrong = count));
                worker.once('error', reject);
                // A worker that ends by itself: nothing of ours keeps it.
                worker.once('exit', () => {
                  resolve(wrong);
                });
              }),
          );
          const children = await Promise.all(
            Array.from({ length: 50 }, async (_, index) =>
              sallyport[call](fixture('witness'), ['--quiet', '--exit', String(200 + index)], {
                stdio: 'null',
              }),
            ),
          );
          const statuses = await Promise.all(children.map((child) => child.exited));
          return {
            wrong: await Promise.all(workers),
            own: statuses.filter(({ code }, index) => code !== 200 + index).length,
            children: storm.hasChildren(),
            tables: [...new Set(listLanes().map(({ descriptors }) => descriptors.length))],
          };
        },
        name,
        { deadline: 40_000 },
      );
      expect(seen).toEqual({ wrong: [0, 0, 0, 0], own: 0, children: false, tables: [4] });
    },
    50_000,
  );

  // A child between clone and exec holds copies of the pidfds of others: what the reaper forgets to
  // take out of its epoll set before closing goes on firing, and it waits for the wrong one.
  it('launches and exits that cross each other on four threads: nobody is forgotten', async () => {
    const seen = await inNode(async ({ storm, root, fixture, require }) => {
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      const source = `
        const { parentPort, workerData: { root, program } } = require('node:worker_threads');
        const { spawn } = require(root);
        (async () => {
          let right = 0;
          const chain = async () => {
            for (let count = 0; count < 100; count++) {
              const { code } = await spawn(program, [], { stdio: 'null' }).exited;
              if (code === 0) right += 1;
            }
          };
          await Promise.all([chain(), chain(), chain()]);
          parentPort.postMessage(right);
        })();`;
      const counts = await Promise.all(
        Array.from(
          { length: 4 },
          () =>
            new Promise<number>((resolve, reject) => {
              const worker = new Worker(source, {
                eval: true,
                workerData: { root, program: fixture('exit_fast') },
              });
              worker.once('message', resolve);
              worker.once('error', reject);
            }),
        ),
      );
      return { counts, children: storm.hasChildren() };
    }, null);
    expect(seen).toEqual({ counts: [300, 300, 300, 300], children: false });
  });

  it('pipes, kill, timeout and abort work in a Worker', async () => {
    const seen = await inNode(async ({ root, fixture, require }) => {
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      const worker = new Worker(
        `const { parentPort, workerData: { root, witness } } = require('node:worker_threads');
         const { spawn } = require(root);
         (async () => {
           const cat = spawn('cat', [], { stdio: 'pipe' });
           cat.stdin.end('through');
           let text = '';
           for await (const piece of cat.stdout) text += piece;
           const hold = (options) => spawn(witness, ['--quiet', '--hold'], { stdio: 'null', ...options });
           const killed = hold();
           killed.kill('SIGUSR1');
           const late = hold({ timeout: 1 });
           const controller = new AbortController();
           const aborted = hold({ signal: controller.signal, killSignal: 'SIGINT' });
           controller.abort();
           const signals = [];
           for (const child of [killed, late, aborted]) signals.push((await child.exited).signal);
           parentPort.postMessage({ text, signals });
         })();`,
        { eval: true, workerData: { root, witness: fixture('witness') } },
      );
      return new Promise((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
    }, null);
    expect(seen).toEqual({ text: 'through', signals: ['SIGUSR1', 'SIGTERM', 'SIGINT'] });
  });

  it('the children of a terminated Worker are reaped', async () => {
    const seen = await inNode(async ({ storm, processes, root, fixture, require }) => {
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      const [readEnd = -1, writeEnd = -1] = storm.makeInheritable('pipe', 100);
      const worker = new Worker(
        `const { parentPort, workerData: { root, witness, readEnd } } = require('node:worker_threads');
         const { spawn } = require(root);
         for (let count = 0; count < 20; count++)
           spawn(witness, ['--quiet', '--hold-fd', '3'], {
             stdio: count % 2 ? 'null' : 'pipe', pass: [{ fd: readEnd, as: 3 }] });
         parentPort.postMessage('started');`,
        { eval: true, workerData: { root, witness: fixture('witness'), readEnd } },
      );
      await new Promise((resolve) => worker.once('message', resolve));
      const alive = processes.listChildren().length;
      await worker.terminate();
      const afterwards = processes.listChildren().filter(({ state }) => state !== 'Z').length;
      storm.closeFd(readEnd);
      storm.closeFd(writeEnd);
      await processes.waitFor('the reaping', () => !storm.hasChildren());
      return { alive, afterwards };
    }, null);
    expect(seen).toEqual({ alive: 20, afterwards: 20 });
  });

  it('terminated while children are ending, twenty times: no crash, no zombie', async () => {
    const seen = await inNode(async ({ storm, processes, root, fixture, require }) => {
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      for (let round = 0; round < 20; round++) {
        const worker = new Worker(
          `const { parentPort, workerData: { root, program } } = require('node:worker_threads');
             const { spawn } = require(root);
             const launch = () => spawn(program, [], { stdio: 'null' }).on('exit', launch);
             for (let count = 0; count < 10; count++) launch();
             parentPort.postMessage('started');`,
          { eval: true, workerData: { root, program: fixture('exit_fast') } },
        );
        await new Promise((resolve) => worker.once('message', resolve));
        await worker.terminate();
      }
      await processes.waitFor('the reaping', () => !storm.hasChildren());
      return true;
    }, null);
    expect(seen).toBe(true);
  });

  it('a Worker that ends by itself has unreferenced children reaped too', async () => {
    const seen = await inNode(async ({ storm, processes, root, fixture, require }) => {
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      const worker = new Worker(
        `const { workerData: { root, witness } } = require('node:worker_threads');
         require(root).spawn(witness, ['--quiet', '--hold'], { stdio: 'null' }).unref();`,
        { eval: true, workerData: { root, witness: fixture('witness') } },
      );
      await new Promise((resolve) => worker.once('exit', resolve));
      const [child] = processes.listChildren();
      if (child === undefined) throw new Error('the child is gone');
      process.kill(child.pid, 'SIGKILL');
      await processes.waitFor('the reaping', () => !storm.hasChildren());
      return child.state;
    }, null);
    expect(seen).not.toBe('Z');
  });
});
