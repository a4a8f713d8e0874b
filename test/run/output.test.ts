// What is kept of the output, how it is counted and hashed, where else it goes, and how it ended.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';

import { run, runSync, type Keep, type RunOptions, type RunSyncOptions } from '../../src/index.js';
import { makeScratch } from '../support/fixtures.js';
import { hasEnded } from '../support/processes.js';
import { contained, ways } from './support.js';

const sha256 = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex');

/** The numbers 1 to n, one a line, as seq(1) prints them. */
const numbers = (n: number): string =>
  Array.from({ length: n }, (_, index) => `${index + 1}\n`).join('');

describe('a channel', () => {
  it('arrives whole, with its hash', async () => {
    const { output } = await run('sh', ['-c', 'echo out; echo err >&2'], contained);
    expect(output.stdout.text).toBe('out\n');
    expect(output.stderr.text).toBe('err\n');
    expect(output.stdout).toMatchObject({
      bytesSeen: 4,
      bytesKept: 4,
      omitted: null,
      sha256: sha256('out\n'),
      end: 'eof',
      heldBy: [],
    });
  });

  it.each([1, 20_000, 600_000, 10_000_000])('of %i bytes, hashed as it fits', async (bytes) => {
    const report = await run('head', ['-c', String(bytes), '/dev/zero'], contained);
    const { stdout } = report.output;
    expect(stdout.bytesSeen).toBe(bytes);
    expect(stdout.data.equals(Buffer.alloc(bytes))).toBe(true);
    expect(stdout.sha256).toBe(sha256(Buffer.alloc(bytes)));
    expect(report.complete).toBe(true);
  });

  it.each(['head', 'tail', 'head-and-tail'] as const)('%s: exactly the limit', async (keep) => {
    const whole = numbers(30_000);
    const report = await run('seq', ['30000'], {
      ...contained,
      output: { maxBytes: 1001, keep, onExceed: 'truncate-and-continue' },
    });
    const parts: Record<Keep, [string, string]> = {
      head: [whole.slice(0, 1001), ''],
      tail: ['', whole.slice(-1001)],
      'head-and-tail': [whole.slice(0, 501), whole.slice(-500)],
    };
    const [head, tail] = parts[keep];
    const { stdout } = report.output;
    expect(stdout.text).toBe(head + tail);
    expect(stdout).toMatchObject({
      bytesSeen: whole.length,
      bytesKept: 1001,
      omitted: { at: head.length, bytes: whole.length - 1001 },
      sha256: sha256(whole),
      end: 'truncated',
    });
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    expect(report.complete).toBe(false);
  });

  it('within its limit is whole, whichever part would be kept', async () => {
    for (const keep of ['head', 'tail', 'head-and-tail'] as const) {
      const { output } = await run('seq', ['100'], {
        ...contained,
        output: { maxBytes: 292, keep },
      });
      expect(output.stdout).toMatchObject({ bytesKept: 292, omitted: null, end: 'eof' });
      expect(output.stdout.text).toBe(numbers(100));
    }
  });

  it('has limits of its own', async () => {
    const { output } = await run('sh', ['-c', 'echo 1234567; echo 1234567 >&2'], {
      ...contained,
      output: { onExceed: 'truncate-and-continue', maxBytes: 3, stderr: { maxBytes: 5 } },
    });
    expect([output.stdout.text, output.stderr.text]).toEqual(['123', '12345']);
  });

  it('in pieces does not join halves of characters across the gap', async () => {
    const { output } = await run('printf', ['aé'.repeat(50)], {
      ...contained,
      output: { maxBytes: 4, keep: 'head-and-tail', onExceed: 'truncate-and-continue' },
    });
    expect(output.stdout.text).toBe('a\uFFFDé');
  });

  it('stays out of everything that is printed or written', async () => {
    const report = await run('echo', ['made-up-output'], contained);
    expect(JSON.stringify(report)).not.toContain('made-up-output');
    expect(inspect(report, { depth: 10 })).not.toContain('made-up-output');
    expect({ ...report.output.stdout }).not.toHaveProperty('text');
    expect(report.output.stdout.text).toBe('made-up-output\n');
  });

  it('that is no pipe of the run is not claimed to be seen', async () => {
    const report = await run('true', [], { ...contained, stdio: ['null', 'null', 'inherit'] });
    expect(report.output.stderr.observed).toBe(false);
    expect(report.notTested).toContain('output: stderr was not a pipe of the run');
    expect(report.notTested.join()).not.toContain('stdout');
  });
});

