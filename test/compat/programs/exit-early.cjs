// A Node program that prints more than a plain pipe holds, and calls process.exit().
const { execFileSync, spawn, spawnSync } = require('node:child_process');

const script = "process.stdout.write('x'.repeat(100_000)); process.exit()";
console.log('spawnSync', spawnSync(process.execPath, ['-e', script]).stdout.length);
console.log('execFileSync', execFileSync(process.execPath, ['-e', script]).length);

const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
// Nobody reads before the exit.
child.stdout.pause();
child.once('exit', () => {
  let length = 0;
  child.stdout.on('data', (chunk) => (length += chunk.length));
  child.once('close', () => console.log('spawn', length));
});
