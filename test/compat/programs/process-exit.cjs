// Children that outlive this process, and exit codes when it ends with some running.
const { spawn, spawnSync } = require('node:child_process');

if (process.argv[2] === 'leave') {
  const child = spawn('sleep', ['20'], { stdio: 'ignore' });
  process.on('exit', (code) => console.log('exit', code, child.kill(0)));
  console.log(child.pid);
  process.exit(5);
} else {
  const { status, stdout } = spawnSync(
    process.execPath,
    [...process.execArgv, __filename, 'leave'],
    { encoding: 'utf8' },
  );
  const [pid, ...rest] = stdout.trim().split('\n');
  console.log(status, rest);
  console.log(process.kill(Number(pid), 'SIGKILL'));
}