describe('a flood', () => {
  it('with end: is stopped at the limit', async () => {
    const script =
      "trap '' TERM PIPE; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done";
    const report = await run('sh', ['-c', script], {
      ...contained,
      grace: 50,
      output: { maxBytes: 1_000 },
    });
    expect(report.outcome).toMatchObject({ kind: 'output-limit', signal: 'SIGKILL' });
    expect(report.output.stdout).toMatchObject({ bytesKept: 1_000, end: 'truncated' });
    expect(report.output.stdout.bytesSeen).toBeGreaterThan(1_000);
  });
});

describe.each(ways)(
  'a child that writes much and exits at once (containment %s)',
  (_, containment) => {
    it.each([
      ['by a lane', {}],
      ['by a lane without no_new_privs', { noNewPrivileges: false }],
      ['with steps of the launcher', { umask: 0o22 }],
      ['into the pipe of both', { output: { merge: true } }],
    ])('%s: every byte arrives', async (_name, options) => {
      const bytes = 10_000_000;
      const report = await run('head', ['-c', String(bytes), '/dev/zero'], {
        containment,
        ...options,
      });
      const { bytesSeen, bytesKept, sha256: hash, end } = report.output.stdout;
      expect({ bytesSeen, bytesKept, hash, end }).toEqual({
        bytesSeen: bytes,
        bytesKept: bytes,
        hash: sha256(Buffer.alloc(bytes)),
        end: 'eof',
      });
      expect(report.complete).toBe(true);
    });
  },
);

describe.each(ways)('a pipe that others hold (containment %s)', (method, containment) => {
  it('is named, and what had been written is there', async () => {
    const report = await run('sh', ['-c', 'sleep 30 & echo hi'], { containment, drain: 100 });
    const { stdout, stderr } = report.output;
    expect(stdout.text).toBe('hi\n');
    expect(stdout.end).toBe('held');
    expect(stdout.heldBy).toHaveLength(1);
    expect(stdout.heldBy[0]).toMatchObject({ fd: 1, executable: expect.stringMatching(/sleep$/) });
    expect(stderr.heldBy[0]).toMatchObject({ fd: 2, pid: stdout.heldBy[0]!.pid });
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    expect(report.cleanup.survivors).toEqual([]);
    expect(hasEnded(stdout.heldBy[0]!.pid)).toBe(true);
    expect(report.complete).toBe(false);
  });

  it('by somebody who has left the session: all that was written is there, without a wait', async () => {
    // More than a pipe holds, the last of it written just before the exit.
    const script =
      `setsid sh -c ': >"$0"; exec sleep 30' "$0" & ` +
      'until [ -e "$0" ]; do :; done; head -c 250000 /dev/zero; echo end';
    const scratch = makeScratch();
    const starts = {
      run: (args: string[], wish: RunSyncOptions) => {
        // What reads along is behind, so that the pipe is full when the program exits.
        const to = new Writable({
          highWaterMark: 1,
          write: (_chunk, _encoding, done) => void setTimeout(done, 10),
        });
        return run('sh', args, { ...wish, output: { stdout: { to } } });
      },
      runSync: async (args: string[], wish: RunSyncOptions) => runSync('sh', args, wish),
    };
    for (const [name, start] of Object.entries(starts)) {
      for (let round = 0; round < 5; round++) {
        const args = ['-c', script, path.join(scratch, `${name} ${String(round)}`)];
        const wish = { containment, drain: 0, deadline: 20_000 };
        const { output, outcome } = await start(args, wish);
        const { stdout } = output;
        expect(outcome).toMatchObject({ kind: 'exited', code: 0 });
        expect(stdout).toMatchObject({ bytesSeen: 250_004, end: 'held', omitted: null });
        expect(stdout.data.subarray(-4).toString()).toBe('end\n');
        expect(stdout.heldBy).toMatchObject([{ fd: 1 }]);
        // By group it is not looked for, and lives.
        const { pid } = stdout.heldBy[0]!;
        expect(hasEnded(pid)).toBe(method !== 'group');
        if (method === 'group') process.kill(pid, 'SIGKILL');
      }
    }
  });

  it('by somebody who goes on writing: it is read no further than a pipe holds', async () => {
    const report = await run('sh', ['-c', 'yes & echo hi'], {
      containment,
      drain: 50,
      output: { maxBytes: 10, onExceed: 'truncate-and-continue' },
    });
    expect(report.output.stdout.end).toBe('held');
    expect(report.cleanup.survivors).toEqual([]);
  });

  it('and let go of in time has ended', async () => {
    const report = await run('sh', ['-c', '(sleep 0.1; echo late) & echo hi'], {
      containment,
      drain: 20_000,
    });
    expect(report.output.stdout).toMatchObject({ end: 'eof', heldBy: [] });
    expect(report.output.stdout.text).toBe('hi\nlate\n');
  });
});

