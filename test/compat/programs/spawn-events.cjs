// spawn: which events come, in which order, with what.
const { spawn } = require('node:child_process');

function watch(name, file, args, options) {
  return new Promise((resolve) => {
    const seen = [];
    const child = spawn(file, args, options);
    for (const event of ['spawn', 'exit', 'close', 'error', 'disconnect', 'message']) {
      child.on(event, (...values) => seen.push([event, ...values.map(String)]));
    }
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('end', () => seen.push('end'));
      stream?.resume();
    }
    const before = { exitCode: child.exitCode, signalCode: child.signalCode, killed: child.killed };
    child.on('close', () => {
      // Output may end before or after the exit.
      const order = seen.filter((entry) => entry !== 'end');
      const ends = seen.indexOf('end') !== -1 && seen.lastIndexOf('end') < seen.length - 1;
      const after = { exitCode: child.exitCode, signalCode: child.signalCode };
      console.log(name, JSON.stringify({ before, order, ends, after, handle: child._handle }));
      resolve();
    });
  });
}

(async () => {
  await watch('success', 'true', []);
  await watch('failure', 'false', []);
  await watch('code', 'sh', ['-c', 'exit 42']);
  await watch('signal', 'sh', ['-c', 'kill -TERM $$']);
  await watch('realtime signal', 'sh', ['-c', 'kill -40 $$']);
  await watch('no pipes', 'true', [], { stdio: 'ignore' });
  await watch('inherited', 'echo', ['inherited'], { stdio: 'inherit' });
  const child = spawn('true');
  console.log(typeof child.pid, child.spawnfile, child.spawnargs, child.connected, child.channel);
  console.log(Object.keys(child).sort().join());
  console.log(child.stdio.length, child.stdin === child.stdio[0], child.stdout.constructor.name);
})();
