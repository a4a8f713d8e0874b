// Three children one after the other, one of them given descriptor 30 by its stdio.
const { execFileSync, fork, spawn } = require('node:child_process');

if (process.send === undefined) {
  execFileSync('true');
  spawn('true', { stdio: ['ignore', 30, 'ignore'] }).on('exit', () => {
    fork(__filename, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  });
} else {
  process.disconnect();
}
