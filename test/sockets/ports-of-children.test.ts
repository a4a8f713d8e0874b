// What becomes of a port when children are started, and when they are ended.
import { describe, expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';

describe('a server that closes its listener, which was inheritable', () => {
  it('has its port back at once, though children that we started live on', async () => {
    const seen = await inNode(async ({ sallyport, storm, processes, require }) => {
      const { spawn: plainSpawn } =
        require('node:child_process') as typeof import('node:child_process');
      const net = require('node:net') as typeof import('node:net');
      const bind = (port: number) =>
        new Promise<string>((resolve) => {
          const server = net.createServer();
          server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
          server.listen(port, '127.0.0.1', () => server.close(() => resolve('bound')));
        });
      const options = { stdio: 'null' } as const;
      const starts: Record<string, () => Promise<{ pid: number; end: () => unknown }>> = {
        // The control: it gets what stands above a gap.
        plain: async () => {
          const child = plainSpawn('sleep', ['60'], { stdio: 'ignore', detached: true });
          await processes.waitFor('its copy', () =>
            processes.listDescriptors(child.pid).includes(40),
          );
          return { pid: child.pid ?? 0, end: () => child.kill() };
        },
        spawn: async () => {
          const child = sallyport.spawn('sleep', ['60'], options);
          return { pid: child.pid, end: () => child.kill() };
        },
        direct: async () => {
          const child = sallyport.spawn('sleep', ['60'], { ...options, noNewPrivileges: false });
          return { pid: child.pid, end: () => child.kill() };
        },
        launch: async () => {
          const child = await sallyport.launch('sleep', ['60'], options);
          return { pid: child.pid, end: () => child.kill() };
        },
        run: async () => {
          const running = sallyport.run('sleep', ['60'], { stdio: 'null' });
          const pid = await running.started;
          return {
            pid: pid ?? 0,
            end: () => {
              running.abort();
              return running;
            },
          };
        },
      };
      const answers: Record<string, unknown> = {};
      for (const [name, start] of Object.entries(starts)) {
        const { fd, port } = storm.listenInheritable(40);
        const child = await start();
        storm.closeFd(fd);
        answers[name] = [await bind(port), processes.hasEnded(child.pid)];
        await child.end();
      }
      return answers;
    }, null);
    expect(seen).toEqual({
      plain: ['EADDRINUSE', false],
      spawn: ['bound', false],
      direct: ['bound', false],
      launch: ['bound', false],
      run: ['bound', false],
    });
  });
});

/**
 * A wrapper, as npm and shells are, whose server ignores SIGTERM and has left its session. `end` ends the
 * wrapper; then the port is looked at.
 */
const endWrapper = (how: 'child_process' | 'run') =>
  inNode(async ({ sallyport, processes, require }, how) => {
    const { spawn } = require('node:child_process') as typeof import('node:child_process');
    const events = require('node:events') as typeof import('node:events');
    const net = require('node:net') as typeof import('node:net');
    const program = [
      'import os, signal, socket',
      'signal.signal(signal.SIGTERM, signal.SIG_IGN)',
      'server = socket.create_server(("127.0.0.1", 0))',
      'os.write(1, b"%d\\n" % server.getsockname()[1])',
      'server.accept()',
    ].join('\n');
    const words = ['-c', 'setsid python3 -c "$0"; true', program];
    let port = 0;
    if (how === 'run') {
      const running = sallyport.run('sh', words, {
        grace: 50,
        output: {
          stdout: {
            to: (line) => {
              port = Number(line);
              running.abort();
            },
          },
        },
      });
      const { cleanup } = await running;
      if (cleanup.survivors.length > 0) throw new Error('somebody is left');
    } else {
      const wrapper = spawn('sh', words, { stdio: ['ignore', 'pipe', 'inherit'] });
      const [line] = (await events.once(wrapper.stdout, 'data')) as [Buffer];
      port = Number(String(line));
      wrapper.kill('SIGKILL');
      await events.once(wrapper, 'exit');
    }
    try {
      const [cause] = sallyport.explainPort(port).causes;
      const binds = await new Promise<boolean>((resolve) => {
        const server = net.createServer();
        server.once('error', () => resolve(false));
        server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
      });
      const parent = processes.readStat(cause?.pid ?? 0)?.ppid;
      return { binds, kind: cause?.kind, command: cause?.command, parent, text: cause?.advice };
    } finally {
      for (const { holders } of sallyport.listListeners({ port }).listeners) {
        for (const { pid } of holders) process.kill(pid, 'SIGKILL');
      }
    }
  }, how);

describe('a wrapper whose server ignores SIGTERM and has a session of its own', () => {
  it('killed by its pid leaves the server, which is told from a copy', async () => {
    const seen = await endWrapper('child_process');
    expect(seen).toMatchObject({ binds: false, command: 'python3' });
    // Who adopts it is the system's affair: process 1, or a subreaper below it.
    expect(seen.kind).toBe(seen.parent === 1 ? 'orphan' : 'foreign');
    expect(seen.text).toMatch(/end it: kill \d+|stop it/);
  });

  it('ended as a run leaves nobody, and the port is free', async () => {
    expect(await endWrapper('run')).toEqual({ binds: true });
  });
});
