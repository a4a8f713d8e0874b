'use strict';
// Looks at the spawner lanes of the process that calls, through /proc.

const fs = require('node:fs');
const os = require('node:os');

const { listDescriptors, waitFor } = require('./processes.cjs');

const threads = () => fs.readdirSync('/proc/self/task').map(Number);

const nameOf = (thread) => fs.readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim();

const linkOf = (thread, fd) => fs.readlinkSync(`/proc/self/task/${thread}/fd/${fd}`);

// A lane never ends: no look here can come too late.
function listLanes() {
  return threads()
    .filter((thread) => nameOf(thread) === 'sallyport-lane')
    .map((thread) => ({
      thread,
      descriptors: listDescriptors('self', thread).map((fd) => [fd, linkOf(thread, fd)]),
    }));
}

// Of each thread: its name and one line of its status, such as SigBlk or NoNewPrivs.
function readThreadStatus(name) {
  return threads().map((thread) => {
    const text = fs.readFileSync(`/proc/self/task/${thread}/status`, 'utf8');
    return [nameOf(thread), new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(text)?.[1]];
  });
}

// Launches until all the lanes are there that a process usually has, and idle: none of them is
// about to be started while somebody counts. `options` as of launch.
async function startLanes(launch, program, options = { stdio: 'null' }) {
  const usual = Math.min(Math.max(os.availableParallelism(), 2), 8);
  const runMany = async () => {
    const children = await Promise.all(
      Array.from({ length: 50 }, () => launch(program, [], options)),
    );
    await Promise.all(
      children.map(async (child) => {
        for (const stream of child.stdio) stream?.destroy();
        await child.exited;
      }),
    );
    await waitFor('the streams', () =>
      children.every(({ stdio }) => stdio.every((stream) => stream?.closed ?? true)),
    );
  };
  await waitFor('the lanes', async () => {
    await runMany();
    return listLanes().length >= usual;
  });
  await runMany();
}

module.exports = { listLanes, readThreadStatus, startLanes };
