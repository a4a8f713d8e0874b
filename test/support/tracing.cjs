'use strict';
// Starts the tracer (test/fixtures/tracer.c) on the process that calls, and talks to it.

const childProcess = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');

const { waitFor } = require('./processes.cjs');

const program = path.join(__dirname, '../fixtures/build/tracer');

// A thread that waits for a child which is held waits too: hold only what nobody waits for.
async function traceSelf(storm, scratch) {
  storm.allowTracing();
  const file = path.join(scratch, 'looks.jsonl');
  const tracer = childProcess.spawn(program, [String(process.pid), file], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  const channel = tracer.stdio[3];
  channel.setEncoding('utf8');
  let answers = 0;
  const held = [];
  const gone = [];
  let rest = '';
  channel.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const [word, pid] = line.split(' ');
      if (word === 'ok') answers += 1;
      if (word === 'held') held.push(Number(pid));
      if (word === 'gone') gone.push(Number(pid));
    }
  });
  const answered = (count) => waitFor('the tracer', () => answers >= count);
  const tell = async (command) => {
    const before = answers;
    channel.write(`${command}\n`);
    await answered(before + 1);
  };
  await answered(1);
  // Neither of them is the script's business: it may end.
  tracer.unref();
  channel.unref();

  return {
    pid: tracer.pid,
    held,
    gone,
    hold: (count) => tell(`hold ${count}`),
    seeExec: (count) => tell(`exec ${count}`),
    release: (pid = 0) => tell(`release ${pid}`),
    waitForHeld: (count) =>
      waitFor(`${count} held children, of which there are`, () =>
        held.length >= count ? held : undefined,
      ),
    looks: () =>
      fs
        .readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
    stop: async () => {
      tracer.ref();
      const ended = once(tracer, 'exit');
      channel.destroy();
      await ended;
    },
  };
}

module.exports = { traceSelf };
