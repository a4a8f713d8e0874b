// The standard channels: what the child finds at 0, 1, 2, and the parent's ends as streams.
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { type Child, spawn } from '../../src/index.js';
import { makeScratch } from '../support/fixtures.js';
import { inNode, runScript } from '../support/node-script.js';
import { readAll } from '../support/processes.js';
import { readWitness, witness } from '../support/witness.js';

const scratch = makeScratch();
const MiB = 1024 * 1024;

/** What the witness writes for --flood. */
function expectedFlood(bytes: number): Buffer {
  const lines = Math.ceil(bytes / 15);
  const text = Array.from({ length: lines }, (_, line) => `${String(line).padStart(14, '0')}\n`);
  return Buffer.from(text.join('')).subarray(0, bytes);
}

async function readBoth({ stdout, stderr }: Child): Promise<[Buffer, Buffer]> {
  if (stdout === null || stderr === null) throw new Error('both have to be pipes');
  return Promise.all([readAll(stdout), readAll(stderr)]);
}

/** When what runs off by itself has begun to: a turn of the event loop after the exit. */
async function afterExit(child: Child): Promise<void> {
  await child.exited;
  for (let turn = 0; turn < 3; turn++) await nextTurn();
}

describe('what the child finds', () => {
  it("by default: null, and two pipes, blocking at the child's end", async () => {
    const child = spawn(witness);
    const { descriptors } = await readWitness(child);
    expect(descriptors.map(({ fd, type, link }) => [fd, type, link.split(':')[0]])).toEqual([
      [0, 'char-device', '/dev/null'],
      [1, 'pipe', 'pipe'],
      [2, 'pipe', 'pipe'],
    ]);
    expect(descriptors.slice(1).map(({ access }) => access)).toEqual(['write', 'write']);
    const O_NONBLOCK = 0o4000;
    expect(descriptors.map(({ flags }) => flags & O_NONBLOCK)).toEqual([0, 0, 0]);
    expect(descriptors[1]?.ino).not.toBe(descriptors[2]?.ino);
    expect(child.stdin).toBeNull();
    expect(child.stdio).toEqual([null, child.stdout, child.stderr]);
  });

  it("'pipe' for all three: stdin too is a real pipe", async () => {
    const child = spawn('sh', ['-c', 'cat /dev/stdin; cat <&0; stat -L -c %F /proc/self/fd/1'], {
      stdio: 'pipe',
    });
    child.stdin?.end('hello\n');
    expect(child.stdout && String(await readAll(child.stdout))).toBe('hello\nfifo\n');
  });

  it('/dev/stdout and /dev/stderr can be opened', async () => {
    const child = spawn('sh', ['-c', 'echo hi >/dev/stdout; echo oh >/dev/stderr']);
    const [out, err] = await readBoth(child);
    expect([String(out), String(err)]).toEqual(['hi\n', 'oh\n']);
    expect((await child.exited).code).toBe(0);
  });

  it("'null' for all three: all are /dev/null and there are no streams", async () => {
    const out = path.join(scratch, 'null.json');
    const child = spawn(witness, ['--out', out], { stdio: 'null' });
    expect(child.stdio).toEqual([null, null, null]);
    expect((await child.exited).code).toBe(0);
    const { descriptors } = JSON.parse(readFileSync(out, 'utf8')) as {
      descriptors: Array<{ link: string }>;
    };
    expect(descriptors.map(({ link }) => link)).toEqual(['/dev/null', '/dev/null', '/dev/null']);
  });

  it('a short tuple is filled up with the defaults', async () => {
    const child = spawn('cat', [], { stdio: ['pipe'] });
    child.stdin?.end('in');
    expect(child.stdout && String(await readAll(child.stdout))).toBe('in');
    expect(child.stderr).not.toBeNull();
    const holes = spawn('true', [], { stdio: [undefined, 'null'] as never });
    expect(holes.stdio.map((stream) => stream === null)).toEqual([true, true, false]);
    await holes.exited;
  });

  it('a descriptor: a file is written by the child itself', async () => {
    const file = path.join(scratch, 'written');
    const fd = openSync(file, 'w');
    const child = spawn('sh', ['-c', 'echo out; echo err >&2'], { stdio: ['null', fd, fd] });
    closeSync(fd);
    expect((await child.exited).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe('out\nerr\n');
    expect(child.stdout).toBeNull();
  });

  it("'inherit': the parent's own", async () => {
    const { stdout, stderr } = await runScript(async ({ sallyport }) => {
      await sallyport.spawn('sh', ['-c', 'echo out; echo err >&2'], { stdio: 'inherit' }).exited;
    }, null);
    expect([stdout, stderr]).toEqual(['out\n', 'err\n']);
  });

  it('a pipe ends in the parent when the child closes it, though other children still run', async () => {
    const long = spawn(witness, ['--quiet', '--hold'], { stdio: 'pipe' });
    const child = spawn('sh', ['-c', 'echo done; exec 1>/dev/null; cat'], { stdio: 'pipe' });
    const later = spawn(witness, ['--quiet', '--hold'], { stdio: 'pipe' });
    expect(child.stdout && String(await readAll(child.stdout))).toBe('done\n');
    expect(child.exitCode).toBeNull();
    child.stdin?.end();
    expect((await child.exited).code).toBe(0);
    for (const each of [long, later]) {
      each.kill('SIGKILL');
      await each.exited;
    }
  });
});

describe('reading', () => {
  it('10 MB arrive complete and in order, on both channels at once', async () => {
    const child = spawn(witness, [
      '--quiet',
      '--flood-err',
      String(MiB),
      '--flood',
      String(10 * MiB),
    ]);
    const [out, err] = await readBoth(child);
    expect(out.equals(expectedFlood(10 * MiB))).toBe(true);
    expect(err.equals(expectedFlood(MiB))).toBe(true);
  });

  it('begun only after `exited`, it loses nothing of what the child had written', async () => {
    // As much as fits into a pipe: more would keep the child from exiting.
    const child = spawn(witness, ['--quiet', '--flood', String(48 * 1024)]);
    expect((await child.exited).code).toBe(0);
    expect(child.stdout && (await readAll(child.stdout)).equals(expectedFlood(48 * 1024))).toBe(
      true,
    );
  });

  it('10 MB: a reader that comes while the child is blocked in write gets all of it', async () => {
    const child = spawn(witness, ['--quiet', '--flood', String(10 * MiB)]);
    let exited = false;
    const exit = child.exited.then(() => (exited = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(exited).toBe(false);
    expect(child.stdout && (await readAll(child.stdout)).equals(expectedFlood(10 * MiB))).toBe(
      true,
    );
    await exit;
  });

  it('10 MB that a grandchild writes on after the exit, read only after `exited`', async () => {
    const child = spawn('sh', [
      '-c',
      `"$1" --quiet --flood ${String(10 * MiB)} & exit 3`,
      'sh',
      witness,
    ]);
    const order: string[] = [];
    child.on('exit', () => order.push('exit'));
    child.on('close', () => order.push('close'));
    const closed = once(child, 'close');
    expect((await child.exited).code).toBe(3);
    expect(child.stdout && (await readAll(child.stdout)).equals(expectedFlood(10 * MiB))).toBe(
      true,
    );
    await closed;
    expect(order).toEqual(['exit', 'close']);
  });

  it('nobody reads: close comes nonetheless', async () => {
    const child = spawn(witness, ['--quiet', '--flood', String(48 * 1024)]);
    await once(child, 'close');
    expect(child.exitCode).toBe(0);
  });

  it.each([
    ['before the child ends', 'exec yes'],
    ['after it has ended', 'head -c 50000 /dev/zero'],
  ])('its destination goes away %s: close comes nonetheless', async (_, script) => {
    const child = spawn('sh', ['-c', script]);
    // Takes one piece, and asks for no more.
    const slow = new Writable({ highWaterMark: 1, write: () => slow.emit('taken') });
    child.stdout?.pipe(slow);
    await once(slow, 'taken');
    const closed = once(child, 'close');
    if (script === 'exec yes') {
      slow.destroy();
      child.kill();
      await child.exited;
    } else {
      await afterExit(child);
      slow.destroy();
    }
    await closed;
    expect(child.stdout?.destroyed).toBe(true);
  });

  it('its destination was taken away: the rest is kept for another', async () => {
    const script = 'printf first; read line; printf second';
    const child = spawn('sh', ['-c', script], { stdio: 'pipe' });
    const first = new PassThrough();
    child.stdout?.pipe(first);
    expect(String((await once(first, 'data'))[0])).toBe('first');
    child.stdout?.unpipe(first);
    child.stdin?.end('\n');
    await afterExit(child);
    expect(String(child.stdout && (await readAll(child.stdout)))).toBe('second');
  });

  it('setEncoding, pipe and async iteration work as on any readable', async () => {
    const child = spawn('sh', ['-c', 'printf "ünï\\nzwei\\n"']);
    child.stdout.setEncoding('utf8');
    let text = '';
    for await (const piece of child.stdout) text += String(piece);
    expect(text).toBe('ünï\nzwei\n');
  });

  it('destroying stdout lets the child meet SIGPIPE, as in a shell', async () => {
    const child = spawn(witness, ['--quiet', '--flood', String(64 * MiB)]);
    child.stdout?.once('data', () => child.stdout?.destroy());
    const { signal } = await child.exited;
    expect(signal).toBe('SIGPIPE');
  });
});

describe('writing', () => {
  it('10 MB pass through cat unchanged', async () => {
    const child = spawn('cat', [], { stdio: ['pipe', 'pipe', 'null'] });
    const sent = expectedFlood(10 * MiB);
    child.stdin?.end(sent);
    expect(child.stdout && (await readAll(child.stdout)).equals(sent)).toBe(true);
  });

  it('backpressure: a child that does not read makes write() say false', async () => {
    const child = spawn(witness, ['--quiet', '--hold'], { stdio: ['pipe', 'null', 'null'] });
    expect(child.stdin?.write(Buffer.alloc(4 * MiB))).toBe(false);
    child.kill('SIGKILL');
    expect((await child.exited).signal).toBe('SIGKILL');
  });

  it('EPIPE on stdin is never an uncaught exception', async () => {
    const seen = await inNode(async ({ sallyport }) => {
      const statuses = [];
      for (const bytes of [1, 65536, 1_000_000]) {
        const child = sallyport.spawn('true', [], { stdio: ['pipe', 'pipe', 'pipe'] });
        const closed = new Promise((resolve) => child.once('close', resolve));
        child.stdin?.write(Buffer.alloc(bytes));
        statuses.push((await child.exited).code);
        // After the exit too.
        child.stdin?.write('more');
        child.stdin?.end('and more');
        await closed;
      }
      const killed = sallyport.spawn('sleep', ['9'], { stdio: ['pipe', 'null', 'null'] });
      killed.stdin?.write(Buffer.alloc(1_000_000));
      killed.kill('SIGKILL');
      statuses.push((await killed.exited).signal);
      await new Promise((resolve) => setImmediate(resolve));
      return statuses;
    }, null);
    expect(seen).toEqual([0, 0, 0, 'SIGKILL']);
  });

  it("who listens to stdin's error hears of EPIPE", async () => {
    const child = spawn('sh', ['-c', 'exec 0</dev/null; echo; exec sleep 9'], { stdio: 'pipe' });
    await (child.stdout && once(child.stdout, 'data'));
    const failed = child.stdin && once(child.stdin, 'error');
    child.stdin?.write('to nobody');
    const [error] = (await failed) as [NodeJS.ErrnoException];
    expect(error.code).toBe('EPIPE');
    child.kill('SIGKILL');
    await child.exited;
  });

  it("the end of stdin is the child's end of file", async () => {
    const child = spawn(witness, ['--quiet', '--hold-fd', '0', '--exit', '7'], {
      stdio: ['pipe', 'null', 'null'],
    });
    child.stdin?.end();
    expect((await child.exited).code).toBe(7);
  });
});

it('a hundred children with three pipes each leave no descriptor in the parent', async () => {
  const seen = await inNode(async ({ sallyport, processes, fixture }) => {
    const run = async () => {
      const child = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'pipe' });
      child.stdout?.resume();
      child.stderr?.resume();
      child.stdin?.end();
      await new Promise((resolve) => child.once('close', resolve));
    };
    await run();
    await new Promise((resolve) => setImmediate(resolve));
    const before = processes.countDescriptors();
    for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 10 }, run));
    await processes.waitFor(
      'the descriptors',
      () => Math.max(...processes.countDescriptors()) <= Math.max(...before),
    );
    return { same: Math.max(...processes.countDescriptors()) - Math.max(...before) };
  }, null);
  expect(seen.same).toBe(0);
});
