// `sallyport run` with no terminal: what the child gets, how it ends, which signals reach it.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';

import { makeScratch } from '../support/fixtures.js';
import { hasEnded, readStat, waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { type Witness, witness } from '../support/witness.js';
import { runCli, type RunSettings, startCli } from './command-line.js';
import { cli } from './terminal.js';

const scratch = makeScratch();

async function askWitness(
  options: readonly string[],
  settings: RunSettings = {},
): Promise<Witness> {
  const { stdout, stderr } = await runCli(['run', ...options, witness], settings);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Witness;
}

describe('what the child gets', () => {
  it('the standard channels of the caller and no other descriptor', async () => {
    const file = openSync('/etc/passwd', 'r');
    // 30 lies beyond what node seals by itself: without sallyport the child would have it.
    const stdio = Array.from({ length: 31 }, (_, fd) =>
      fd < 3 ? ['ignore', 'pipe', 'inherit'][fd] : fd === 30 ? file : 'ignore',
    );
    const child = startCli(['run', witness], stdio as Array<'pipe'>);
    closeSync(file);
    const [line] = (await once(createInterface(child.stdout!), 'line')) as [string];
    const { descriptors } = JSON.parse(line) as Witness;
    expect(descriptors.map(({ fd }) => fd)).toEqual([0, 1, 2]);
    expect(descriptors[1]!.type).toMatch(/pipe|socket/);
  });

  it('--pass N and --pass N=M', async () => {
    const stdio = [
      'ignore',
      'pipe',
      'inherit',
      'ignore',
      'ignore',
      openSync('/etc/passwd', 'r'),
      openSync('/etc/group', 'r'),
    ];
    const child = startCli(
      ['run', '--pass', '5', '--pass', '6=9', witness],
      stdio as Array<'pipe'>,
    );
    for (const fd of stdio.slice(5)) closeSync(fd as number);
    const [line] = (await once(createInterface(child.stdout!), 'line')) as [string];
    const { descriptors } = JSON.parse(line) as Witness;
    expect(descriptors.slice(3).map(({ fd, link }) => [fd, link])).toEqual([
      [5, '/etc/passwd'],
      [9, '/etc/group'],
    ]);
  });

  it("a number that is node's own is not passed by mistake", async () => {
    const numbers = Array.from({ length: 20 }, (_, index) => index + 3);
    const answers = await Promise.all(
      numbers.map((fd) => runCli(['run', '--pass', String(fd), 'true'])),
    );
    expect(answers.map(({ code }) => code)).toEqual(numbers.map(() => 125));
    expect(answers.some(({ stderr }) => stderr.includes('is a number that node uses itself'))).toBe(
      true,
    );
  });

  it("both ends of a pipe that the caller holds (as make's jobserver does) are passed", () => {
    const caller = `
import os, subprocess, sys
ends = os.pipe()
sys.exit(subprocess.run([*sys.argv[1:3], "run", "--pass", f"{ends[0]}=3", "--pass", f"{ends[1]}=4", "ls", "/proc/self/fd"], pass_fds=ends).returncode)`;
    const listed = execFileSync('python3', ['-c', caller, process.execPath, cli], {
      encoding: 'utf8',
    });
    expect(listed.trim().split('\n').map(Number).slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
  });

  it('the default environment; --env NAME and --env NAME=VALUE add to it', async () => {
    const env = { LANG: 'C', CI: 'true', TOKEN: 's3cret', PATH: '/usr/bin:/bin:/sbin' };
    const plain = await askWitness([], { env });
    expect(Object.fromEntries(plain.environment)).toEqual({
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LANG: 'C',
    });
    const more = await askWitness(
      ['--env', 'CI', '--env', 'X=1=2', '--env', 'EMPTY=', '--env', 'PATH', '--env', 'LANG=D'],
      { env },
    );
    expect(Object.fromEntries(more.environment)).toEqual({
      PATH: env.PATH,
      LANG: 'D',
      CI: 'true',
      X: '1=2',
      EMPTY: '',
    });
  });

  it('of two words on one variable the last counts', async () => {
    const env = { A: 'ours' };
    const last = async (...options: string[]) =>
      Object.fromEntries((await askWitness(options, { env })).environment)['A'];
    expect(await last('--env', 'A', '--env', 'A=1')).toBe('1');
    expect(await last('--env', 'A=1', '--env', 'A')).toBe('ours');
  });

  it('its own directory with --cwd', async () => {
    expect((await askWitness(['--cwd', scratch])).cwd).toBe(scratch);
    expect((await askWitness(['--cwd', '..'], { cwd: scratch })).cwd).toBe(path.dirname(scratch));
  });

  it('a new session; --session group and inherit', async () => {
    const fresh = await askWitness([]);
    expect([fresh.sid, fresh.pgid]).toEqual([fresh.pid, fresh.pid]);
    const group = await askWitness(['--session', 'group']);
    expect(group.sid).not.toBe(group.pid);
    expect(group.pgid).toBe(group.pid);
    const same = await askWitness(['--session', 'inherit']);
    expect(same.sid).toBe(group.sid);
    expect(same.pgid).not.toBe(same.pid);
  });

  it('no new privileges, unless --allow-new-privileges', async () => {
    expect((await askWitness([])).status.NoNewPrivs).toBe('1');
    expect((await askWitness(['--allow-new-privileges'])).status.NoNewPrivs).toBe('0');
  });

  it('its arguments as they are, also those that look like options of ours', async () => {
    const args = ['--env', 'X', '--', '--help', '-h', '--version', '', 'a b', "'", '--pass=3'];
    const { stdout } = await runCli(['run', 'printf', '[%s]', ...args]);
    expect(stdout).toBe(args.map((arg) => `[${arg}]`).join(''));
    expect((await runCli(['run', '--', 'printf', '[%s]', '--', 'x'])).stdout).toBe('[--][x]');
    expect((await runCli(['run', '--env', 'X=1', '--', 'printenv', 'X'])).stdout).toBe('1\n');
  });

  it('stdin, stdout and stderr of the caller', async () => {
    const ran = await runCli(['run', 'sh', '-c', 'cat; echo oops >&2'], { input: 'through' });
    expect(ran).toEqual({ code: 0, signal: null, stdout: 'through', stderr: 'oops\n' });
  });
});

describe('exit code', () => {
  it.each([0, 1, 42, 125, 255])('%d is that of the child', async (code) => {
    expect(await runCli(['run', 'sh', '-c', `exit ${code}`])).toMatchObject({ code, signal: null });
  });

  it.each<[string, number]>([
    ['TERM', 143],
    ['KILL', 137],
    ['INT', 130],
    ['RTMIN', 162],
  ])('128 + n when SIG%s ends the child: %d', async (signal, code) => {
    const name = signal === 'RTMIN' ? '34' : signal;
    const ran = await runCli(['run', 'sh', '-c', `ulimit -c 0; kill -${name} $$`]);
    expect(ran).toMatchObject({ code, signal: null, stderr: '' });
  });

  it('127: not found', async () => {
    for (const file of ['no-such-program', './no-such-program', '/no/such/program']) {
      const ran = await runCli(['run', file]);
      expect(ran.code).toBe(127);
      expect(ran.stderr).toMatch(/^sallyport: spawn [^\n]+ENOENT[^\n]+\n$/);
    }
  });

  it('127 for what is only in our own PATH, and how to pass that', async () => {
    const bin = path.join(scratch, 'bin');
    mkdirSync(bin);
    writeFileSync(path.join(bin, 'only-here'), '#!/bin/sh\necho found\n', { mode: 0o755 });
    const env = { PATH: `/usr/bin:/bin:${bin}` };
    const refused = await runCli(['run', 'only-here'], { env });
    expect(refused.code).toBe(127);
    expect(refused.stderr).toContain('write --env PATH');
    expect((await runCli(['run', '--env', 'PATH', 'only-here'], { env })).stdout).toBe('found\n');
  });

  it('126: not executable, a directory, no program, its interpreter missing', async () => {
    const make = (name: string, text: string, mode: number): string => {
      const file = path.join(scratch, name);
      writeFileSync(file, text);
      chmodSync(file, mode);
      return file;
    };
    const files = [
      make('plain', '#!/bin/sh\n', 0o644),
      scratch,
      make('no-format', 'neither program nor script', 0o755),
      make('no-interpreter', '#!/no/such/interpreter\n', 0o755),
    ];
    for (const file of files) {
      const ran = await runCli(['run', file]);
      expect([file, ran.code]).toEqual([file, 126]);
      expect(ran.stderr).toMatch(/^sallyport: [^\n]+\n$/);
    }
  });
});

describe('signals', () => {
  /** A shell whose helper, which only the group's number reaches, says what it got. */
  const reporter = `
    exec 2>/dev/null # the shell would say how sleep ended
    trap : INT TERM HUP QUIT
    (for s in INT TERM HUP QUIT; do trap "echo got $s; exit" $s; done; echo ready; while :; do sleep 0.05; done)
    exit 0`;

  const started = async (args: readonly string[]) => {
    const child = startCli(args, ['ignore', 'pipe', 'inherit']);
    const lines = createInterface(child.stdout!)[Symbol.asyncIterator]();
    const next = async () => (await lines.next()).value as string | undefined;
    return { child, next, ended: once(child, 'exit') };
  };

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)(
    '%s reaches the group of the child, and we wait',
    async (signal) => {
      const { child, next, ended } = await started(['run', 'sh', '-c', reporter]);
      expect(await next()).toBe('ready');
      child.kill(signal);
      expect(await next()).toBe(`got ${signal.slice(3)}`);
      expect(await ended).toEqual([0, null]);
    },
  );

  it('a child that ignores SIGTERM is waited for', async () => {
    const { child, next, ended } = await started([
      'run',
      'sh',
      '-c',
      'exec 2>&-; trap "" TERM; trap "exit 7" HUP; echo ready; while :; do sleep 0.05; done',
    ]);
    await next();
    child.kill('SIGTERM');
    child.kill('SIGTERM');
    child.kill('SIGHUP');
    expect(await ended).toEqual([7, null]);
  });

  it('a child that a passed-on signal ends: 128 + n', async () => {
    for (const [signal, code] of [
      ['SIGTERM', 143],
      ['SIGINT', 130],
      ['SIGHUP', 129],
    ] as const) {
      const { child, next, ended } = await started([
        'run',
        'sh',
        '-c',
        'echo ready; exec sleep 60',
      ]);
      await next();
      child.kill(signal);
      expect(await ended).toEqual([code, null]);
    }
  });

  it('SIGUSR1 and SIGUSR2 go to the child, and do not open our inspector', async () => {
    const { child, next, ended } = await started([
      'run',
      'sh',
      '-c',
      'exec 2>&-; trap "echo USR1" USR1; trap "exit 5" USR2; echo ready; while :; do sleep 0.05; done',
    ]);
    await next();
    child.kill('SIGUSR1');
    expect(await next()).toBe('USR1');
    child.kill('SIGUSR2');
    expect(await ended).toEqual([5, null]);
  });

  it('--session inherit: SIGTERM reaches the child', async () => {
    const { child, next, ended } = await started([
      'run',
      '--session',
      'inherit',
      'sh',
      '-c',
      'echo ready; exec sleep 60',
    ]);
    await next();
    child.kill('SIGTERM');
    expect(await ended).toEqual([143, null]);
  });

  needs('bash').it(
    'a stop of our job stops the child too, in its session of its own, and CONT continues it',
    async () => {
      const shell = spawn(
        'bash',
        [
          '-c',
          'exec 2>&-; set -m; "$@" & read x; wait',
          'bash',
          process.execPath,
          cli,
          'run',
          'sh',
          '-c',
          'echo $$ $PPID; exec sleep 60',
        ],
        {
          stdio: ['pipe', 'pipe', 'inherit'],
        },
      );
      const [line] = (await once(createInterface(shell.stdout), 'line')) as [string];
      const [child, command] = line.split(' ').map(Number) as [number, number];
      const states = () => `${readStat(command)?.state} ${readStat(child)?.state}`;
      process.kill(-command, 'SIGTSTP');
      await waitFor('both to be stopped', () => states() === 'T T');
      process.kill(-command, 'SIGCONT');
      await waitFor('both to go on', () => !states().includes('T'));
      const ended = once(shell, 'exit');
      process.kill(command, 'SIGTERM');
      shell.stdin.end();
      await ended;
      expect(hasEnded(child)).toBe(true);
    },
  );

  it('a stop that the kernel would discard stops neither', async () => {
    // Detached: the leader of a session has no shell that could continue it.
    const child = spawn(
      process.execPath,
      [
        cli,
        'run',
        'sh',
        '-c',
        'exec 2>&-; trap "exit 4" TERM; echo ready; while :; do sleep 0.05; done',
      ],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
        detached: true,
      },
    );
    const ended = once(child, 'exit');
    await once(createInterface(child.stdout), 'line');
    child.kill('SIGTSTP');
    child.kill('SIGTERM');
    expect(await ended).toEqual([4, null]);
  });

  it('a child that closes everything and goes on is waited for', async () => {
    const marker = path.join(scratch, 'late');
    const ran = await runCli(['run', 'sh', '-c', `exec >&- 2>&- <&-; : >${marker}; exit 9`]);
    expect(ran.code).toBe(9);
    expect(existsSync(marker)).toBe(true);
  });
});
