// tree-kill: ends a tree that it finds by starting ps and pgrep.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const kill = require('tree-kill');

(async () => {
  const child = spawn('sh', ['-c', 'sleep 30 & sleep 30 & echo ready; exec sleep 30']);
  await once(child.stdout, 'data');
  child.stdout.resume();
  await new Promise((resolve) =>
    kill(child.pid, 'SIGKILL', (error) => resolve(console.log(error))),
  );
  // All of them had the pipe.
  console.log(await once(child, 'close'));
})();
