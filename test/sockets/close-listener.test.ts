// closeListener: copies of the listener in other processes are deaf, and shared ones are left alone.
import { describe, expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';

describe('closeListener', () => {
  it('frees the port although a child has a copy; a plain close does not', async () => {
    const seen = await inNode(async ({ sallyport, processes, require }) => {
      const http = require('node:http') as typeof import('node:http');
      const net = require('node:net') as typeof import('node:net');
      const { spawn } = require('node:child_process') as typeof import('node:child_process');
      const bind = (port: number) =>
        new Promise<string>((resolve) => {
          const server = net.createServer();
          server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
          server.listen(port, '127.0.0.1', () => server.close(() => resolve('bound')));
        });
      const children: import('node:child_process').ChildProcess[] = [];
      const run = async (close: (server: import('node:http').Server) => Promise<void>) => {
        const server = http.createServer();
        const errors: string[] = [];
        server.on('error', ({ message }) => errors.push(message));
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        const { port } = server.address() as { port: number };
        const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
        const child = spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', fd] });
        children.push(child);
        await processes.waitFor('a copy', () =>
          sallyport
            .listListeners({ port })
            .listeners[0]?.holders.some(({ role }) => role === 'copy'),
        );
        await close(server);
        return { bound: await bind(port), errors };
      };
      try {
        return {
          plain: await run((server) => new Promise((resolve) => server.close(() => resolve()))),
          ours: await run((server) => sallyport.closeListener(server)),
        };
      } finally {
        for (const child of children) child.kill();
      }
    }, null);
    expect(seen.plain.bound).toBe('EADDRINUSE');
    expect(seen.ours).toEqual({ bound: 'bound', errors: [] });
  });

  it('closes a server from which the listener was taken', async () => {
    const seen = await inNode(async ({ sallyport, require }) => {
      const net = require('node:net') as typeof import('node:net');
      const server = net.createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      const [released] = sallyport.releaseListener({ port, force: true });
      await sallyport.closeListener(server);
      return { report: released?.report, listens: server.listening };
    }, null);
    expect(seen.report).toMatch(/ What served it \(\d+\) is deaf, .* end or restart it\.$/);
    expect(seen.listens).toBe(false);
  });

  it('refuses where a child accepts on it, and goes on with force', async () => {
    const seen = await inNode(async ({ sallyport, processes, require }) => {
      const net = require('node:net') as typeof import('node:net');
      const server = net.createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
      const program = 'import socket; s=socket.socket(fileno=3); s.setblocking(True); s.accept()';
      const child = sallyport.spawn('python3', ['-c', program], { pass: [{ fd, as: 3 }] });
      await processes.waitFor('accept', () =>
        sallyport
          .listListeners({ port })
          .listeners[0]?.holders.some(({ pid, role }) => pid === child.pid && role === 'owner'),
      );
      const refused = await sallyport.closeListener(server).then(
        () => 'closed',
        (error: unknown) =>
          `${(error as NodeJS.ErrnoException).code ?? ''} ${(error as Error).message}`,
      );
      const listening = server.listening;
      await sallyport.closeListener(server, { force: true });
      child.kill('SIGKILL');
      return { refused, listening, after: server.listening };
    }, null);
    expect(seen.refused).toMatch(/^ERR_SALLYPORT_LISTENER_SHARED .*accept\(2\)/);
    expect(seen).toMatchObject({ listening: true, after: false });
  });

  it('refuses a listener that a parent has too', async () => {
    const refused = await inNode(async ({ storm, require, root }) => {
      const { spawnSync } = require('node:child_process') as typeof import('node:child_process');
      const { fd } = storm.listenInheritable(20);
      const script = `
        const server = require('node:net').createServer();
        server.listen({ fd: 3 }, () => require(${JSON.stringify(root)}).closeListener(server).then(
          () => console.log('closed'), ({ code }) => { console.log(code); process.exit(); }));`;
      return String(
        spawnSync(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit', fd] })
          .stdout,
      );
    }, null);
    expect(refused).toBe('ERR_SALLYPORT_LISTENER_SHARED\n');
  });

  it('refuses in a worker of a cluster', async () => {
    const answers = await inNode(async ({ require, root, scratch }) => {
      const { spawnSync } = require('node:child_process') as typeof import('node:child_process');
      const { writeFileSync } = require('node:fs') as typeof import('node:fs');
      const file = `${scratch}/cluster.cjs`;
      writeFileSync(
        file,
        `const cluster = require('node:cluster');
         const net = require('node:net');
         cluster.schedulingPolicy = process.argv[2] === 'shared' ? cluster.SCHED_NONE : cluster.SCHED_RR;
         if (cluster.isPrimary) {
           cluster.fork().once('message', (code) => { console.log(code); process.exit(); });
         } else {
           const server = net.createServer().listen(0, '127.0.0.1', () =>
             require(${JSON.stringify(root)}).closeListener(server).then(
               () => process.send('closed'), ({ code }) => process.send(code)));
         }`,
      );
      return ['shared', 'rr'].map((policy) =>
        String(spawnSync(process.execPath, [file, policy]).stdout),
      );
    }, null);
    expect(answers).toEqual(['ERR_SALLYPORT_LISTENER_SHARED\n', 'ERR_SALLYPORT_LISTENER_SHARED\n']);
  });

  it.each([[undefined], [{}], [{ close() {} }]])('refuses %j', async (server) => {
    const { closeListener } = await import('../../src/index.js');
    await expect(closeListener(server as never)).rejects.toMatchObject({
      code: 'ERR_SALLYPORT_INVALID_ARGUMENT',
    });
  });
});
