// Prints which descriptors the children of each function of child_process have.
const child_process = require('node:child_process');
const { once } = require('node:events');
const { readdirSync } = require('node:fs');
const { text } = require('node:stream/consumers');

const words = ['/proc/self/fd'];
const numbers = (list) => String(list).trim().split(/\s+/).map(Number);

async function collect(child) {
  const [list] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return numbers(list);
}

async function main() {
  const { exec, execFile, execFileSync, execSync, fork, spawn, spawnSync } = child_process;
  const found = {
    spawnSync: numbers(spawnSync('ls', words).stdout),
    execSync: numbers(execSync('exec ls /proc/self/fd')),
    execFileSync: numbers(execFileSync('ls', words)),
    spawn: await collect(spawn('ls', words)),
    exec: await collect(exec('exec ls /proc/self/fd')),
    execFile: await collect(execFile('ls', words)),
    extra: await collect(spawn('ls', words, { stdio: [0, 'pipe', 2, 'ignore', 'pipe', 0] })),
    fork: await collect(fork(__filename, { silent: true })),
  };
  if (process.getuid() === 0) {
    found.uid = await collect(spawn('ls', words, { uid: 65534, gid: 65534 }));
    found.uidSync = numbers(spawnSync('ls', words, { uid: 65534, gid: 65534 }).stdout);
  }
  console.log(JSON.stringify(found));
}

if (process.send === undefined) {
  void main();
} else {
  // Node has descriptors of its own: only the one in question counts.
  console.log(
    readdirSync('/proc/self/fd')
      .filter((fd) => fd === '30')
      .join(' '),
  );
  process.disconnect();
}
