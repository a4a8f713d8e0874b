// Forks itself in another directory, and there looks whether a child is handed descriptor 30.
const { fork, spawnSync } = require('node:child_process');

if (process.send === undefined) {
  fork(__filename, { cwd: '/' });
} else {
  console.log(spawnSync('test', ['-e', '/proc/self/fd/30']).status);
  process.disconnect();
}
