// Workers: each starts children of its own.
const { once } = require('node:events');
const { isMainThread, parentPort, Worker } = require('node:worker_threads');
const { execFile, spawnSync } = require('node:child_process');

if (isMainThread) {
  (async () => {
    for (let i = 0; i < 2; i++) {
      const worker = new Worker(__filename);
      worker.on('message', (message) => console.log(message));
      console.log(await once(worker, 'exit'));
    }
    const doomed = new Worker(
      "require('child_process').spawn('sleep', ['20']); require('worker_threads').parentPort.postMessage('begun')",
      { eval: true },
    );
    console.log(await once(doomed, 'message'), await doomed.terminate());
    console.log(spawnSync('echo', ['the main thread goes on'], { encoding: 'utf8' }).stdout);
  })();
} else {
  const table = spawnSync('ls', ['/proc/self/fd'], { encoding: 'utf8' }).stdout;
  parentPort.postMessage(table.split('\n').length);
  execFile('echo', ['in a Worker'], (error, stdout) => parentPort.postMessage([error, stdout]));
}
