// Which system calls really start a child: a silent fallback to fork passes every other test.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

import { fixture, makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';

const scratch = makeScratch();

const trace = (output: string, calls: string) => [
  'strace',
  ...['-f', '-qq', '-s', '4096', '-e', 'signal=none', '-e', `trace=${calls}`, '-o', output],
];

/** The calls that made processes (not threads), as strace printed their beginnings. */
function readCreations(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /^\d+\s+(clone3?|v?fork)\(/.test(line))
    .filter((line) => !line.includes('CLONE_THREAD'));
}

needs('strace').describe('under strace', () => {
  it('every spawn is CLONE_VM|CLONE_VFORK, never a plain fork; the absolute path is executed', async () => {
    const output = path.join(scratch, 'spawn.trace');
    await inNode(
      async ({ sallyport, storm, root, fixture, require }) => {
        const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
        const launches: Array<Parameters<typeof sallyport.spawn>> = [];
        for (let count = 0; count < 10; count++) launches.push([fixture('exit_fast')]);
        launches.push(['true', [], { stdio: 'pipe' }]);
        launches.push(['true', [], { stdio: 'null', cwd: '/', session: 'group' }]);
        launches.push(['true', [], { session: 'inherit', env: 'inherit' }]);
        launches.push([
          'true',
          [],
          { pass: [{ fd: storm.openInheritable('/etc/hosts', 30), as: 9 }] },
        ]);
        await Promise.all(launches.map((args) => sallyport.spawn(...args).exited));
        const worker = new Worker(
          `const { workerData: { root, program } } = require('node:worker_threads');
           require(root).spawn(program);`,
          { eval: true, workerData: { root, program: fixture('exit_fast') } },
        );
        await new Promise((resolve) => worker.once('exit', resolve));
      },
      null,
      { wrap: trace(output, 'clone,clone3,fork,vfork,execve') },
    );
    const creations = readCreations(output);
    expect(creations).toHaveLength(15);
    for (const line of creations) expect(line).toMatch(/CLONE_VM\|CLONE_VFORK/);
    const executed = [...readFileSync(output, 'utf8').matchAll(/execve\("([^"]*)"/g)].map(
      ([, file]) => file,
    );
    // Node itself first; no name is tried along a PATH.
    expect(executed).toHaveLength(16);
    for (const file of executed) expect(file).toMatch(/^\//);
  });

  it('so it is on every other way; only an init forks, which is small', async () => {
    const output = path.join(scratch, 'ways.trace');
    const routes = await inNode(
      async ({ sallyport }) => {
        const { spawn, launch, run, runSync } = sallyport;
        const direct = { noNewPrivileges: false } as const;
        const children = [
          spawn('true', [], direct),
          spawn('true', [], { ...direct, umask: 0o22 }),
          await launch('true'),
          await launch('true', [], direct),
          await launch('true', [], { umask: 0o22 }),
          await launch('true', [], { verify: 'at-exec' }),
        ];
        for (const child of children) await child.exited;
        // The first two with an init each.
        const reports = [
          await run('true'),
          runSync('true'),
          await run('true', [], { containment: 'group' }),
          runSync('true', [], { containment: 'group' }),
        ];
        if (reports.some(({ complete }) => !complete)) throw new Error('a run has failed');
        return children.map(({ plan }) => plan.route.kind);
      },
      null,
      { wrap: trace(output, 'clone,clone3,fork,vfork,execve') },
    );
    expect(routes).toEqual(['direct', 'direct', 'lane', 'lane', 'lane', 'lane']);
    const creations = readCreations(output);
    const forks = creations.filter((line) => !/CLONE_VM\|CLONE_VFORK/.test(line));
    expect(creations.length - forks.length).toBe(10);
    const launchers = readFileSync(output, 'utf8')
      .split('\n')
      .filter((line) => /execve\("[^"]*sallyport-launcher"/.test(line))
      .map((line) => line.split(' ')[0]);
    expect(forks).toHaveLength(2);
    for (const line of forks) expect(launchers).toContain(line.split(' ')[0]);
  });

  it('without close_range no descriptor is tried up to the limit', async () => {
    const output = path.join(scratch, 'closes.trace');
    const refused = [fixture('seccomp_deny'), 'EPERM', 'close_range', '--'];
    const limit = await inNode(
      async ({ sallyport, storm, fixture: compiled, require }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const limits = fs.readFileSync('/proc/self/limits', 'latin1');
        const [, most = ''] = /^Max open files\s+\d+\s+(\d+)/m.exec(limits) ?? [];
        const raised = Math.min(Number(most), 1_000_000);
        storm.setSoftLimit('nofile', raised);
        storm.openInheritable('/etc/hosts', 900);
        for (const noNewPrivileges of [true, false]) {
          const child = sallyport.spawn(compiled('exact_fds'), ['0', '1', '2'], {
            noNewPrivileges,
          });
          if ((await child.exited).code !== 0) throw new Error('not exactly 0, 1 and 2');
        }
        return raised;
      },
      null,
      { wrap: [...trace(output, 'close,close_range'), ...refused] },
    );
    const closes = readFileSync(output, 'utf8').split('\n');
    expect(closes.some((line) => line.includes('close_range') && line.includes('EPERM'))).toBe(
      true,
    );
    expect(limit).toBeGreaterThanOrEqual(4096);
    expect(closes.length).toBeLessThan(1000);
  });

  it('the same look sees a plain fork', async () => {
    const output = path.join(scratch, 'fork.trace');
    await inNode(
      async ({ sallyport }) => {
        // A subshell is a fork of the shell.
        await sallyport.spawn('sh', ['-c', '(:); :'], { stdio: 'null' }).exited;
      },
      null,
      { wrap: trace(output, 'clone,clone3,fork,vfork,execve') },
    );
    const forks = readCreations(output).filter((line) => !line.includes('CLONE_VFORK'));
    expect(forks).toHaveLength(1);
  });

  it('a failed launch too, and nothing is left running', async () => {
    const output = path.join(scratch, 'failed.trace');
    const left = await inNode(
      ({ sallyport, storm }) => {
        try {
          sallyport.spawn('true', [], { cwd: '/no/such/directory' });
        } catch {
          return storm.hasChildren();
        }
        return undefined;
      },
      null,
      { wrap: trace(output, 'clone,clone3,fork,vfork,execve') },
    );
    expect(left).toBe(false);
    for (const line of readCreations(output)) expect(line).toMatch(/CLONE_VM\|CLONE_VFORK/);
  });

  it.each<[string, string, number]>([
    ['ETXTBSY', 'busy', 7],
    ['E2BIG', 'big', 1],
    ['ENOEXEC', 'empty', 1],
  ])('%s: nothing else is tried again', async (code, name, times) => {
    const output = path.join(scratch, `${name}.trace`);
    const seen = await inNode(
      ({ sallyport, require, scratch: own, fixture }, program) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const file = `${own}/${program}`;
        fs.writeFileSync(file, program === 'empty' ? '' : fs.readFileSync(fixture('exit_fast')));
        fs.chmodSync(file, 0o755);
        const writer = program === 'busy' ? fs.openSync(file, 'r+') : undefined;
        try {
          sallyport.spawn(file, program === 'big' ? ['x'.repeat(131_072)] : []);
        } catch (error) {
          return (error as NodeJS.ErrnoException).code;
        } finally {
          if (writer !== undefined) fs.closeSync(writer);
        }
        return 'started';
      },
      name,
      { wrap: trace(output, 'execve') },
    );
    expect(seen).toBe(code);
    const tries = readFileSync(output, 'utf8').matchAll(
      new RegExp(`execve\\("[^"]*/${name}"`, 'g'),
    );
    expect([...tries]).toHaveLength(times);
  });

  it('the processes of a run are found and ended without any program', async () => {
    const output = path.join(scratch, 'ended.trace');
    const kinds = await inNode(
      async ({ sallyport, fixture }) => {
        process.env['PATH'] = '/no/such';
        const ended = { deadline: 200, grace: 20, drain: 20 };
        const tree = (mark: string) => [mark, 'ignore', 'group'];
        const lost = ['-c', 'kill -KILL $PPID; exec "$@"', 'sh', fixture('tree'), ...tree('lost')];
        const reports = [
          await sallyport.run(fixture('tree'), tree('group'), { ...ended, containment: 'group' }),
          sallyport.runSync(fixture('tree'), tree('init'), ended),
          await sallyport.run('sh', lost, ended),
        ];
        return reports.map(({ outcome, cleanup }) => [outcome.kind, cleanup.survivors.length]);
      },
      null,
      { wrap: trace(output, 'execve') },
    );
    expect(kinds).toEqual([
      ['deadline', 0],
      ['deadline', 0],
      ['lost', 0],
    ]);
    const names = [...readFileSync(output, 'utf8').matchAll(/execve\("[^"]*\/([^"]*)"/g)];
    expect([...new Set(names.map(([, name]) => name))].sort()).toEqual([
      ...['node', 'sallyport-launcher', 'sh', 'tree'],
    ]);
  });

  it('signals go by pidfd and never by pid; nobody waits for any child', async () => {
    const output = path.join(scratch, 'signals.trace');
    const signal = await inNode(
      async ({ sallyport, fixture }) => {
        const child = sallyport.spawn(fixture('witness'), ['--quiet', '--hold'], { stdio: 'null' });
        child.kill('SIGUSR1');
        return (await child.exited).signal;
      },
      null,
      { wrap: trace(output, 'kill,tkill,tgkill,pidfd_send_signal,wait4,waitid') },
    );
    expect(signal).toBe('SIGUSR1');
    const text = readFileSync(output, 'utf8');
    expect(text).toMatch(/pidfd_send_signal\(\d+, SIGUSR1/);
    expect(text).not.toMatch(/\b(kill|tkill|tgkill)\(/);
    expect(text).toMatch(/waitid\(P_PIDFD, /);
    expect(text).not.toMatch(/wait4\(-1|waitid\(P_ALL/);
  });
});
