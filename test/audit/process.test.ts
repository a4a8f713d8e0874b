// auditProcess and auditSelf: what is said of each descriptor, and what the next spawn would leak.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { auditProcess, auditSelf, auditTree, type ProcessAudit } from '../../src/index.js';
import { startCrowd, type Crowd } from '../support/crowd.js';
import { thrown } from '../support/errors.js';
import { fixture } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';

// Not among the fixture's names.
const KCMP = process.arch === 'arm64' ? '272' : '312';

describe('of a process with one descriptor of each kind', () => {
  let crowd: Crowd;
  let audit: ProcessAudit;

  beforeAll(async () => {
    crowd = await startCrowd(['--kinds', '--files', '4']);
    audit = auditProcess(crowd.pid);
  });
  afterAll(() => crowd.end());

  const named = (part: string) => {
    const found = audit.descriptors.find(({ target }) => target.includes(part));
    if (found === undefined) throw new Error(`no ${part}`);
    return found;
  };
  const socketAt = (part: string) => {
    const found = audit.descriptors.find(({ socket }) => socket?.local.includes(part));
    if (found?.socket === undefined) throw new Error(`no ${part}`);
    return { ...found, socket: found.socket };
  };

  it('the facts of the process', () => {
    expect(audit).toMatchObject({
      pid: crowd.pid,
      command: 'crowd',
      parentPid: process.pid,
      uid: process.getuid?.(),
      leaks: [],
    });
    expect(audit.executable).toMatch(/\/crowd$/);
    expect(audit.commandLine.slice(1)).toEqual(['--kinds', '--files', '4', crowd.directory]);
    expect(audit.verdict).toBeUndefined();
    expect(audit.unreadable).toBeUndefined();
    expect(Math.abs(audit.startedAt.getTime() - Date.now())).toBeLessThan(600_000);
    expect(JSON.parse(JSON.stringify(audit))).toMatchObject({ pid: crowd.pid });
  });

  it('locks, by the descriptor that has them', () => {
    expect(named('/flocked-').locks).toEqual([expect.stringMatching(/^FLOCK +ADVISORY +WRITE/)]);
    expect(named('/locked-').locks).toEqual([
      expect.stringMatching(/^POSIX +ADVISORY +WRITE .* 10 14$/),
    ]);
    expect(named('/file-0').locks).toEqual([]);
  });

  it('offset, flags and close-on-exec', () => {
    expect(named('/file-1')).toMatchObject({ access: 'write', offset: 1, closeOnExec: true });
    expect(named('/file-2')).toMatchObject({ access: 'both', offset: 2, closeOnExec: false });
    expect(named('/file-0')).toMatchObject({ access: 'read', offset: 0, closeOnExec: false });
    expect(named('/file-0').flags & 0o2000).toBe(0o2000);
  });

  it('what has no name any more', () => {
    expect(named('/deleted-')).toMatchObject({ deleted: true, kind: 'file' });
    expect(named('memfd:')).toMatchObject({ deleted: false, kind: 'memfd' });
    expect(named('/file-0').deleted).toBe(false);
  });

  it('a pidfd and its process', () => {
    const pidfd = audit.descriptors.find(({ kind }) => kind === 'pidfd');
    expect(pidfd?.pidfdTarget).toBe(process.pid);
  });

  it('the other ends of pipes and Unix sockets', () => {
    const pipes = audit.descriptors.filter(({ kind, fd }) => kind === 'pipe' && fd > 2);
    const [reading, writing] = pipes;
    expect(reading?.otherEnd).toEqual([{ pid: crowd.pid, fd: writing?.fd, command: 'crowd' }]);
    const pair = audit.descriptors.filter(({ socket, fd }) => socket?.type === 5 && fd > 2);
    expect(pair).toHaveLength(2);
    const [one, other] = pair;
    expect(one?.socket?.peer).toEqual({
      inode: other?.inode,
      holders: [{ pid: crowd.pid, fd: other?.fd, command: 'crowd' }],
    });
  });

  it('sockets of each family', () => {
    expect(socketAt('/listener-')).toMatchObject({
      kind: 'listener',
      socket: { family: 1, type: 1, state: 'LISTEN', sendQueue: 7, receiveQueue: 0 },
    });
    expect(socketAt('@sallyport-crowd-').kind).toBe('listener');
    expect(socketAt('/datagrams-')).toMatchObject({ kind: 'socket', socket: { type: 2 } });
    const listeners = audit.descriptors.filter(({ kind }) => kind === 'listener');
    expect(listeners[0]?.socket).toMatchObject({ family: 2, state: 'LISTEN', sendQueue: 4096 });
    const sockets = audit.descriptors.flatMap(({ socket }) => socket ?? []);
    const udp = sockets.find(({ family, type }) => family === 2 && type === 2);
    expect(udp).toMatchObject({ state: 'ESTABLISHED', remote: listeners[0]?.socket?.local });
    expect(sockets).toContainEqual(expect.objectContaining({ family: 16, protocol: 0 }));
    // Never bound, so in no table of the kernel's: what it is it says itself.
    expect(sockets).toContainEqual(
      expect.objectContaining({ family: 2, type: 1, protocol: 6, state: 'CLOSE', network: null }),
    );
  });
});

