// exec: callback, promise, and everything that an error holds.
const { exec } = require('node:child_process');
const { promisify } = require('node:util');

const show = (error) =>
  error && { ...error, message: error.message, name: error.name, keys: Object.keys(error) };

function run(name, command, options) {
  return new Promise((resolve) => {
    const child = exec(command, options, (error, stdout, stderr) => {
      console.log(name, show(error), stdout.length > 200 ? stdout.length : stdout, stderr);
      resolve();
    });
    console.log(child.spawnfile, child.spawnargs);
  });
}

(async () => {
  await run('success', 'echo out; echo err >&2', {});
  await run('failure', 'echo partly; exit 3', {});
  await run('missing', 'no-such-program-anywhere', { env: { PATH: '/nowhere', LC_ALL: 'C' } });
  await run('killed', 'kill -KILL $$', {});
  await run('timeout', 'echo begun; exec sleep 20', { timeout: 200 });
  await run('timeout, signal', 'exec sleep 20', { timeout: 50, killSignal: 'SIGUSR1' });
  await run('directory', 'pwd', { cwd: '/usr' });
  await run('missing directory', 'pwd', { cwd: '/no/such/directory' });
  await run('shell', 'echo $0', { shell: '/bin/bash' });
  await run('missing shell', 'echo', { shell: '/no/such/shell' });
  await run('buffer', 'printf "\\377"', { encoding: 'buffer' });
  await run('latin1', 'printf "\\344"', { encoding: 'latin1' });
  await run('aborted', 'sleep 20', { signal: AbortSignal.abort() });
  const kept = await new Promise((resolve) => {
    exec('head -c 100000 /dev/zero | tr "\\0" x', { maxBuffer: 1000 }, (error, stdout) =>
      resolve([show(error), stdout.length]),
    );
  });
  console.log('maxBuffer', kept);
  console.log(await promisify(exec)('echo promised'));
  const rejected = await promisify(exec)('echo before; exit 5').catch((error) => error);
  console.log(show(rejected), rejected.stdout);
  const promise = promisify(exec)('true');
  console.log(promise.child.constructor.name);
  await promise;
})();
