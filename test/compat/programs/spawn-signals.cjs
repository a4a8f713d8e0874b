// spawn: signals that this process ignores or blocks are neither in its children.
const { execFileSync } = require('node:child_process');

process.on('SIGUSR2', () => {});
process.on('SIGHUP', () => {});
const status = execFileSync('cat', ['/proc/self/status'], { encoding: 'utf8' });
console.log(status.match(/^Sig(Blk|Ign|Cgt):.*$/gm).map((line) => line.replace(/\s+/, ' ')));
console.log(/^NoNewPrivs:\s+(\d)/m.exec(status)?.[1]);
