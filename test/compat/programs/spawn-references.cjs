// spawn: ref and unref: what keeps this process running and what does not.
const { spawn } = require('node:child_process');
const { once } = require('node:events');

const forgotten = spawn('sleep', ['30'], { stdio: 'ignore', detached: true });
forgotten.unref();
console.log(forgotten._handle.hasRef(), forgotten.unref(), forgotten.ref());
console.log(forgotten._handle.hasRef());
forgotten.unref();

(async () => {
  const child = spawn('sh', ['-c', 'sleep 0.1; exit 3'], { stdio: 'ignore' });
  child.unref();
  child.ref();
  console.log(await once(child, 'exit'));
  child.ref();
  child.unref();
  process.on('exit', () => {
    console.log('exit');
    forgotten.kill();
  });
})();