describe('merge', () => {
  const merged: RunOptions = { ...contained, output: { merge: true } };

  it('has both in the order in which they were written', async () => {
    const script = 'i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done';
    const { output } = await run('sh', ['-c', script], merged);
    const lines = Array.from({ length: 200 }, (_, i) => `out ${i}\nerr ${i}\n`).join('');
    expect(output.stdout.text).toBe(lines);
    expect(output.stderr).toMatchObject({ bytesSeen: 0, end: 'eof', observed: false });
  });

  it('is one pipe in the child', async () => {
    const { output, inheritance } = await run(
      'sh',
      ['-c', 'readlink /proc/self/fd/1; readlink /proc/$$/fd/2'],
      merged,
    );
    const [first, second] = output.stdout.text.trim().split('\n');
    expect(first).toBe(second);
    expect(inheritance.descriptors[2]).toMatchObject({ channel: 'stdout' });
  });

  it.each([
    ['stdio[1]', { stdio: ['null', 'null', undefined] }],
    ['stdio[2]', { stdio: ['null', 'pipe', 'null'] }],
    ['output.stderr', { output: { merge: true, stderr: { maxBytes: 3 } } }],
  ] as const)('refuses %s that says otherwise', async (option, more) => {
    const running = run('true', [], { ...merged, ...(more as RunOptions) });
    await expect(running).rejects.toMatchObject({ stagePath: option });
  });
});

describe('to', () => {
  it('a file: all of it, however little is kept', async () => {
    const file = path.join(makeScratch(), 'out');
    const report = await run('seq', ['200000'], {
      ...contained,
      output: { stdout: { to: file, maxBytes: 10, onExceed: 'truncate-and-continue' } },
    });
    expect(readFileSync(file, 'utf8')).toBe(numbers(200_000));
    expect(report.output.stdout).toMatchObject({ bytesKept: 10, deliveryError: null });
  });

  it('a file that cannot be written: nothing is started', async () => {
    const directory = path.join(makeScratch(), 'directory');
    mkdirSync(directory);
    const report = await run('touch', [path.join(directory, 'started')], {
      ...contained,
      output: { stdout: { to: directory } },
    });
    expect(report.outcome).toMatchObject({
      kind: 'spawn-failed',
      error: { code: 'EISDIR', stage: 'descriptor', stagePath: directory },
    });
  });

  it('a stream that is slow: the child waits', async () => {
    const pieces: Buffer[] = [];
    const slow = new Writable({
      highWaterMark: 1,
      write: (chunk: Buffer, _, done) => {
        pieces.push(chunk);
        setImmediate(done);
      },
    });
    const report = await run('seq', ['100000'], { ...contained, output: { stdout: { to: slow } } });
    expect(Buffer.concat(pieces).toString()).toBe(numbers(100_000));
    expect(report.complete).toBe(true);
    expect(slow.writableEnded).toBe(false);
    expect(slow.listenerCount('close') + slow.listenerCount('drain')).toBe(0);
  });

  it('a stream that fails: the report says so, and the run goes on', async () => {
    const broken = new Writable({
      write: (_chunk, _encoding, done) => {
        done(new Error('no room'));
      },
    });
    const report = await run('seq', ['10'], { ...contained, output: { stdout: { to: broken } } });
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    expect(report.output.stdout).toMatchObject({ end: 'eof', deliveryError: 'no room' });
    expect(report.complete).toBe(false);
  });

  it('a stream that throws has failed', async () => {
    const broken = new Writable({
      write: () => {
        throw new Error('thrown');
      },
    });
    const report = await run('seq', ['10'], { ...contained, output: { stdout: { to: broken } } });
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    expect(report.output.stdout).toMatchObject({ delivered: false, deliveryError: 'thrown' });
    expect(report.complete).toBe(false);
  });

  it('a file with no room for the last piece: the report says so', async () => {
    // Every write(2) to it is ENOSPC, full(4).
    const report = await run('echo', ['lost'], {
      ...contained,
      output: { stdout: { to: '/dev/full' } },
    });
    expect(report.output.stdout.delivered).toBe(false);
    expect(report.output.stdout.deliveryError).toMatch(/^ENOSPC/);
    expect(report.complete).toBe(false);
  });

  it('a stream that never takes more: the deadline holds', async () => {
    const stuck = new Writable({ highWaterMark: 1, write: () => undefined });
    const report = await run('seq', ['100000'], {
      ...contained,
      deadline: 200,
      grace: 50,
      drain: 50,
      output: { stdout: { to: stuck } },
    });
    expect(report.outcome.kind).toBe('deadline');
    expect(report.output.stdout.end).toBe('cut');
    expect(report.output.stdout.deliveryError).toContain('before everything was delivered');
  });

  it('a function for each line', async () => {
    const lines: string[] = [];
    await run('printf', ['one\\ntwo\\n\\nlast'], {
      ...contained,
      output: { stdout: { to: (line) => void lines.push(line) } },
    });
    expect(lines).toEqual(['one', 'two', '', 'last']);
  });

  it('a function that returns a promise of another realm: it is waited for', async () => {
    const error = new Error('late');
    const Other = runInNewContext('Promise') as PromiseConstructor;
    const output = { stdout: { to: () => Other.reject(error) } };
    await expect(run('echo', ['x'], { ...contained, output })).rejects.toBe(error);
  });

  it('a function that throws: the run is ended, and rejects with it', async () => {
    const thrown = new Error('made up');
    let lines = 0;
    const running = run('yes', [], {
      ...contained,
      output: {
        stdout: {
          to: () => {
            lines += 1;
            throw thrown;
          },
        },
      },
    });
    await expect(running).rejects.toBe(thrown);
    expect(lines).toBe(1);
  });
});

