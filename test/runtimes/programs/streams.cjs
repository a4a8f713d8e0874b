'use strict';
// Pipes as streams: all of what is written, in order; what is not read stays with the child.
const { createHash } = require('node:crypto');
const { readFileSync } = require('node:fs');
const { once } = require('node:events');

const { spawn } = require('sallyport');
const { observe } = require('./observe.cjs');

const SIZE = 8 * 2 ** 20;
const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

/** Bytes that a process has written, proc_pid_io(5). */
const written = (pid) => Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))[1]);

observe({
  async thereAndBack() {
    const bytes = Buffer.alloc(SIZE);
    for (let at = 0; at < SIZE; at += 4) bytes.writeUInt32LE((at * 2654435761) >>> 0, at);
    const child = spawn('cat', [], { stdio: ['pipe', 'pipe', 'null'] });
    child.stdin.end(bytes);
    const sum = createHash('sha256');
    for await (const piece of child.stdout) sum.update(piece);
    const { code } = await child.exited;
    return [code, sum.digest('hex') === createHash('sha256').update(bytes).digest('hex')];
  },
  async backpressure() {
    const child = spawn('head', ['-c', String(SIZE), '/dev/zero'], {
      stdio: ['null', 'pipe', 'null'],
    });
    let last = -1;
    // Until it writes no more.
    for (let same = 0; same < 20;) {
      await turn();
      const now = written(child.pid);
      same = now === last && now > 0 ? same + 1 : 0;
      last = now;
    }
    let bytes = 0;
    for await (const piece of child.stdout) bytes += piece.length;
    return { heldBack: last < 2 ** 20, bytes, code: (await child.exited).code };
  },
  async pausedAndResumed() {
    const child = spawn('sh', ['-c', 'for i in 1 2 3 4 5; do echo $i; done']);
    let text = '';
    child.stdout.on('data', (piece) => {
      text += piece;
      child.stdout.pause();
      setTimeout(() => child.stdout.resume(), 1);
    });
    await once(child.stdout, 'end');
    return text;
  },
  async writesWaitForTheChild() {
    const child = spawn('wc', ['-c'], { stdio: ['pipe', 'pipe', 'null'] });
    child.kill('SIGSTOP');
    const full = child.stdin.write(Buffer.alloc(2 ** 20, 'x')) === false;
    await turn();
    const waiting = child.stdin.writableLength > 0;
    const drained = once(child.stdin, 'drain');
    child.kill('SIGCONT');
    await drained;
    child.stdin.end('rest');
    let text = '';
    for await (const piece of child.stdout) text += piece;
    return { full, waiting, count: text.trim() };
  },
  async nobodyReads() {
    const child = spawn('true', [], { stdio: ['pipe', 'null', 'null'] });
    await child.exited;
    const error = await new Promise((resolve) => {
      child.stdin.write('too late', resolve);
    });
    return error instanceof Error;
  },
  async destroyedByUs() {
    const child = spawn('yes', [], { stdio: ['null', 'pipe', 'null'] });
    await once(child.stdout, 'data');
    child.stdout.destroy();
    await once(child.stdout, 'close');
    return (await child.exited).signal;
  },
  async floodLeavesTurns() {
    const child = spawn('yes', [], { stdio: ['null', 'pipe', 'null'] });
    child.stdout.on('data', () => undefined);
    let turns = 0;
    while (turns < 20) {
      await turn();
      turns += 1;
    }
    child.kill();
    await once(child, 'close');
    return turns;
  },
});
