// A listener that throws: the exception is uncaught, and the other children are heard of.
const { spawn } = require('node:child_process');

let left = 3;
process.on('uncaughtException', (error, origin) => {
  console.log(error.message, origin);
});
for (const index of [0, 1, 2]) {
  const child = spawn('true', { stdio: 'ignore' });
  child.on('exit', () => {
    left -= 1;
    if (left === 0) console.log('all were heard of');
    throw new Error(`of one child`);
  });
  void index;
}