describe('a mask', () => {
  const error = new Error('made up');
  const fail = (): never => {
    throw error;
  };
  const pass = (chunk: Uint8Array): Uint8Array => chunk;

  it('is asked what it may show once nothing more comes', async () => {
    const mask = {
      push: () => new Uint8Array(),
      flush: () => Buffer.from('!'),
      idle: () => Buffer.from('?'),
    };
    const heard: string[] = [];
    const input = new PassThrough();
    // The program goes on only when what it printed has been shown.
    const to = new Writable({
      write(chunk: Buffer, _, done) {
        heard.push(chunk.toString());
        input.end('go\n');
        done();
      },
    });
    const report = await run('sh', ['-c', 'printf name; read x; exit 3'], {
      ...contained,
      input,
      output: { mask: () => mask, stdout: { to } },
    });
    expect(report.outcome.code).toBe(3);
    expect(heard.join('')).toBe('?!');
  });

  it.each([
    ['push', { push: fail, flush: () => new Uint8Array() }],
    ['flush', { push: pass, flush: fail }],
  ])('that throws in %s: the run rejects with it', async (_, mask) => {
    const running = run('echo', ['hidden'], { ...contained, output: { mask: () => mask } });
    await expect(running).rejects.toBe(error);
  });

  it('that throws: the run is ended, and nothing is handed on without it', async () => {
    const lines: string[] = [];
    const to = (line: string): void => void lines.push(line);
    const mask = { push: fail, flush: () => new Uint8Array() };
    const running = run('yes', [], { ...contained, output: { mask: () => mask, stdout: { to } } });
    await expect(running).rejects.toBe(error);
    expect(lines).toEqual([]);
  });

  it('that gives no bytes is refused', async () => {
    const mask = { push: () => null as unknown as Uint8Array, flush: () => new Uint8Array() };
    const running = run('echo', ['hidden'], { ...contained, output: { mask: () => mask } });
    await expect(running).rejects.toMatchObject({ code: 'ERR_SALLYPORT_INVALID_ARGUMENT' });
  });

  it('that cannot be made: nothing is started', async () => {
    const file = path.join(makeScratch(), 'started');
    const running = run('touch', [file], { ...contained, output: { mask: fail } });
    await expect(running).rejects.toBe(error);
    expect(existsSync(file)).toBe(false);
    const none = run('touch', [file], { ...contained, output: { mask: () => null as never } });
    await expect(none).rejects.toMatchObject({ code: 'ERR_SALLYPORT_INVALID_ARGUMENT' });
    expect(existsSync(file)).toBe(false);
  });
});
