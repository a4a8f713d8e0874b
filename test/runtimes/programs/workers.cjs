'use strict';
// Worker threads: each hears of its own children; one that is terminated leaves none of its run.
const { readdirSync, readlinkSync } = require('node:fs');
const { isMainThread, parentPort, workerData, Worker } = require('node:worker_threads');

const { launch, run, runSync, spawn } = require('sallyport');
const { observe, readText } = require('./observe.cjs');

const { TREE } = process.env;
const members = ['plain', 'ignore', 'setsid'];

async function work({ first, way }) {
  if (way === 'launches') {
    const codes = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const child = await launch('sh', ['-c', `echo ${first + index}; exit ${first + index}`]);
        const text = await readText(child.stdout);
        return [Number(text), (await child.exited).code];
      }),
    );
    const sync = runSync('echo', ['from a worker']).output.stdout.text;
    const right = codes.filter((both, index) =>
      both.every((code) => code === first + index),
    ).length;
    parentPort.postMessage({ right, sync });
  } else {
    const pids = [];
    run(TREE, ['mark', ...members], {
      output: {
        stdout: {
          to: (line) => {
            pids.push(Number(line.split(' ')[1]));
            if (pids.length === members.length + 1) parentPort.postMessage(pids);
          },
        },
      },
    });
  }
}

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** The pipes of the process, whichever thread has opened them. */
const countPipes = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('pipe:');
    } catch {
      return false;
    }
  }).length;

const start = (data) => {
  const worker = new Worker(__filename, { workerData: data });
  return {
    worker,
    message: new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    }),
    ended: new Promise((resolve) => worker.once('exit', resolve)),
  };
};

if (!isMainThread) void work(workerData);
else {
  observe({
    async launches() {
      const workers = [0, 20, 40].map((first) => start({ way: 'launches', first }));
      const own = spawn('sh', ['-c', 'exit 99'], { stdio: 'null' });
      const results = await Promise.all(workers.map(({ message }) => message));
      // By themselves: nothing of ours keeps them.
      await Promise.all(workers.map(({ ended }) => ended));
      return [results, (await own.exited).code];
    },
    async terminated() {
      const before = countPipes();
      const { worker, message, ended } = start({ way: 'run' });
      const pids = await message;
      const during = countPipes() - before;
      await worker.terminate();
      await ended;
      let alive = pids;
      let more = 0;
      for (let look = 0; look < 500 && alive.length + more > 0; look += 1) {
        alive = pids.filter(isAlive);
        more = countPipes() - before;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      // Were the run's while it ran.
      return { pids: pids.length, alive, pipes: { during: during > 0, more } };
    },
    async afterwards() {
      return (await (await launch('true', [], { stdio: 'null' })).exited).code;
    },
  });
}
