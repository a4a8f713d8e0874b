// Closes those of 0, 1 and 2 that it is told to, and starts children all the same.
const { spawn, spawnSync, execSync } = require('node:child_process');
const { closeSync, writeFileSync } = require('node:fs');

const [closed, report] = [process.argv[2].split('').map(Number), process.argv[3]];
const script = 'cat; echo error >&2; ls /proc/self/fd';

for (const fd of closed) closeSync(fd);
const { status, output, error } = spawnSync('sh', ['-c', script], {
  input: 'in ',
  encoding: 'utf8',
});
const big = spawnSync('cat', [], { input: Buffer.alloc(500_000), maxBuffer: 1e6 }).stdout.length;
const shared = spawnSync('true', [], { stdio: 'inherit' }).error?.code ?? 'started';
const text = execSync('echo by a shell', { encoding: 'utf8', stdio: 'pipe' });
const late = spawnSync('sleep', ['20'], { timeout: 50 });
const child = spawn('sh', ['-c', script]);
const seen = { stdout: '', stderr: '' };
for (const name of ['stdout', 'stderr']) child[name].on('data', (data) => (seen[name] += data));
child.on('close', (code) => {
  const found = { status, output, error, big, shared, text, late: late.error.code, seen, code };
  writeFileSync(report, JSON.stringify(found));
});
child.stdin.end('async ');
