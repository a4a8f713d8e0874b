// `sallyport run` with a deadline and its like, without a terminal: what is passed on, ended and said.
import { execFileSync, spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import type { RunReport } from '../../src/index.js';
import {
  parseLimits,
  parseSize,
  parseTime,
  phraseSize,
  phraseTime,
} from '../../src/cli/quantities.js';
import { fixture, makeScratch, publicFixture } from '../support/fixtures.js';
import { copyPackage } from '../support/package-copy.js';
import { isGone, listMarked, waitFor } from '../support/processes.js';
import { type Witness, witness } from '../support/witness.js';
import { runCli, startCli } from './command-line.js';
import { cli } from './terminal.js';

const scratch = makeScratch();

function readRecords(file: string): RunReport[] {
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RunReport);
}

describe('what ends it', () => {
  it('--deadline: 125, one sentence, and nothing is left', async () => {
    const mark = randomUUID();
    const members = ['ignore', 'setsid', 'daemon'];
    const ran = await runCli([
      'run',
      '--deadline',
      '600ms',
      '--grace',
      '50ms',
      fixture('tree'),
      mark,
      ...members,
    ]);
    // All of them had come to be.
    expect(ran.stdout.match(/^\w+ \d+$/gm)).toHaveLength(4);
    expect(ran.code).toBe(125);
    expect(ran.stderr).toMatch(
      /^sallyport: run: \S*tree: ended at its deadline of 0\.6 s; SIGTERM to \d+ process(?:es)?, SIGKILL to \d+ process(?:es)?\n$/,
    );
    await waitFor('nobody', () => listMarked(mark).length === 0);
  });

  it('--stall, with what it did', async () => {
    const ran = await runCli(['run', '--stall', '0.3', 'sh', '-c', 'echo begun; sleep 60; :']);
    expect(ran).toMatchObject({ code: 125, stdout: 'begun\n' });
    expect(ran.stderr).toMatch(
      /ended for standing still: no output for 0\.\d s \(\S+ \(\d+\) was in state S/,
    );
  });

  it('--max-output: exactly so much is passed on, of each channel', async () => {
    const script = 'printf %0100d 0; printf %0100d 1 >&2; exec sleep 60';
    const ran = await runCli(['run', '--quiet', '--max-output', '64', 'sh', '-c', script]);
    expect(ran.code).toBe(125);
    expect(ran.stdout).toBe('0'.repeat(64));
    expect('0'.repeat(64).startsWith(ran.stderr)).toBe(true);
  });

  it('what it leaves is ended with it, and held pipes are named; the exit code is its own', async () => {
    const ran = await runCli([
      'run',
      '--drain',
      '50ms',
      '--stall',
      '1m',
      'sh',
      '-c',
      'sleep 60 & echo $!; exit 3',
    ]);
    expect(ran.code).toBe(3);
    expect(ran.stderr).toMatch(
      /stdout was held by \S+ \(\d+\); stderr was held by .*; SIGTERM to 1 process\n/,
    );
    await waitFor('its end', () => isGone(Number(ran.stdout)));
  });

  it('a signal that it was given is its own affair', async () => {
    const child = startCli(
      [
        'run',
        '--deadline',
        '1m',
        'sh',
        '-c',
        'trap "exit 7" TERM; echo up; while :; do sleep 0.05; done',
      ],
      ['ignore', 'pipe', 'inherit'],
    );
    await once(child.stdout!, 'data');
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([7, null]);
  });

  it('a signal that comes while its program has begun and it does not know yet is passed on', async () => {
    // The program itself sends it, to the parent of its init, with its first breath.
    const script =
      'trap "exit 7" TERM; read -r _ _ _ cli _ </proc/$PPID/stat; kill -TERM "$cli"; while :; do sleep 0.05; done';
    // Many at once, so that it is often late in knowing.
    for (let times = 0; times < 3; times++) {
      const one = () => runCli(['run', '--deadline', '5s', 'sh', '-c', script]);
      const ran = await Promise.all(Array.from({ length: 8 }, one));
      expect(ran.map(({ code }) => code)).toEqual(Array(8).fill(7));
    }
  });

  it('128+n and 127 as without', async () => {
    expect((await runCli(['run', '--deadline', '1m', 'sh', '-c', 'kill -USR1 $$'])).code).toBe(138);
    const missing = await runCli(['run', '--deadline', '1m', 'no-such-program']);
    expect(missing).toMatchObject({ code: 127, stderr: expect.stringContaining('ENOENT') });
  });
});

describe('the channels', () => {
  it('stay inherited with --deadline alone', async () => {
    const { stdout, stderr } = await runCli(['run', '--deadline', '1m', witness]);
    const seen = JSON.parse(stdout) as Witness;
    const plain = JSON.parse((await runCli(['run', witness])).stdout) as Witness;
    expect(seen.descriptors.map(({ fd, type }) => [fd, type])).toEqual(
      plain.descriptors.map(({ fd, type }) => [fd, type]),
    );
    expect(stderr).toBe('');
  });

  it.each(['--max-output=1M', '--stall=1m', `--report=${scratch}/pipes`, '--status'])(
    'are pipes with %s, which stderr says unless --quiet',
    async (option) => {
      const { stdout, stderr } = await runCli(['run', option, witness]);
      const { descriptors } = JSON.parse(stdout) as Witness;
      // 0 is what this process gave: a socket, or a pipe where its child_process is ours.
      expect(descriptors.map(({ type }) => type).slice(1)).toEqual(['pipe', 'pipe']);
      const [name] = option.split('=');
      expect(stderr).toMatch(
        new RegExp(`^sallyport: run: stdout and stderr of \\S+ are pipes, for ${name}: .*\n$`),
      );
      expect((await runCli(['run', '--quiet', option, witness])).stderr).toBe('');
    },
  );

  it('everything is passed on, unchanged', async () => {
    const script = 'head -c 5000000 /dev/zero; echo error >&2';
    const ran = await runCli(['run', '--quiet', '--stall', '1m', 'sh', '-c', script]);
    expect(ran.stderr).toBe('error\n');
    expect(ran.stdout).toHaveLength(5_000_000);
  });

  it('a reader that had enough ends the program by SIGPIPE, as without us', () => {
    const command = `"$0" "$1" run --quiet --stall 1m yes | head -n 2; echo "\${PIPESTATUS[0]}"`;
    const printed = execFileSync('bash', ['-c', command, process.execPath, cli], {
      encoding: 'utf8',
    });
    expect(printed).toBe('y\ny\n141\n');
  });

  it('a reader that does not read holds the program up, and no deadline', async () => {
    const child = startCli(
      ['run', '--quiet', '--stall', '1m', '--deadline', '400ms', 'yes'],
      ['ignore', 'pipe', 'inherit'],
    );
    child.stdout!.pause();
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(125);
  });
});

describe('--report', () => {
  it('appends one line for each run', async () => {
    const file = path.join(scratch, 'report');
    await runCli(['run', '--quiet', '--report', file, 'sh', '-c', 'printf 12345; exit 3']);
    await runCli(['run', '--quiet', '--report', file, '--deadline', '100ms', 'sleep', '60']);
    await runCli(['run', '--quiet', '--report', file, 'no-such-program']);
    const [exited, late, missing, ...more] = readRecords(file);
    expect(exited).toMatchObject({
      outcome: { kind: 'exited', code: 3 },
      cleanup: { method: 'init', survivors: [] },
      output: {
        stdout: {
          bytesSeen: 5,
          bytesKept: 0,
          delivered: true,
          sha256: createHash('sha256').update('12345').digest('hex'),
        },
      },
      complete: true,
    });
    expect(late).toMatchObject({ outcome: { kind: 'deadline' }, complete: false });
    expect(missing).toMatchObject({ outcome: { kind: 'spawn-failed', error: { code: 'ENOENT' } } });
    expect(more).toEqual([]);
  });

  it('that cannot be written: nothing is started', async () => {
    const file = path.join(scratch, 'never');
    const ran = await runCli(['run', '--report', '/srv/missing/r', 'touch', file]);
    expect(ran).toMatchObject({ code: 125, stderr: expect.stringContaining('/srv/missing/r') });
    expect(existsSync(file)).toBe(false);
  });
});

describe('--limit and --user', () => {
  it('are what the program has', async () => {
    const options = ['--limit', 'nofile=77:88', '--limit', 'core=0', '--user', '65534'];
    const ran = await runCli([
      'run',
      ...options,
      'sh',
      '-c',
      'id -u; id -G; cat /proc/self/limits',
    ]);
    expect(ran.stdout).toMatch(/^65534\n65534\n/);
    expect(ran.stdout).toMatch(/^Max open files +77 +88 /m);
    expect(ran.stdout).toMatch(/^Max core file size +0 +0 /m);
  });

  it('by name, and with a deadline', async () => {
    const ran = await runCli(['run', '--deadline', '1m', '--user', 'nobody', 'id', '-u']);
    expect(ran).toMatchObject({ code: 0, stdout: '65534\n' });
  });
});

describe('what cannot be meant', () => {
  it.each([
    [['--deadline', '5 minutes'], '--deadline: not a time'],
    [['--deadline', '0'], 'not 0'],
    [['--grace', '-1'], '--grace: not a time'],
    [['--max-output', '1.5M'], '--max-output: not a size'],
    [['--limit', 'nofile'], '--limit: no limit with a value: write NAME=SOFT'],
    [['--limit', 'files=5'], '--limit files: no such limit'],
    [['--limit', 'nofile=5:4'], '--limits.nofile: has a soft limit above'],
    [['--user', 'no-such-user'], "look up 'no-such-user'"],
  ])('%s', async (options, message) => {
    const ran = await runCli(['run', ...options, 'true']);
    expect(ran).toMatchObject({ code: 125, stdout: '', stderr: expect.stringContaining(message) });
  });
});

describe('quantities', () => {
  it('are read', () => {
    const times = ['5', '5s', '1.5m', '250ms', '2h'].map((text) => parseTime(text, '--t', 1));
    expect(times).toEqual([5_000, 5_000, 90_000, 250, 7_200_000]);
    const sizes = ['0', '12', '1K', '1KiB', '3M', '2GB'].map((text) => parseSize(text, '--s'));
    expect(sizes).toEqual([0, 12, 1_024, 1_024, 3 * 2 ** 20, 2 ** 31]);
    expect(parseLimits(['core=unlimited', 'nofile=1:2'])).toEqual({
      core: { soft: 'unlimited', hard: 'unlimited' },
      nofile: { soft: 1, hard: 2 },
    });
  });

  it('are said', () => {
    expect([90, 9_940, 59_000, 61_500, 3_725_000].map(phraseTime)).toEqual([
      '0.1 s',
      '9.9 s',
      '59 s',
      '1 min 1 s',
      '1 h 2 min',
    ]);
    expect([0, 1_023, 1_024, 3_565_158].map(phraseSize)).toEqual([
      '0 B',
      '1023 B',
      '1.0 KiB',
      '3.4 MiB',
    ]);
  });
});

describe('the shield', () => {
  /** Reads its parent's environment and one of its files, as the same user. */
  const spy = 'cat /proc/$PPID/environ | tr "\\0" "\\n" | grep ^MADE_UP=; ls /proc/$PPID/fd/';

  async function asNobody(
    options: readonly string[],
    script: string,
  ): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const main = path.join(copyPackage(), 'dist/cli/main.js');
    const child = spawn(process.execPath, [main, 'run', ...options, 'sh', '-c', script], {
      uid: 65534,
      gid: 65534,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: '/usr/bin:/bin', MADE_UP: 'made up' },
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString() };
  }

  it('keeps the program from what is in /proc of sallyport; --no-shield lets it', async () => {
    const open = await asNobody(['--no-shield'], spy);
    expect(open.stdout).toMatch(/^MADE_UP=made up\n0\n1\n/);
    const shielded = await asNobody([], spy);
    expect(shielded.stdout).toBe('');
    expect(shielded.stderr).toMatch(/Permission denied[^]*Permission denied/);
  });

  it('stands in the way of nothing that a run needs, as a user without privileges', async () => {
    const report = path.join(makeScratch(), 'report');
    writeFileSync(report, '');
    chmodSync(path.dirname(report), 0o777);
    chmodSync(report, 0o666);
    const tree = publicFixture('tree');
    const held = await asNobody(
      ['--drain', '50ms', '--report', report, '--limit', 'nofile=64'],
      `${tree} mark ignore setsid & sleep 60 & echo hi`,
    );
    expect(held.code).toBe(0);
    const stalled = await asNobody(['--stall', '300ms', '--report', report], 'sleep 60; :');
    expect(stalled.code).toBe(125);
    const [first, second] = readRecords(report);
    expect(first?.output.stdout.heldBy.length).toBeGreaterThan(0);
    expect(first?.cleanup.survivors).toEqual([]);
    expect(second?.outcome.stall?.processes).toMatchObject([
      { state: 'S', executable: expect.any(String) },
      { state: 'S', executable: expect.any(String) },
    ]);
  });
});

describe('a record that cannot be written', () => {
  it.each([
    ['sh', ['-c', 'exit 3'], 'exited, code 3'],
    ['sh', ['-c', 'kill -KILL $$'], 'signaled, SIGKILL'],
    ['/no/such', [], 'spawn-failed'],
  ])('of %s %j: 125, and how it ended is said', async (program, args, how) => {
    const options = ['--quiet', '--report', '/dev/full'];
    const { code, stderr } = await runCli(['run', ...options, '--', program, ...args]);
    expect([code, stderr]).toEqual([
      125,
      `sallyport: spawn ${program} ENOSPC: write '/dev/full': no space left on device: not recorded: ${how}\n`,
    ]);
  });
});
