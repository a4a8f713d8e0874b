// Socket activation: what systemd's own tool hands over, and what is not meant for us.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { makeScratch, root } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { freePort } from '../support/ports.js';
import { waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';

function writeServer(body: string): string {
  const file = path.join(makeScratch(), 'server.cjs');
  writeFileSync(file, `const sallyport = require(${JSON.stringify(root)});\n${body}`);
  return file;
}

/** Sends a line and gives all that comes back. */
async function ask(port: number, line: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(line);
  let answer = '';
  socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
  await once(socket, 'close');
  return answer;
}

needs('systemd-socket-activate').describe('under systemd-socket-activate', () => {
  it('two named listeners are received, served, and passed on to nobody', async () => {
    const server = writeServer(`
      const http = require('node:http');
      const net = require('node:net');
      const { spawnSync } = require('node:child_process');
      const received = sallyport.receiveListeners({ expect: [
        { kind: 'listener', access: 'both', address: '127.0.0.1:' + process.argv[2] },
        { kind: 'listener', access: 'both' },
      ] });
      const report = {
        received: received.map(({ fd, name, kind }) => ({ fd, name, kind })),
        variables: Object.keys(process.env).filter((name) => name.startsWith('LISTEN_')),
        leaky: sallyport.auditSelf().leaky.map(({ fd }) => fd).filter((fd) => fd < 5),
        child: spawnSync('sh', ['-c', 'echo $LISTEN_FDS; ls /proc/self/fd']).stdout.toString(),
        again: sallyport.receiveListeners().length,
      };
      http.createServer((_, response) => response.end(JSON.stringify(report))).listen({ fd: received[0].fd });
      net.createServer((socket) => socket.end('second')).listen({ fd: received[1].fd });
    `);
    const [first, second] = [await freePort(), await freePort()];
    const args = ['-l', `127.0.0.1:${first}`, '-l', `127.0.0.1:${second}`, '--fdname=web:admin'];
    const activator = spawn(
      'systemd-socket-activate',
      [...args, process.execPath, server, String(first)],
      { stdio: ['ignore', 'inherit', 'pipe'] },
    );
    try {
      let said = '';
      activator.stderr.on('data', (text: Buffer) => (said += String(text)));
      await waitFor('listening', () => said.split('Listening on').length === 3 || undefined);
      const answer = await ask(first, 'GET / HTTP/1.0\r\n\r\n');
      const report = JSON.parse(answer.slice(answer.indexOf('{'))) as Record<string, unknown>;
      expect(report).toMatchObject({
        received: [
          { fd: 3, name: 'web', kind: 'listener' },
          { fd: 4, name: 'admin', kind: 'listener' },
        ],
        variables: [],
        leaky: [],
        again: 0,
      });
      // The one that `ls` itself opens is 3.
      expect(report.child).toMatch(/^\n0\n1\n2\n3\n/);
      expect(await ask(second, '')).toBe('second');
    } finally {
      activator.kill();
    }
  });
});

needs('systemd-socket-activate').describe('what was handed over and not taken', () => {
  const explain = async (command: (server: string) => string[], body: string): Promise<string> => {
    const port = await freePort();
    const server = writeServer(`${body}
      const server = require('node:net').createServer();
      server.once('error', () => {
        process.stdout.write(sallyport.explainPort(${port}).text, () => process.exit());
      });
      server.listen(${port}, '127.0.0.1');
    `);
    const activator = spawn(
      'systemd-socket-activate',
      ['-l', `127.0.0.1:${port}`, ...command(server)],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let [said, text] = ['', ''];
    activator.stderr.on('data', (piece: Buffer) => (said += String(piece)));
    activator.stdout.on('data', (piece: Buffer) => (text += String(piece)));
    await waitFor('listening', () => said.includes('Listening on') || undefined);
    const client = connect(port, '127.0.0.1').on('error', () => {});
    await once(activator, 'close');
    client.destroy();
    return text;
  };

  it('explains EADDRINUSE to who did not ask for it', async () => {
    const text = await explain((server) => [process.execPath, server], '');
    expect(text).toMatch(/^A service manager handed the listener on \S+ to this process,/m);
    expect(text).toContain('Take it by receiveListeners(), and serve it by server.listen({ fd }).');
  });

  it.each([
    ['', ''],
    [' and by whom nothing was taken', 'sallyport.receiveListeners();'],
  ])('explains it to whom a shell has started%s', async (_, body) => {
    const text = await explain(
      (server) => ['sh', '-c', `"${process.execPath}" ${server}; exit 0`],
      body,
    );
    expect(text).toMatch(/^sh .* holds a copy of the listener .* for that process alone/m);
    expect(text).toMatch(/^A service manager handed the listener on \S+ to process \d+,/m);
    expect(text).toContain('with no shell or npm in between');
  });
});

describe('receiveListeners', () => {
  const receive = (variables: Record<string, string>, expect?: unknown) =>
    inNode(
      ({ sallyport }, { variables, expect }) => {
        for (const [name, value] of Object.entries(variables)) {
          process.env[name] = value.replace('{pid}', String(process.pid));
        }
        try {
          const received = sallyport.receiveListeners(
            expect === undefined ? {} : { expect: expect as never },
          );
          return { received: received.length, left: process.env['LISTEN_FDS'] };
        } catch (error) {
          return { code: (error as NodeJS.ErrnoException).code, left: process.env['LISTEN_FDS'] };
        }
      },
      { variables, expect },
    );

  it('takes nothing that is meant for another process, and removes the variables', async () => {
    expect(await receive({ LISTEN_PID: '1', LISTEN_FDS: '1' })).toEqual({ received: 0 });
  });

  it('says whom they were handed to, where some were expected', async () => {
    const message = await inNode(({ sallyport }) => {
      Object.assign(process.env, { LISTEN_PID: '1', LISTEN_FDS: '1' });
      try {
        return sallyport.receiveListeners({ expect: [{ kind: 'listener', access: 'both' }] });
      } catch (error) {
        return (error as Error).message.replace(String(process.pid), 'me');
      }
    }, null);
    expect(message).toMatch(/: expected 1: LISTEN_PID names process 1, and this is me: /);
  });

  it('takes nothing where nothing was handed over', async () => {
    expect(await receive({})).toEqual({ received: 0 });
  });

  it('refuses what is no socket', async () => {
    // 3 is whatever Node opened for itself.
    expect(await receive({ LISTEN_PID: '{pid}', LISTEN_FDS: '1' })).toEqual({
      code: 'ERR_SALLYPORT_UNEXPECTED_OBJECT',
    });
  });

  it('refuses a number that is not open', async () => {
    expect(await receive({ LISTEN_PID: '{pid}', LISTEN_FDS: '4000' })).toEqual({ code: 'EBADF' });
  });

  it.each([
    ['a number that is not open', undefined, 'EBADF'],
    ['another count than was expected', [], 'ERR_SALLYPORT_UNEXPECTED_OBJECT'],
  ])('seals all of them before it refuses %s', async (_, expect_, code) => {
    const seen = await inNode(({ sallyport, storm }, expected) => {
      // Behind a gap, where Node itself has sealed nothing.
      const { fd } = storm.listenInheritable(40);
      process.env['LISTEN_PID'] = String(process.pid);
      process.env['LISTEN_FDS'] = String(fd - 2);
      let code: unknown;
      try {
        sallyport.receiveListeners(expected === undefined ? {} : { expect: expected });
      } catch (error) {
        code = (error as NodeJS.ErrnoException).code;
      }
      return { code, sealed: storm.isCloexec(fd) };
    }, expect_);
    expect(seen).toEqual({ code, sealed: true });
  });

  it('refuses a malformed count', async () => {
    const malformed = await receive({ LISTEN_PID: '{pid}', LISTEN_FDS: '1e3' });
    expect(malformed).toEqual({ code: 'ERR_SALLYPORT_INVALID_ARGUMENT' });
  });

  it('refuses another count than was expected', async () => {
    const expected = [{ kind: 'listener', access: 'both' }];
    expect(await receive({}, expected)).toEqual({ code: 'ERR_SALLYPORT_UNEXPECTED_OBJECT' });
  });
});

describe('a listener for one chosen child', () => {
  it('is at its number in that child and in no other', async () => {
    const seen = await inNode(async ({ sallyport, processes, require }) => {
      const net = require('node:net') as typeof import('node:net');
      const { spawn } = require('node:child_process') as typeof import('node:child_process');
      const server = net.createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
      const chosen = sallyport.spawn('sleep', ['60'], {
        stdio: 'null',
        pass: [{ fd, as: 3, expect: { kind: 'listener', access: 'both' } }],
      });
      const other = sallyport.spawn('sleep', ['60'], { stdio: 'null' });
      const plain = spawn('sleep', ['60'], { stdio: 'ignore' });
      try {
        await processes.waitFor(
          'exec',
          () => sallyport.auditProcess(plain.pid ?? 0).command === 'sleep',
        );
        return {
          holders: sallyport.findHolders({ fd }).holders.map(({ pid, fd: at }) => ({ pid, at })),
          me: process.pid,
          fd,
          chosen: chosen.pid,
        };
      } finally {
        for (const child of [chosen, other, plain]) child.kill();
        server.close();
      }
    }, null);
    expect(seen.holders).toEqual([
      { pid: seen.me, at: seen.fd },
      { pid: seen.chosen, at: 3 },
    ]);
  });
});
