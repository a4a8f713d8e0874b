'use strict';
// Looks at processes through /proc, for tests and for the scripts that tests run.
// CommonJS, so that a script in a plain node process shares it; types in processes.d.cts.

const fs = require('node:fs');

// A process or thread may end between the listing and the look.
function unlessGone(look, otherwise) {
  try {
    return look();
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return otherwise;
    throw error;
  }
}

const numbers = (directory) =>
  unlessGone(() => fs.readdirSync(directory), [])
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((left, right) => left - right);

// vfork(2) lets go of the parent as soon as the old memory is gone: the new program is not loaded
// yet, its environment reads as empty, and what is close-on-exec is still open. Bounded: a program
// may hang there.
function awaitExec(pid) {
  for (let look = 0; look < 100_000; look++) {
    const text = unlessGone(() => fs.readFileSync(`/proc/${pid}/stat`, 'latin1'), '');
    const words = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, startOfCode] = [words[0], words[23]];
    if (startOfCode !== '0' || state === 'Z' || state === 'X') return;
  }
}

// What a program's loader and its C library have open for a moment, before the program begins.
const isLibrary = (link) =>
  /\/ld\.so\.cache$|\.so(\.\d+)*$|\/locale\/|\/locale\.alias$|\/gconv-modules\.cache$/.test(link);

// The number that reading a directory takes for itself is gone when its link is read.
function listDescriptors(pid = 'self', thread) {
  const isOther = pid !== 'self' && pid !== process.pid;
  if (isOther) awaitExec(pid);
  const directory = thread === undefined ? `/proc/${pid}/fd` : `/proc/${pid}/task/${thread}/fd`;
  const readLink = (fd) => unlessGone(() => fs.readlinkSync(`${directory}/${fd}`), '');
  let links = [];
  // Bounded, as above.
  for (let look = 0; look < 100_000; look++) {
    links = numbers(directory).map((fd) => [fd, readLink(fd)]);
    if (!isOther || !links.some(([, link]) => isLibrary(link))) break;
  }
  return links.filter(([, link]) => link !== '').map(([fd]) => fd);
}

// How many are open, sockets apart: a lane that starts meanwhile has one, and stays.
function countBesidesSockets(pid = 'self') {
  return listDescriptors(pid).filter(
    (fd) =>
      !unlessGone(() => fs.readlinkSync(`/proc/${pid}/fd/${fd}`), 'socket:').startsWith('socket:'),
  ).length;
}

// Over every thread: a thread may have a descriptor table of its own, which /proc/<pid>/fd of the
// main thread does not show. Tables that are shared count once for each thread.
function countDescriptors(pid = 'self') {
  return numbers(`/proc/${pid}/task`).map((thread) => listDescriptors(pid, thread).length);
}

function countThreads(pid = 'self') {
  return numbers(`/proc/${pid}/task`).length;
}

// The name of each thread.
function listThreads(pid = 'self') {
  return numbers(`/proc/${pid}/task`).flatMap((thread) =>
    unlessGone(() => [fs.readFileSync(`/proc/${pid}/task/${thread}/comm`, 'latin1').trim()], []),
  );
}

// The name stands in brackets and may itself hold blanks and brackets: read from the last one.
function readStat(pid) {
  const text = unlessGone(() => fs.readFileSync(`/proc/${pid}/stat`, 'latin1'), undefined);
  if (text === undefined) return undefined;
  const [state, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [ppid, pgid, sid, terminal, foreground] = rest.map(Number);
  return { state, ppid, pgid, sid, terminal, foreground };
}

function listChildren(pid = process.pid) {
  return numbers('/proc')
    .map((child) => ({ pid: child, ...readStat(child) }))
    .filter((child) => child.ppid === pid);
}

const listZombies = (pid) => listChildren(pid).filter((child) => child.state === 'Z');

// Gone or a zombie: it runs no more.
const hasEnded = (pid) => ['Z', 'X', undefined].includes(readStat(pid)?.state);

const isGone = (pid) => readStat(pid) === undefined;

// Everybody who has this word among its arguments and runs, whatever session or parent it has.
function listMarked(mark) {
  return numbers('/proc').filter(
    (pid) =>
      pid !== process.pid &&
      unlessGone(() => fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1'), '')
        .split('\0')
        .includes(mark) &&
      !hasEnded(pid),
  );
}

function readEnvironment(pid) {
  awaitExec(pid);
  return fs.readFileSync(`/proc/${pid}/environ`);
}

function readStatus(pid = 'self') {
  const lines = fs.readFileSync(`/proc/${pid}/status`, 'latin1').trimEnd().split('\n');
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
}

// Asks again until the answer is truthy, and says at the deadline what it last saw.
async function waitFor(what, probe, deadline = 20_000) {
  const end = Date.now() + deadline;
  for (;;) {
    const seen = await probe();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`${what}: not within ${deadline} ms; last seen: ${seen}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

// Reads a stream to its end as one Buffer.
async function readAll(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

module.exports = {
  countDescriptors,
  countThreads,
  hasEnded,
  isGone,
  listChildren,
  countBesidesSockets,
  listDescriptors,
  listMarked,
  listThreads,
  listZombies,
  readAll,
  readEnvironment,
  readStat,
  readStatus,
  waitFor,
};
