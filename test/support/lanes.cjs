'use strict';
// Looks at the spawner lanes of the process that calls, through /proc.

const fs = require('node:fs');
const os = require('node:os');

const { listDescriptors, waitFor } = require('./processes.cjs');

const threads = () => fs.readdirSync('/proc/self/task').map(Number);

// Other threads may end meanwhile; a lane never does.
function nameOf(thread) {
  try {
    return fs.readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim();
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return 'gone';
    throw error;
  }
}

const linkOf = (thread, fd) => fs.readlinkSync(`/proc/self/task/${thread}/fd/${fd}`);

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

// What this process has open, sockets apart: lanes come when they are needed, and theirs with them.
// `settle` waits until nothing more is open than before, since a stream that is done with is closed
// a little later, and says what is.
function watchDescriptors() {
  const list = () =>
    listDescriptors()
      .map((fd) => `${fd} ${linkOf(process.pid, fd)}`)
      .filter((line) => !line.includes('socket:'));
  const count = () => list().length;
  const before = { list: list(), count: count() };
  return {
    more: () => count() - before.count,
    async settle() {
      try {
        await waitFor('the descriptors', () => count() <= before.count);
      } catch (error) {
        const now = list();
        const opened = now.filter((line) => !before.list.includes(line));
        const closed = before.list.filter((line) => !now.includes(line));
        throw new Error(`${error.message}; opened: ${opened}; closed: ${closed}`, { cause: error });
      }
    },
  };
}

module.exports = { listLanes, readThreadStatus, startLanes, watchDescriptors };
