// spawn: uid and gid, where this process may change them and where not.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');

const isRoot = process.getuid() === 0;
const show = (error) => error && { ...error, message: error.message };

(async () => {
  for (const ids of [
    { uid: 65534, gid: 65534 },
    { uid: 65534 },
    { gid: 65534 },
    { uid: 0 },
    { uid: process.getuid(), gid: process.getgid() },
    { uid: -1 },
    { gid: 4294967295 },
  ]) {
    try {
      const child = spawn('sh', ['-c', 'grep -E "^(Uid|Gid|Groups)" /proc/self/status'], {
        ...ids,
        stdio: ['ignore', 'inherit', 'inherit'],
      });
      console.log(ids, await once(child, 'close'));
    } catch (error) {
      console.log(ids, show(error));
    }
    try {
      const { status, error, pid } = spawnSync('true', { ...ids });
      console.log('sync', status, show(error), error === undefined || pid);
    } catch (error) {
      console.log('sync', show(error));
    }
  }
  // What only another may not do.
  const denied = spawn('/root/.compat/none', { uid: 65534, gid: 65534 });
  console.log(await once(denied, 'error').catch((error) => error.code), isRoot);
})().catch((error) => console.log(show(error)));
