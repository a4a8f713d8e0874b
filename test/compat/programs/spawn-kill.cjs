// spawn: signals, by every way that leads to one.
const { spawn } = require('node:child_process');
const { once } = require('node:events');

const sleeper = (options) => spawn('sleep', ['20'], { stdio: 'ignore', ...options });

(async () => {
  for (const signal of [undefined, 'SIGKILL', 'SIGINT', 9, 'SIGUSR1', 'sigterm']) {
    const child = sleeper();
    console.log(signal, child.kill(signal), child.killed, await once(child, 'exit'), child.killed);
    console.log(child.kill(), child.kill(0), child.exitCode, child.signalCode);
  }
  const child = sleeper();
  console.log(child.kill(0), child.killed, process.kill(child.pid, 0));
  for (const signal of ['SIGNONE', 1234, {}, 'x']) {
    try {
      console.log(signal, child.kill(signal));
    } catch (error) {
      console.log(signal, error.code, error.message);
    }
  }
  process.kill(child.pid, 'SIGHUP');
  console.log(await once(child, 'close'));

  const aborter = new AbortController();
  const aborted = sleeper({ signal: aborter.signal, killSignal: 'SIGUSR2' });
  aborted.on('error', (error) => console.log(error.name, error.code, error.message));
  aborter.abort();
  console.log(await once(aborted, 'exit').catch(() => once(aborted, 'exit')), aborted.killed);

  const before = sleeper({ signal: AbortSignal.abort() });
  before.on('error', (error) => console.log(error.name, error.cause?.name));
  await new Promise((resolve) => before.on('close', resolve));

  const late = sleeper({ timeout: 50, killSignal: 'SIGINT' });
  console.log(await once(late, 'exit'), late.killed);

  // A zombie: it has ended, and this process has not heard yet.
  const ended = spawn('true', { stdio: 'ignore' });
  const start = Date.now();
  const { readFileSync } = require('node:fs');
  while (!/\) Z /.test(readFileSync(`/proc/${ended.pid}/stat`, 'latin1'))) {
    if (Date.now() - start > 5000) break;
  }
  console.log('zombie', ended.kill(), ended.killed, await once(ended, 'exit'));

  if (Symbol.dispose) {
    const disposed = sleeper();
    disposed[Symbol.dispose]?.();
    console.log(disposed.killed, disposed.killed ? await once(disposed, 'exit') : disposed.kill());
  }
})();
