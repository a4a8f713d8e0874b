// Between the events of two children promises and process.nextTick have their turn.
const { spawn, spawnSync } = require('node:child_process');

const log = [];
let left = 6;
for (let index = 0; index < left; index++) {
  const child = spawn('true', { stdio: 'ignore' });
  child.on('exit', () => {
    log.push('exit');
    process.nextTick(() => log.push('tick'));
    void Promise.resolve().then(() => log.push('promise'));
    setImmediate(() => {
      left -= 1;
      if (left === 0) console.log(log.join(' '));
    });
  });
}
// All of them end before any is heard of.
spawnSync('sleep', ['0.2']);
