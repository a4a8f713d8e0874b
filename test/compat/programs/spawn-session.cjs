// spawn: session and process group, detached or not.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { text } = require('node:stream/consumers');

/** Of /proc/<pid>/stat: what follows the command. */
const script = 'read -r line </proc/$$/stat; echo "$line"';
const [ours] = [require('node:fs').readFileSync('/proc/self/stat', 'latin1')];
const parse = (line) => {
  const [, parent, group, session] = line.slice(line.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(parent), group: Number(group), session: Number(session) };
};

(async () => {
  for (const detached of [false, true]) {
    const child = spawn('sh', ['-c', script], { detached });
    const found = parse(await text(child.stdout));
    await once(child, 'close');
    console.log(detached, {
      isOurs: found.parent === process.pid,
      ownGroup: found.group === child.pid,
      ownSession: found.session === child.pid,
      sameGroup: found.group === parse(ours).group,
    });
    const { stdout, pid } = spawnSync('sh', ['-c', script], { detached, encoding: 'utf8' });
    console.log('sync', detached, parse(stdout).session === pid);
  }
  const leader = spawn('sh', ['-c', 'sleep 20 & sleep 20'], { detached: true });
  process.kill(-leader.pid, 'SIGTERM');
  console.log(await once(leader, 'close'));
})();
