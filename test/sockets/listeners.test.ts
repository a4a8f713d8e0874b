// Who holds a port, why a bind fails, and freeing it from a stray copy without ending its holder.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { explainPort, listListeners, releaseListener, type PortCause } from '../../src/index.js';
import { thrown } from '../support/errors.js';
import { makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';

/** A listener whose server is gone, while a `sleep` that it started holds a copy. */
const orphanCopy = (unprivileged: boolean) =>
  inNode(
    async ({ sallyport, storm, processes, require }) => {
      const { spawn } = require('node:child_process') as typeof import('node:child_process');
      const net = require('node:net') as typeof import('node:net');
      const { fd, port } = storm.listenInheritable(40);
      const sleep = spawn('sleep', ['60'], { stdio: 'ignore' });
      storm.closeFd(fd);
      const bind = () =>
        new Promise<string>((resolve) => {
          const server = net.createServer();
          server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
          server.listen(port, '127.0.0.1', () => server.close(() => resolve('bound')));
        });
      try {
        // It is what it will be once its exec is over.
        await processes.waitFor('sleep', () => {
          const [listener] = sallyport.listListeners({ port }).listeners;
          return listener?.holders[0]?.command === 'sleep' && listener.holders[0].role === 'copy';
        });
        const before = await bind();
        const listed = sallyport.listListeners({ port }).listeners;
        const explained = sallyport.explainPort(port);
        const released = sallyport.releaseListener({ port });
        const after = await bind();
        const lives = processes.readStat(sleep.pid ?? 0)?.state;
        const later = sallyport.explainPort(port);
        return { pid: sleep.pid, port, before, listed, explained, released, after, lives, later };
      } finally {
        sleep.kill();
      }
    },
    null,
    { unprivileged },
  );

describe('a listener that only a sleep has', () => {
  it.each([false, true])('is explained and released (unprivileged: %s)', async (unprivileged) => {
    const seen = await orphanCopy(unprivileged);
    expect(seen.before).toBe('EADDRINUSE');
    expect(seen.listed).toHaveLength(1);
    expect(seen.listed[0]).toMatchObject({ port: seen.port, isHere: true, backlog: 16 });
    expect(seen.listed[0]?.holders).toEqual([
      expect.objectContaining({
        pid: seen.pid,
        fd: 40,
        command: 'sleep',
        role: 'copy',
        inheritedFrom: null,
      }),
    ]);
    expect(seen.explained.free).toBe(false);
    expect(seen.explained.causes[0]).toMatchObject({
      kind: 'copy',
      blocks: 'always',
      pid: seen.pid,
      fd: 40,
      command: 'sleep',
    });
    expect(seen.explained.text).toContain(`sleep (pid ${String(seen.pid)}, descriptor 40)`);
    expect(seen.explained.text).toContain('which has closed it since');
    expect(seen.released).toHaveLength(1);
    expect(seen.released[0]?.through).toEqual({ pid: seen.pid, fd: 40, command: 'sleep' });
    expect(seen.after).toBe('bound');
    expect(seen.lives).toBe('S');
    expect(seen.later.free).toBe(true);
  });
});

describe('a listener whose server lives', () => {
  it('names the server as owner, and the chain to the copy', async () => {
    const seen = await inNode(async ({ sallyport, processes, require }) => {
      const { spawn } = require('node:child_process') as typeof import('node:child_process');
      const net = require('node:net') as typeof import('node:net');
      const server = net.createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
      const sleep = spawn('sh', ['-c', 'sleep 60 & echo; wait'], {
        stdio: ['ignore', 'pipe', 'ignore', fd],
      });
      try {
        const holders = await processes.waitFor('both', () => {
          const found = sallyport.listListeners({ port }).listeners[0]?.holders;
          // Between its fork and its exec it is a shell too.
          if (!found?.some(({ command }) => command === 'sleep')) return false;
          return found.filter(({ role }) => role === 'copy').length === 2 ? found : false;
        });
        const leaf = holders.find(({ command }) => command === 'sleep');
        const refused: Record<string, string> = {};
        try {
          sallyport.releaseListener({ port });
        } catch (error) {
          Object.assign(refused, error, { message: (error as Error).message });
        }
        const stillListens = server.listening;
        const chain = leaf?.howItGotThere;
        const own = sallyport.explainPort(port).causes[0];
        return { me: process.pid, sh: sleep.pid, holders, refused, stillListens, chain, own };
      } finally {
        for (const { pid } of processes.listChildren(sleep.pid)) process.kill(pid);
        sleep.kill();
        server.close();
      }
    }, null);
    // By process id, and those begin anew once they have come to their end.
    expect(seen.holders.map(({ command, role }) => [command, role]).sort()).toEqual([
      ['node', 'owner'],
      ['sh', 'copy'],
      ['sleep', 'copy'],
    ]);
    const leaf = seen.holders.find(({ command }) => command === 'sleep');
    expect(leaf).toMatchObject({ fd: 3, inheritedFrom: seen.sh });
    expect(seen.chain).toContain(`sleep (${String(leaf?.pid)}) ← sh (${String(seen.sh)})`);
    expect(seen.refused).toMatchObject({ code: 'ERR_SALLYPORT_LISTENER_IN_USE', stage: 'release' });
    expect(seen.refused.message).toContain('say force');
    expect(seen.own).toMatchObject({ kind: 'own' });
  });

  it.each([
    [
      'accept',
      'import socket; s=socket.create_server(("127.0.0.1",0)); print(s.getsockname()[1],flush=True); s.accept()',
    ],
    [
      'poll',
      'import socket,select; s=socket.create_server(("127.0.0.1",0)); print(s.getsockname()[1],flush=True); p=select.poll(); p.register(s); p.poll()',
    ],
    [
      'select',
      'import socket,select; s=socket.create_server(("127.0.0.1",0)); print(s.getsockname()[1],flush=True); select.select([s],[],[])',
    ],
    [
      'epoll',
      'import socket,select; s=socket.create_server(("127.0.0.1",0)); print(s.getsockname()[1],flush=True); p=select.epoll(); p.register(s); p.poll()',
    ],
  ])('is not released from a server in %s without force', async (way, program) => {
    const seen = await inNode(async ({ sallyport, processes, require }, program) => {
      const { spawn } = require('node:child_process') as typeof import('node:child_process');
      const events = require('node:events') as typeof import('node:events');
      const server = spawn('python3', ['-c', program], { stdio: ['ignore', 'pipe', 'inherit'] });
      try {
        const [line] = (await events.once(server.stdout, 'data')) as [Buffer];
        const port = Number(String(line));
        const evidence = await processes.waitFor('the server', () => {
          const holder = sallyport.listListeners({ port }).listeners[0]?.holders[0];
          return holder?.role === 'owner' && holder.evidence;
        });
        let code: string | undefined;
        try {
          sallyport.releaseListener({ port });
        } catch (error) {
          code = (error as NodeJS.ErrnoException).code;
        }
        const listens = sallyport.listListeners({ port }).listeners.length;
        const released = sallyport.releaseListener({ port, force: true }).length;
        const left = sallyport.listListeners({ port }).listeners.length;
        return { evidence, code, listens, released, left };
      } finally {
        server.kill();
      }
    }, program);
    expect(seen).toMatchObject({
      evidence: expect.stringContaining(way) as string,
      code: 'ERR_SALLYPORT_LISTENER_IN_USE',
      listens: 1,
      released: 1,
      left: 0,
    });
  });

  it('a server that handles its only connection, and accepts no other meanwhile, is one', async () => {
    const role = await inNode(async ({ sallyport, processes, require }) => {
      const { spawn } = require('node:child_process') as typeof import('node:child_process');
      const events = require('node:events') as typeof import('node:events');
      const net = require('node:net') as typeof import('node:net');
      const program =
        'import socket; s=socket.create_server(("127.0.0.1",0)); print(s.getsockname()[1],flush=True); c,_=s.accept(); c.recv(1)';
      const server = spawn('python3', ['-c', program], { stdio: ['ignore', 'pipe', 'inherit'] });
      const [line] = (await events.once(server.stdout, 'data')) as [Buffer];
      const port = Number(String(line));
      const client = net.connect(port, '127.0.0.1');
      try {
        return await processes.waitFor('the connection', () => {
          const holder = sallyport.listListeners({ port }).listeners[0]?.holders[0];
          return holder?.evidence.includes('connections that came in') && holder.role;
        });
      } finally {
        client.destroy();
        server.kill();
      }
    }, null);
    expect(role).toBe('owner');
  });
});

/** The roles of those that have the listeners that a python program made and named. */
async function rolesOf(program: string, args: readonly string[] = []): Promise<string[]> {
  const server = spawn('python3', ['-c', program, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  try {
    const [said] = (await once(server.stdout, 'data')) as [Buffer];
    const places = String(said).split(' ');
    return await waitFor('all that run to have come to rest', () => {
      const { listeners } = listListeners();
      const found = places.flatMap((place) => listeners.filter(({ local }) => local === place));
      const holders = found.flatMap((listener) => listener.holders);
      if (holders.some(({ role }) => role === 'unknown')) return false;
      return holders.map(({ command, role }) => `${command} ${role}`);
    });
  } finally {
    if (server.pid !== undefined) process.kill(-server.pid, 'SIGKILL');
  }
}

describe('one process', () => {
  it('is judged for each of its listeners', async () => {
    const program = `
import os, select, socket, sys
watched, accepted, idle = [socket.create_server(('127.0.0.1', 0)) for _ in range(3)]
epoll = select.epoll()
epoll.register(watched)
client = socket.create_connection(accepted.getsockname())
kept = accepted.accept()
named = [watched, accepted, idle]
os.write(1, ' '.join('%s:%d' % each.getsockname() for each in named).encode())
sys.stdin.read()`;
    expect(await rolesOf(program)).toEqual(['python3 owner', 'python3 owner', 'python3 copy']);
  });

  it('that handles the only connection of a Unix listener is its server', async () => {
    const program = `
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
kept = server.accept()
os.write(1, sys.argv[1].encode())
sys.stdin.read()`;
    const at = path.join(makeScratch(), 'busy.sock');
    expect(await rolesOf(program, [at])).toEqual(['python3 owner']);
  });

  it('that was handed a connection with the listener is no server by that', async () => {
    const program = `
import os, socket, subprocess, sys
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
kept = server.accept()[0]
numbers = [server.fileno(), kept.fileno()]
subprocess.Popen(['sleep', '60'], stdout=2, pass_fds=numbers)
os.write(1, ('%s:%d' % server.getsockname()).encode())
sys.stdin.read()`;
    // By process id, and those begin anew once they have come to their end.
    expect((await rolesOf(program)).sort()).toEqual(['python3 owner', 'sleep copy']);
  });
});

/** What is said of a listener that a program makes, names on stdout, and keeps until its stdin ends. */
async function explained(
  command: string,
  args: readonly string[],
  isSettled: (roles: readonly string[]) => boolean,
): Promise<{ roles: string[]; causes: readonly PortCause[]; refusal: string }> {
  const program = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  try {
    const [said] = (await once(program.stdout, 'data')) as [Buffer];
    const port = Number(String(said));
    const roles = await waitFor('all that run to have come to rest', () => {
      const holders = listListeners({ port }).listeners.flatMap((listener) => listener.holders);
      const found = holders.map(({ command, role }) => `${command} ${role}`);
      return isSettled(found) && found;
    });
    const { causes } = explainPort(port);
    const isServed = roles.some((role) => !role.endsWith(' copy'));
    const refusal = isServed ? thrown(() => releaseListener({ port })).message : '';
    return { roles, causes, refusal };
  } finally {
    if (program.pid !== undefined) process.kill(-program.pid, 'SIGKILL');
  }
}

describe('who opened a listener for others', () => {
  it('is no copy while one below serves it, and that is not ended alone', async () => {
    const program = `
import os, socket, sys
server = socket.create_server(('127.0.0.1', 0))
if os.fork() == 0: server.accept()
os.write(1, str(server.getsockname()[1]).encode())
sys.stdin.read()`;
    const { roles, causes, refusal } = await explained(
      'python3',
      ['-c', program],
      (found) => found.join() === 'python3 owner,python3 owner',
    );
    expect(roles).toHaveLength(2);
    expect(refusal).toContain('is its server');
    const master = causes.find(({ text }) => text.includes('which has it from there, serves it'));
    const worker = causes.find((cause) => cause !== master);
    expect(master?.advice).toBe('End that process, or choose another port.');
    expect(worker?.text).toContain('accept(2)');
    expect(worker?.advice).toBe(
      `End python3 (${String(master?.pid)}) instead, which handed it down and may start another.`,
    );
  });

  it.each([
    ['before its service runs', '', ['systemd owner']],
    [
      'while its service runs',
      'if os.fork() == 0: server.accept()',
      ['python3 owner', 'systemd owner'],
    ],
  ])('is left alone where it is systemd, %s', async (_, service, expected) => {
    const named = path.join(makeScratch(), 'systemd');
    copyFileSync('/bin/sleep', named);
    const program = `
import os, socket, sys
server = socket.create_server(('127.0.0.1', 0))
${service}
os.set_inheritable(server.fileno(), True)
os.write(1, str(server.getsockname()[1]).encode())
os.execv(sys.argv[1], ['sleep', '60'])`;
    const { causes, refusal } = await explained(
      'python3',
      ['-c', program, named],
      (found) => [...found].sort().join() === expected.join(),
    );
    expect(refusal).toMatch(/, or say force$/);
    const systemd = causes.find(({ command }) => command === 'systemd');
    expect(systemd?.text).toMatch(/waits on it whenever no service|has it from there, serves it/);
    for (const { advice } of causes) {
      expect(advice).toMatch(/^Stop the unit .* leave systemd alone/);
    }
  });

  it('is not to be ended by those below it', async () => {
    const { foreign, mine } = await inNode(async ({ sallyport, require }) => {
      const { spawn } = require('node:child_process') as typeof import('node:child_process');
      const net = require('node:net') as typeof import('node:net');
      const server = net.createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      const script = `console.log(JSON.stringify(require(process.argv[1]).explainPort(${port}).causes))`;
      const main = require.resolve('sallyport');
      const child = spawn(process.execPath, ['-e', script, main]);
      const text = (await child.stdout.toArray()).join('');
      const mine = sallyport.explainPort(port).causes;
      server.close();
      return { foreign: JSON.parse(text) as PortCause[], mine };
    }, null);
    expect(mine[0]).toMatchObject({ kind: 'own' });
    expect(foreign[0]).toMatchObject({ kind: 'foreign' });
    expect(foreign[0]?.advice).toMatch(/^It is above this process, which may end with it: /);
  });
});

describe('a copy beside its server', () => {
  it('comes after it, and is to be released once that has ended', async () => {
    const program = `
import os, socket, subprocess, sys
server = socket.create_server(('127.0.0.1', 0))
subprocess.Popen(['sleep', '60'], stdout=2, pass_fds=[server.fileno()])
os.write(1, str(server.getsockname()[1]).encode())
server.accept()`;
    const { causes } = await explained('python3', ['-c', program], (found) =>
      ['python3 owner', 'sleep copy'].every((each) => found.includes(each)),
    );
    expect(causes.map(({ kind }) => kind)).toEqual(['foreign', 'copy']);
    expect(causes[1]?.advice).toMatch(
      /^It makes no difference while python3 \(\d+\) runs, and keeps the port after that\. To free it then: /,
    );
  });
});

describe('what cannot be released', () => {
  it('is said for UDP, for nothing there, for a Unix socket and for wrong queries', async () => {
    const seen = await inNode(async ({ sallyport, require, scratch }) => {
      const dgram = require('node:dgram') as typeof import('node:dgram');
      const net = require('node:net') as typeof import('node:net');
      const udp = dgram.createSocket('udp4');
      await new Promise<void>((resolve) => udp.bind(0, '127.0.0.1', resolve));
      const { port } = udp.address();
      const unix = net.createServer();
      await new Promise<void>((resolve) => unix.listen(`${scratch}/u.sock`, resolve));
      const { fd } = (unix as unknown as { _handle: { fd: number } })._handle;
      const attempt = (call: () => unknown) => {
        try {
          call();
          return 'released';
        } catch (error) {
          return `${(error as NodeJS.ErrnoException).code ?? ''} ${(error as Error).message}`;
        }
      };
      const answers = {
        udp: attempt(() => sallyport.releaseListener({ port })),
        unix: attempt(() => sallyport.releaseListener({ pid: process.pid, fd, force: true })),
        explained: sallyport.explainPort(port),
      };
      udp.close();
      unix.close();
      return { ...answers, gone: attempt(() => sallyport.releaseListener({ port })) };
    }, null);
    expect(seen.udp).toMatch(/^ERR_SALLYPORT_NOT_RELEASABLE .*UDP/);
    expect(seen.unix).toMatch(/^ERR_SALLYPORT_NOT_RELEASABLE .*Unix/);
    expect(seen.gone).toMatch(/^ERR_SALLYPORT_NOT_RELEASABLE .*no TCP socket listens/);
    expect(seen.explained.causes.map(({ kind, blocks }) => [kind, blocks])).toEqual([
      ['udp', 'never'],
    ]);
    expect(seen.explained.free).toBe(true);
  });

  it.each([
    [{}],
    [{ port: 0 }],
    [{ port: '80' }],
    [{ pid: 1 }],
    [{ port: 80, pid: 1 }],
    [{ prt: 80 }],
  ])('refuses %j', (query) => {
    const error = thrown(() => releaseListener(query as never));
    expect(error.code).toMatch(/^ERR_SALLYPORT_(INVALID_ARGUMENT|UNKNOWN_OPTION)$/);
    expect(error).toBeInstanceOf(TypeError);
  });

  it('explainPort and listListeners refuse what is no port', () => {
    for (const port of [0, 65536, 1.5, '80', null]) {
      expect(thrown(() => explainPort(port as never)).code).toBe('ERR_SALLYPORT_INVALID_ARGUMENT');
    }
    expect(thrown(() => listListeners({ port: -1 })).code).toBe('ERR_SALLYPORT_INVALID_ARGUMENT');
  });
});

describe('explainPort', () => {
  it('tells of TIME-WAIT, and of connections that have the port', async () => {
    const seen = await inNode(async ({ sallyport, processes, require }) => {
      const net = require('node:net') as typeof import('node:net');
      const events = require('node:events') as typeof import('node:events');
      const server = net.createServer((socket) => socket.end());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      const client = net.connect(port, '127.0.0.1');
      client.resume();
      await events.once(client, 'close');
      await new Promise((resolve) => server.close(resolve));
      const waiting = await processes.waitFor('TIME-WAIT', () => {
        const explained = sallyport.explainPort(port);
        return explained.causes.some(({ kind }) => kind === 'time-wait') && explained;
      });
      const held = net.createServer();
      await new Promise<void>((resolve) => held.listen(0, '127.0.0.1', resolve));
      const { port: busy } = held.address() as { port: number };
      const one = net.connect(busy, '127.0.0.1');
      await events.once(one, 'connect');
      const [other] = await Promise.all([
        events.once(held, 'connection'),
        events.once(net.connect(busy, '127.0.0.1'), 'connect'),
      ]);
      held.close();
      const connected = sallyport.explainPort(busy);
      one.destroy();
      (other[0] as import('node:net').Socket).destroy();
      setImmediate(() => process.exit(0));
      return { waiting, connected };
    }, null);
    // Nobody has it any more who could be asked whether it had SO_REUSEADDR.
    expect(seen.waiting).toMatchObject({ free: null });
    expect(seen.waiting.causes[0]).toMatchObject({ kind: 'time-wait', blocks: 'unknown' });
    expect(seen.connected.free).toBe(true);
    expect(seen.connected.causes[0]).toMatchObject({ kind: 'connection', blocks: 'without-reuse' });
    expect(seen.connected.text).toContain('node (pid');
  });

  it('is right about sockets with and without SO_REUSEADDR, as a bind shows', async () => {
    const seen = await inNode(async ({ sallyport, require }) => {
      const { spawn } = require('node:child_process') as typeof import('node:child_process');
      const net = require('node:net') as typeof import('node:net');
      const events = require('node:events') as typeof import('node:events');
      // Bound without and with it; a connection begun from a port; what a listener without and one
      // with it let in, which has its server's.
      const program = `
import os, socket, sys
def bound(reuse):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
    s.bind(('127.0.0.1', 0))
    return s
kept = []
def connect(reuse):
    listener = bound(reuse)
    listener.listen()
    client = socket.create_connection(listener.getsockname())
    kept.extend([client, listener.accept()[0]])
    listener.close()
    return kept[-2:]
idle, reusable = bound(0), bound(1)
begun, accepted = connect(0)
let_in = connect(1)[1]
named = [idle, reusable, begun, accepted, let_in]
os.write(1, '\\n'.join(str(each.getsockname()[1]) for each in named).encode())
sys.stdin.read()`;
      const child = spawn('python3', ['-c', program], { stdio: ['pipe', 'pipe', 'inherit'] });
      try {
        const [lines] = (await events.once(child.stdout, 'data')) as [Buffer];
        const ports = String(lines).trim().split('\n').map(Number);
        const results: Array<{ blocks: unknown; free: unknown; binds: boolean }> = [];
        for (const port of ports) {
          const { free, causes } = sallyport.explainPort(port);
          const server = net.createServer();
          const binds = await new Promise<boolean>((resolve) => {
            server.once('error', () => resolve(false)).listen(port, () => resolve(true));
          });
          server.close();
          results.push({ blocks: causes[0]?.blocks, free, binds });
        }
        return results;
      } finally {
        child.kill();
      }
    }, null);
    const stops = { blocks: 'always', free: false, binds: false };
    const lets = { blocks: 'without-reuse', free: true, binds: true };
    expect(seen).toEqual([stops, lets, stops, stops, lets]);
  });

  needs('root').it('does not know it of those whom it may not ask', async () => {
    const bound = spawn(
      'python3',
      [
        '-c',
        'import socket,time; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1],flush=True); time.sleep(60)',
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    try {
      const [line] = (await once(bound.stdout, 'data')) as [Buffer];
      const port = Number(String(line));
      const explained = await inNode(({ sallyport }, port) => sallyport.explainPort(port), port, {
        unprivileged: true,
      });
      expect(explained).toMatchObject({
        free: null,
        causes: [{ kind: 'bound', blocks: 'unknown' }],
      });
    } finally {
      bound.kill();
    }
  });

  it('says of a connection that nobody has accepted that it waits', async () => {
    const program = `
import os, socket, sys
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
os.write(1, str(server.getsockname()[1]).encode())
sys.stdin.read()`;
    const { causes } = await explained('python3', ['-c', program], (found) => found.length === 1);
    const connection = causes.find(({ kind }) => kind === 'connection');
    expect(connection?.text).toContain('in no process yet: it waits to be accepted.');
  });

  it('says of a listener in a message on its way that no process has it', async () => {
    const program = `
import os, socket, sys
ends = socket.socketpair()
server = socket.create_server(('127.0.0.1', 0))
port = server.getsockname()[1]
socket.send_fds(ends[0], [b'x'], [server.fileno()])
server.close()
os.write(1, str(port).encode())
sys.stdin.read()`;
    const sender = spawn('python3', ['-c', program], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      const [said] = (await once(sender.stdout, 'data')) as [Buffer];
      const { free, causes } = explainPort(Number(String(said)));
      expect(free).toBe(false);
      expect(causes).toEqual([expect.objectContaining({ kind: 'hidden', blocks: 'always' })]);
      expect(causes[0]?.text).toMatch(/a message on its way that hands it over\.$/);
      expect(causes[0]?.advice).toBe(process.getuid?.() === 0 ? '' : 'Ask again as root.');
    } finally {
      sender.kill();
    }
  });

  it('a port that nobody has is free', async () => {
    const text = await inNode(async ({ sallyport, require }) => {
      const net = require('node:net') as typeof import('node:net');
      const server = net.createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      await new Promise((resolve) => server.close(resolve));
      return sallyport.explainPort(port).text;
    }, null);
    expect(text).toMatch(/^Port \d+ is free/);
  });

  it('says to an unprivileged user that a low port is not for it', async () => {
    const explained = await inNode(({ sallyport }) => sallyport.explainPort(79), null, {
      unprivileged: true,
    });
    expect(explained.causes).toEqual([
      expect.objectContaining({ kind: 'privileged', blocks: 'always' }),
    ]);
    expect(explained.free).toBe(false);
  });
});
