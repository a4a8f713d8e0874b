'use strict';
// Looks at the spawner lanes of the process that calls, through /proc.

const fs = require('node:fs');

const { listDescriptors } = require('./processes.cjs');

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

module.exports = { listLanes, readThreadStatus };
