// auditTree, findHolders and watchProcess.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import {
  auditAll,
  auditSelf,
  auditTree,
  findHolders,
  watchProcess,
  type DescriptorChange,
} from '../../src/index.js';
import { findTree } from '../../src/audit/tree.js';
import { thrown } from '../support/errors.js';
import { makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';

describe('findTree', () => {
  const facts = (
    pid: number,
    parentPid: number,
    sessionId = 1,
    groupId = pid,
    startTime = pid,
  ) => ({
    pid,
    parentPid,
    sessionId,
    groupId,
    startTime,
  });

  it('descendants, parents first', () => {
    const processes = [facts(30, 20), facts(10, 1), facts(20, 10), facts(21, 10), facts(40, 1)];
    expect(findTree(10, processes)).toEqual([10, 20, 30, 21]);
  });

  it('orphans that share a session or group which a member leads', () => {
    const processes = [
      facts(10, 1),
      facts(20, 10, 20),
      facts(30, 1, 20),
      facts(31, 1, 1, 20),
      facts(32, 30, 32),
      facts(50, 1, 50),
    ];
    expect(findTree(10, processes)).toEqual([10, 20, 30, 32, 31]);
  });

  it('not one that is older than the root, nor a loop, nor nothing', () => {
    expect(findTree(10, [facts(10, 1), facts(5, 10, 1, 5, 5)])).toEqual([10]);
    expect(findTree(10, [facts(10, 11), facts(11, 10)])).toEqual([10, 11]);
    expect(findTree(10, [])).toEqual([]);
  });
});

describe('auditTree', () => {
  it('a shell, its child, and what was orphaned below it', async () => {
    const script = 'setsid sh -c "sleep 60 & echo; wait" & sleep 60';
    const child = spawn('sh', ['-c', script], {
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    try {
      const tree = await waitFor('the tree', () => {
        const audits = auditTree(child.pid ?? 0);
        const sleeps = audits.filter(({ command }) => command === 'sleep');
        return sleeps.length === 2 && audits;
      });
      expect(tree[0]).toMatchObject({ pid: child.pid, command: 'sh' });
      for (const { parentPid } of tree.slice(1)) {
        expect(tree.map(({ pid }) => pid)).toContain(parentPid);
      }
      // They share its stdout, and each is said to have inherited it.
      const shared = tree.map(({ descriptors }) => descriptors.find(({ fd }) => fd === 1));
      expect(new Set(shared.map((record) => record?.inode)).size).toBe(1);
      expect(shared.slice(1).map((record) => record?.origin)).toEqual(
        shared.slice(1).map(() => ({ inherited: true, by: 'kcmp' })),
      );
    } finally {
      // Those above first: a shell whose child has ended ends by itself.
      for (const { pid } of auditTree(child.pid ?? 0)) process.kill(pid, 'SIGKILL');
    }
  });

  it('of nobody is ESRCH', () => {
    expect(thrown(() => auditTree(2 ** 22)).code).toBe('ESRCH');
  });
});

describe('auditAll', () => {
  it('has this process, and says of others why they could not be read', () => {
    const audits = auditAll();
    expect(audits.map(({ pid }) => pid)).toContain(process.pid);
    for (const { unreadable, descriptors, state, command } of audits) {
      if (unreadable !== undefined) expect(unreadable).not.toBe('');
      else if (command === 'node' && state !== 'Z') expect(descriptors.length).toBeGreaterThan(0);
    }
  });
});

describe('findHolders', () => {
  it('by port, path, inode and descriptor', async () => {
    const file = path.join(makeScratch(), 'held');
    writeFileSync(file, '');
    const fd = openSync(file, 'r');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const listener = (server as unknown as { _handle: { fd: number } })._handle.fd;
    const child = spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', fd, listener] });
    try {
      const expected = (own: number, theirs: number) => [
        expect.objectContaining({ pid: process.pid, fd: own }),
        expect.objectContaining({ pid: child.pid, fd: theirs, command: 'sleep' }),
      ];
      // In whatever order: process ids begin anew once they have come to their end.
      await waitFor('exec', () =>
        findHolders({ fd }).holders.some(({ command }) => command === 'sleep'),
      );
      const { inode, dev } = findHolders({ fd }).holders[0]?.record ?? {};
      if (inode === undefined || dev === undefined) throw new Error('not held');
      const sorted = (query: Parameters<typeof findHolders>[0]) =>
        [...findHolders(query).holders].sort((a) => (a.pid === process.pid ? -1 : 1));
      expect(sorted({ path: file })).toEqual(expected(fd, 3));
      expect(sorted({ inode, dev })).toEqual(expected(fd, 3));
      expect(sorted({ inode: BigInt(inode), dev })).toEqual(expected(fd, 3));
      expect(sorted({ fd })).toEqual(expected(fd, 3));
      expect(sorted({ port })).toEqual(expected(listener, 4));
      expect(sorted({ fd: listener })).toEqual(expected(listener, 4));
    } finally {
      child.kill();
      closeSync(fd);
      server.close();
    }
  });

  it('an epoll of ours, whose inode all epolls and eventfds have', () => {
    const epoll = auditSelf({ otherEnds: false }).descriptors.find(({ kind }) => kind === 'epoll');
    const fd = epoll?.fd ?? -1;
    expect(findHolders({ fd }).holders).toEqual([
      expect.objectContaining({ pid: process.pid, fd, record: expect.objectContaining({ fd }) }),
    ]);
  });

  it('a Unix socket by its path', async () => {
    const at = path.join(makeScratch(), 'x.sock');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(at, resolve));
    expect(findHolders({ path: at }).holders).toEqual([
      expect.objectContaining({ pid: process.pid, command: expect.any(String) as string }),
    ]);
    server.close();
  });

  it('a Unix socket by any way of writing its path', async () => {
    const directory = makeScratch();
    const link = path.join(makeScratch(), 'link');
    symlinkSync(directory, link);
    const program =
      'import os,socket,sys; os.chdir(sys.argv[1]); s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[2]); os.write(1,b"x"); sys.stdin.read()';
    for (const bound of [path.join(directory, 'whole.sock'), './relative.sock']) {
      const child = spawn('python3', ['-c', program, directory, bound], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      try {
        await once(child.stdout, 'data');
        const at = path.join(directory, path.basename(bound));
        const ways = [at, path.relative('', at), `${directory}/./${path.basename(at)}`];
        for (const way of [...ways, path.join(link, path.basename(at))]) {
          expect(findHolders({ path: way }).holders).toEqual([
            expect.objectContaining({ pid: child.pid }),
          ]);
        }
      } finally {
        child.kill();
      }
    }
  });

  needs('root').it('a raw socket has a protocol and no port', async () => {
    const program =
      'import os,socket,sys; s=socket.socket(socket.AF_INET,socket.SOCK_RAW,253); os.write(1,b"x"); sys.stdin.read()';
    const child = spawn('python3', ['-c', program], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      await once(child.stdout, 'data');
      const sockets = auditTree(child.pid ?? 0).flatMap(({ descriptors }) => descriptors);
      expect(sockets.some(({ socket }) => socket?.local === '0.0.0.0:253')).toBe(true);
      expect(findHolders({ port: 253 }).holders).toEqual([]);
    } finally {
      child.kill();
    }
  });

  it.each([
    [{}],
    [{ port: 1, fd: 1 }],
    [{ port: 0 }],
    [{ path: '' }],
    [{ path: '/a\0b' }],
    [{ inode: 'x' }],
    [{ fd: -1 }],
    [{ pid: 1 }],
  ])('refuses %j', (query) => {
    expect(thrown(() => findHolders(query as never))).toBeInstanceOf(TypeError);
  });

  it('says what is not there', () => {
    expect(thrown(() => findHolders({ path: '/no/such' }))).toMatchObject({
      code: 'ENOENT',
      stage: 'audit',
    });
    expect(thrown(() => findHolders({ fd: 19_999 }))).toMatchObject({
      code: 'EBADF',
      stage: 'audit',
    });
  });
});

describe('watchProcess', () => {
  it('tells what appears, changes and vanishes, until the process ends', async () => {
    const script =
      'read l; exec 7</etc/hosts; read l; exec 7</etc/passwd; read l; exec 7<&-; read l';
    const child = spawn('sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'] });
    const seen: Array<[string, number, string]> = [];
    const next = () => child.stdin.write('\n');
    const step = ({ type, record }: DescriptorChange): void => {
      if (record.fd !== 7) return;
      seen.push([type, record.fd, record.target]);
      next();
    };
    await waitFor('sh', () => auditTree(child.pid ?? 0)[0]?.command === 'sh');
    const watch = watchProcess(child.pid ?? 0, { interval: 5 });
    const first = watch.next();
    next();
    const { value } = await first;
    if (value) step(value);
    for await (const change of watch) step(change);
    expect(seen).toEqual([
      ['appeared', 7, '/etc/hosts'],
      ['changed', 7, '/etc/passwd'],
      ['vanished', 7, '/etc/passwd'],
    ]);
    expect(child.exitCode ?? (await new Promise((resolve) => child.once('exit', resolve)))).toBe(0);
  });

  it('an epoll where an eventfd was is a change, although they have one inode', async () => {
    const program =
      'import os,select,sys; e=os.eventfd(0); print(e,flush=True); sys.stdin.readline(); p=select.epoll(); os.dup2(p.fileno(),e); sys.stdin.read()';
    const child = spawn('python3', ['-c', program], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const fd = Number(String(line));
    const kinds: unknown[] = [];
    const watch = watchProcess(child.pid ?? 0, { interval: 5 });
    const first = watch.next();
    child.stdin.write('\n');
    for (let { value } = await first; value; { value } = await watch.next()) {
      if (value.record.fd !== fd) continue;
      kinds.push(value.type, value.before?.kind, value.record.kind);
      break;
    }
    await watch.return();
    child.kill();
    expect(kinds).toEqual(['changed', 'eventfd', 'epoll']);
  });

  needs('another uid').it(
    'throws where it can read the process no more, and never says that all has vanished',
    async () => {
      const seen = await inNode(
        async ({ sallyport, require, root }) => {
          const { spawn } = require('node:child_process') as typeof import('node:child_process');
          const events = require('node:events') as typeof import('node:events');
          const program = `const { shieldParent } = require(${JSON.stringify(root)});
            process.stdin.once('data', () => shieldParent()); console.log('ready')`;
          const child = spawn(process.execPath, ['-e', program], {
            stdio: ['pipe', 'pipe', 'inherit'],
          });
          const errors: unknown[] = [];
          const changes: string[] = [];
          try {
            await events.once(child.stdout, 'data');
            const watch = sallyport.watchProcess(child.pid ?? 0, { interval: 5 });
            const first = watch.next();
            child.stdin.write('now');
            for (let { value } = await first; value; { value } = await watch.next()) {
              changes.push(value.type);
            }
          } catch (error) {
            const { code, stage } = error as { code?: string; stage?: string };
            errors.push(code, stage);
          }
          try {
            await sallyport.watchProcess(child.pid ?? 0).next();
          } catch (error) {
            errors.push((error as { code?: string }).code);
          }
          child.kill();
          return { errors, vanished: changes.filter((type) => type === 'vanished') };
        },
        null,
        { unprivileged: true },
      );
      expect(seen).toEqual({ errors: ['EACCES', 'audit', 'EACCES'], vanished: [] });
    },
  );

  it('ends by its signal, and is ESRCH for nobody', async () => {
    const stop = new AbortController();
    const watch = watchProcess(process.pid, { interval: 100_000, signal: stop.signal });
    const next = watch.next();
    setImmediate(() => stop.abort());
    expect(await next).toEqual({ value: undefined, done: true });
    await expect(watchProcess(2 ** 22).next()).rejects.toMatchObject({ code: 'ESRCH' });
    await expect(watchProcess(1, { interval: 0 }).next()).rejects.toThrow(TypeError);
  });
});