describe('inherited or opened later', () => {
  it('by kcmp, or by identity where no comparison is needed', async () => {
    const fd = openSync('/etc/hosts', 'r');
    const child = spawn('sh', ['-c', 'exec 7</etc/hosts; read line'], {
      stdio: ['pipe', 'ignore', 'ignore', fd],
    });
    try {
      const audit = await waitFor('7', () => {
        const seen = auditProcess(child.pid ?? 0);
        return seen.descriptors.some((record) => record.fd === 7) && seen;
      });
      const origin = (number: number) =>
        audit.descriptors.find((record) => record.fd === number)?.origin;
      expect(origin(3)).toEqual({ inherited: true, by: 'kcmp' });
      // The same file, opened anew.
      expect(origin(7)).toEqual({ inherited: false, by: 'kcmp' });
      expect(audit.descriptors.find((record) => record.fd === 0)?.origin?.inherited).toBe(false);
    } finally {
      closeSync(fd);
      child.kill();
    }
  });
});

describe('anonymous inodes, of which all on the machine are one', () => {
  // The parent hands down all but the first, and has closed its own copy of the last.
  const program = `
import os, sys
made = [os.eventfd(0, 0) for _ in range(int(sys.argv[1]))]
pid = os.fork()
if pid == 0:
    os.close(made[0])
    made[0] = os.eventfd(0, 0)
    # Inherited at another number.
    os.dup2(made[1], 900)
    sys.stdin.read()
else:
    os.close(made[-1])
    os.write(1, b'%d %d %d' % (pid, made[0], made[-1]))
    sys.stdin.read()`;
  const start = async (count: number): Promise<[ChildProcess, number, number, number]> => {
    const parent = spawn('python3', ['-c', program, String(count)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const [pid = 0, first = 0, last = 0] = String(line).trim().split(' ').map(Number);
    return [parent, pid, first, last];
  };

  it.each([5, 200])('are told apart by kcmp: %d eventfds', async (count) => {
    const [parent, pid, first, last] = await start(count);
    try {
      const eventfds = await waitFor('the copy', () => {
        const { descriptors } = auditProcess(pid, { otherEnds: false });
        return descriptors.some(({ fd }) => fd === 900) && descriptors;
      });
      const wrong = eventfds
        .filter(({ kind }) => kind === 'eventfd')
        .filter(({ fd, origin }) => origin?.inherited !== (fd !== first && fd !== last));
      expect(wrong).toEqual([]);
      expect(eventfds.filter(({ kind }) => kind === 'eventfd')).toHaveLength(count + 1);
    } finally {
      parent.kill();
      process.kill(pid);
    }
  });

  it('have no origin where kcmp is refused, and what has a name has', async () => {
    const [parent, pid, first] = await start(5);
    try {
      const origins = await inNode(
        ({ sallyport }, pid) =>
          sallyport
            .auditProcess(pid, { otherEnds: false })
            .descriptors.map(({ fd, origin }) => [fd, origin ?? 'not known'] as const),
        pid,
        { wrap: [fixture('seccomp_deny'), 'EPERM', KCMP, '--'] },
      );
      expect(origins.find(([fd]) => fd === first)).toEqual([first, 'not known']);
      expect(origins.find(([fd]) => fd === 0)?.[1]).toEqual({ inherited: true, by: 'identity' });
    } finally {
      parent.kill();
      process.kill(pid);
    }
  });
});

describe('auditSelf', () => {
  it('names what the next spawn would hand over, and no more once it is sealed', async () => {
    const seen = await inNode(({ sallyport, storm, fixture, require }) => {
      const { spawnSync } = require('node:child_process') as typeof import('node:child_process');
      const file = storm.openInheritable('/etc/hosts', 30);
      const listener = storm.listenInheritable(45);
      const fds = () => {
        const child = spawnSync(fixture('witness'), [], { stdio: ['ignore', 'pipe', 'ignore'] });
        const report = JSON.parse(String(child.stdout)) as { descriptors: Array<{ fd: number }> };
        return report.descriptors.map(({ fd }) => fd);
      };
      const leaky = () =>
        sallyport
          .auditSelf()
          .leaky.map(({ fd, kind, socket }) => ({ fd, kind, local: socket?.local }));
      const before = { leaky: leaky(), fds: fds() };
      sallyport.sealDescriptors({ kinds: 'all' });
      return { file, listener, before, after: { leaky: leaky(), fds: fds() } };
    }, null);
    expect(seen.before.leaky).toEqual(
      expect.arrayContaining([
        { fd: seen.file, kind: 'file' },
        {
          fd: seen.listener.fd,
          kind: 'listener',
          local: `127.0.0.1:${String(seen.listener.port)}`,
        },
      ]),
    );
    expect(seen.before.fds).toEqual(expect.arrayContaining([30, 45]));
    expect(seen.after).toEqual({ leaky: [], fds: [0, 1, 2] });
  });

  it('sees itself whole: the same numbers as /proc/self/fd, without those of the look', async () => {
    const seen = await inNode(({ sallyport, processes }) => {
      sallyport.auditSelf();
      return [sallyport.auditSelf().descriptors.map(({ fd }) => fd), processes.listDescriptors()];
    }, null);
    expect(seen[0]).toEqual(seen[1]);
  });

  it('sees the tables of threads that have their own', async () => {
    const seen = await inNode(async ({ sallyport, processes }) => {
      const child = sallyport.spawn('sleep', ['60'], { stdio: 'null' });
      const own = sallyport.auditSelf().descriptors.filter(({ thread }) => thread !== undefined);
      const threads = [...new Set(own.map(({ thread }) => thread ?? 0))];
      const listed = threads.flatMap((thread) => processes.listDescriptors(process.pid, thread));
      child.kill();
      await child.exited;
      return { own: own.map(({ fd }) => fd), listed, threads: threads.length };
    }, null);
    // A spawner lane has 0, 1, 2 and its own end of a socketpair at least.
    expect(seen.threads).toBeGreaterThan(0);
    expect(seen.own).toEqual(seen.listed);
  });

  it('leaves nothing open', async () => {
    const [before, after] = await inNode(({ sallyport, processes }) => {
      const count = () => processes.countDescriptors().join();
      sallyport.auditAll();
      const before = count();
      for (let i = 0; i < 50; i++) sallyport.auditSelf({ otherEnds: false });
      sallyport.auditAll();
      return [before, count()];
    }, null);
    expect(after).toBe(before);
  });
});

describe('what cannot be read', () => {
  it('a thread is none: ESRCH, which names its process', () => {
    const thread = readdirSync('/proc/self/task')
      .map(Number)
      .find((id) => id !== process.pid)!;
    for (const look of [auditProcess, auditTree]) {
      const error = thrown(() => look(thread));
      expect(error).toMatchObject({ code: 'ESRCH', stage: 'audit' });
      expect(error.message).toContain(`a thread of ${process.pid}`);
    }
  });

  it('a process that is not there is ESRCH', () => {
    const child = spawn('true');
    const gone = 2 ** 22;
    const error = thrown(() => auditProcess(gone));
    expect(error).toMatchObject({ code: 'ESRCH', errno: -3, stage: 'audit' });
    child.kill();
  });

  it.each([[0], [-1], [1.5], ['1'], [null], [2 ** 31]])('%s is no process id', (pid) => {
    expect(thrown(() => auditProcess(pid as never)).code).toBe('ERR_SALLYPORT_INVALID_ARGUMENT');
  });

  it('a zombie has nothing open', async () => {
    const audit = await inNode(async ({ sallyport, processes, require }) => {
      const { spawn } = require('node:child_process') as typeof import('node:child_process');
      // Its child ends and it never waits for it.
      const parent = spawn('sh', ['-c', 'true & exec sleep 60'], { stdio: 'ignore' });
      const [zombie] = await processes.waitFor('a zombie', () => {
        const found = processes.listZombies(parent.pid);
        return found.length > 0 && found;
      });
      const seen = sallyport.auditProcess(zombie?.pid ?? 0, { against: { descriptors: [] } });
      parent.kill();
      return seen;
    }, null);
    expect(audit).toMatchObject({ state: 'Z', descriptors: [], verdict: 'clean' });
  });

  needs('another uid').it(
    'is unknown and never clean, of another uid and execute only',
    async () => {
      const seen = await inNode(
        async ({ sallyport, processes, require, scratch }) => {
          const fs = require('node:fs') as typeof import('node:fs');
          const { spawn } = require('node:child_process') as typeof import('node:child_process');
          const copy = `${scratch}/sleep`;
          fs.copyFileSync('/bin/sleep', copy);
          fs.chmodSync(copy, 0o111);
          const hidden = spawn(copy, ['60'], { stdio: 'ignore' });
          const own = spawn('sleep', ['60'], { stdio: 'ignore' });
          await processes.waitFor('both', () =>
            [hidden, own].every(({ pid }) => sallyport.auditProcess(pid ?? 0).command === 'sleep'),
          );
          const against = { descriptors: [0, 1, 2, ...Array(600).keys()] };
          const look = (pid: number | undefined) => {
            const { verdict, unreadable, descriptors } = sallyport.auditProcess(pid ?? 0, {
              against,
            });
            return { verdict, unreadable, count: descriptors.length };
          };
          const result = { root: look(1), hidden: look(hidden.pid), own: look(own.pid) };
          hidden.kill();
          own.kill();
          return result;
        },
        null,
        { unprivileged: true },
      );
      for (const audit of [seen.root, seen.hidden]) {
        expect(audit).toMatchObject({ verdict: 'unknown', count: 0 });
        expect(audit.unreadable).toContain('EACCES');
      }
      expect(seen.own).toMatchObject({ verdict: 'clean' });
      expect(seen.own.unreadable).toBeUndefined();
    },
  );
});

describe('a process that does not keep still', () => {
  const children: ChildProcess[] = [];
  afterAll(() => children.forEach((child) => child.kill('SIGKILL')));

  it('gives the table of one moment or the other, or says that it could not be read', async () => {
    // Executes itself again and again; its table is never empty and never has more than these.
    const loop = 'exec sh -c "$0" "$0"';
    const child = spawn('sh', ['-c', loop, loop], { stdio: ['ignore', 'ignore', 'ignore'] });
    children.push(child);
    const seen = new Set<string>();
    for (let i = 0; i < 300; i++) {
      const audit = auditProcess(child.pid ?? 0, {
        against: { descriptors: [0, 1, 2] },
        origins: false,
        otherEnds: false,
      });
      const numbers = audit.descriptors.filter(({ fd }) => fd < 3).map(({ fd }) => fd);
      if (audit.unreadable === undefined) expect(numbers).toEqual([0, 1, 2]);
      else expect(audit.verdict).not.toBe('clean');
      seen.add(audit.unreadable ?? 'read');
    }
    expect(seen).toContain('read');
  });

  it('ends at any moment: ESRCH, or what it had, or unknown', async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < 60; round++) {
      const child = spawn('true', { stdio: 'ignore' });
      const { pid = 0 } = child;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      for (let look = 0; look < 20; look++) {
        try {
          const { state, unreadable, descriptors } = auditProcess(pid, {
            against: { descriptors: [0, 1, 2] },
            origins: false,
            otherEnds: false,
          });
          outcomes.add(unreadable ?? (state === 'Z' ? 'zombie' : 'read'));
          if (unreadable === undefined && state !== 'Z')
            expect(descriptors.length).toBeGreaterThan(0);
        } catch (error) {
          outcomes.add((error as NodeJS.ErrnoException).code ?? 'unknown');
        }
      }
      await ended;
    }
    const allowed = [
      'read',
      'zombie',
      'ESRCH',
      'it ended while it was read',
      'it executed other programs, time and again, while it was read',
    ];
    for (const outcome of outcomes) expect(allowed).toContain(outcome);
  });

  it('and this process, which spawns meanwhile, is read whole', () => {
    expect(auditSelf().unreadable).toBeUndefined();
  });
});
