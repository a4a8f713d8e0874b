// Diagnostics channels and asynchronous context around children.
const { AsyncLocalStorage } = require('node:async_hooks');
const { execFile, fork, spawn, spawnSync } = require('node:child_process');
const channels = require('node:diagnostics_channel');
const { once } = require('node:events');

for (const name of ['child_process', 'tracing:child_process.spawn:start', 'child_process.spawn']) {
  channels.subscribe(name, (message) => console.log(name, Object.keys(message)));
}
for (const event of ['start', 'end', 'error']) {
  const name = `tracing:child_process.spawn:${event}`;
  channels.subscribe(name, ({ error }) => console.log(name, error?.code));
}

const storage = new AsyncLocalStorage();
(async () => {
  await storage.run('one', async () => {
    const child = spawn('true');
    child.on('exit', () => console.log('exit in', storage.getStore()));
    child.on('close', () => console.log('close in', storage.getStore()));
    await once(child, 'close');
  });
  const children = ['a', 'b', 'c'].map((name) =>
    storage.run(name, () => {
      const child = spawn('true', { stdio: 'ignore' });
      const seen = [];
      child.on('exit', () => {
        process.nextTick(() => seen.push(storage.getStore()));
        seen.push(storage.getStore());
      });
      return once(child, 'close').then(() => [name, seen]);
    }),
  );
  console.log(await Promise.all(children));
  await new Promise((resolve) => {
    storage.run('callback', () => execFile('true', () => resolve(console.log(storage.getStore()))));
  });
  spawnSync('true');
  spawn('no-such-program-anywhere').on('error', (error) => console.log(error.code));
  fork('/no/such/module.cjs', { silent: true });
})();
