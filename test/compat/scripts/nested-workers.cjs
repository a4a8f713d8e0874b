// A Worker and one of its own: each looks whether a child is handed descriptor 30.
const { spawnSync } = require('node:child_process');
const { isMainThread, Worker, workerData } = require('node:worker_threads');

if (!isMainThread) {
  console.log(spawnSync('test', ['-e', '/proc/self/fd/30']).status);
}
if (isMainThread || workerData === 1) {
  new Worker(__filename, { workerData: isMainThread ? 1 : 2 });
}
