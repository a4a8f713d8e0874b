// The server that is restarted: every request is answered, and the old one leaves with nothing open.
import { request } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { readFileSync, readlinkSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';

import { freePort } from '../support/ports.js';
import { isGone, listDescriptors, waitFor } from '../support/processes.js';
import { startExample } from './support.js';

const started = new Set<number>();

afterEach(() => {
  for (const pid of started) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
  started.clear();
});

interface Running {
  pid: number;
  port: number;
  log: () => string;
  ended: Promise<unknown>;
}

async function startServer(args: string[] = []): Promise<Running> {
  const port = await freePort();
  const server = startExample('zero-downtime/server.mjs', [String(port), ...args]);
  started.add(server.pid!);
  let log = '';
  server.stderr!.setEncoding('utf8').on('data', (text: string) => (log += text));
  const ended = once(server, 'exit');
  await waitFor('the server', () => log.includes('listens on'));
  return { pid: server.pid!, port, log: () => log, ended };
}

/** Of whoever answers. */
async function ask(port: number): Promise<number> {
  const call = request({ port, host: '127.0.0.1', agent: false });
  const answered = once(call, 'response') as Promise<
    [NodeJS.ReadableStream & { statusCode: number }]
  >;
  call.end();
  const [response] = await answered;
  let text = '';
  for await (const chunk of response) text += String(chunk);
  expect(response.statusCode).toBe(200);
  return Number(/^answered by (\d+): /.exec(text)?.[1]);
}

async function restart({ pid, log }: Running): Promise<number> {
  const before = log().length;
  process.kill(pid, 'SIGUSR2');
  const next = await waitFor('the hand-over', () =>
    Number(/hands over to (\d+)/.exec(log().slice(before))?.[1] ?? 0),
  );
  started.add(next);
  return next;
}

/** Beyond the standard channels, of which one leads to this test. */
const socketsOf = (pid: number): string[] =>
  listDescriptors(pid).flatMap((fd) => {
    if (fd < 3) return [];
    const target = readlinkSync(`/proc/${String(pid)}/fd/${String(fd)}`);
    return target.startsWith('socket:') ? [target] : [];
  });

describe('examples/zero-downtime', () => {
  it('answers every request of a restart, some by the old one and then all by the new', async () => {
    const server = await startServer();
    let isOver = false;
    const answers: number[] = [];
    const client = async (): Promise<void> => {
      while (!isOver) answers.push(await ask(server.port));
    };
    const clients = Promise.all([client(), client(), client()]);
    await waitFor('answers of the old one', () => answers.length > 20);
    const next = await restart(server);
    await server.ended;
    const atEnd = answers.length;
    await waitFor('answers of the new one', () => answers.length > atEnd + 20);
    isOver = true;
    // A client whose request was refused or cut off has rejected.
    await clients;
    expect(new Set(answers)).toEqual(new Set([server.pid, next]));
    // The three that were under way when it left have been answered by it at the latest.
    expect(new Set(answers.slice(atEnd + 3))).toEqual(new Set([next]));
    expect(isGone(server.pid)).toBe(true);
  });

  it('a request that has begun is answered by the server that began it', async () => {
    const server = await startServer();
    const socket = connect(server.port, '127.0.0.1').setEncoding('utf8');
    let answer = '';
    socket.on('data', (text: string) => (answer += text));
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345');
    // It has been accepted once the old one is asked something else after it, and answers.
    expect(await ask(server.port)).toBe(server.pid);
    const next = await restart(server);
    expect(await ask(server.port)).toBe(next);
    // Asked again meanwhile it goes on with what it has begun.
    process.kill(server.pid, 'SIGUSR2');
    process.kill(server.pid, 'SIGTERM');
    expect(await ask(server.port)).toBe(next);
    expect(isGone(server.pid)).toBe(false);
    socket.write('67890');
    await server.ended;
    expect(answer).toContain(`answered by ${String(server.pid)}: 10 bytes`);
    expect(answer.toLowerCase()).toContain('connection: close');
    socket.destroy();
  });

  it('the new one has the same listener, and nothing else of the old one', async () => {
    const server = await startServer();
    const [listener] = socketsOf(server.pid);
    expect(listener).toMatch(/^socket:/);
    const next = await restart(server);
    await server.ended;
    expect(socketsOf(next)).toEqual([listener]);
    const names = readFileSync(`/proc/${String(next)}/environ`, 'latin1')
      .split('\0')
      .flatMap((each) => (each === '' ? [] : [each.slice(0, each.indexOf('='))]));
    expect(names.filter((name) => name.startsWith('LISTEN_')).sort()).toEqual([
      'LISTEN_FDNAMES',
      'LISTEN_FDS',
      'LISTEN_PID',
    ]);
    // Sealed: the next program that it might start gets none of it.
    const flags = listDescriptors(next)
      .filter((fd) => fd > 2)
      .map((fd) => readFileSync(`/proc/${String(next)}/fdinfo/${String(fd)}`, 'utf8'));
    expect(flags.length).toBeGreaterThan(1);
    for (const text of flags) {
      expect(parseInt(/^flags:\s+(\d+)/m.exec(text)![1]!, 8) & 0o2000000).toBe(0o2000000);
    }
  });

  it('the new one can be restarted in turn', async () => {
    const server = await startServer();
    const second = await restart(server);
    await server.ended;
    const third = await restart({ ...server, pid: second });
    await waitFor('the end of the second', () => isGone(second));
    expect(await ask(server.port)).toBe(third);
  });

  it('where the port is taken it says by whom, and ends', async () => {
    const server = await startServer();
    const other = startExample('zero-downtime/server.mjs', [String(server.port)]);
    let log = '';
    other.stderr!.setEncoding('utf8').on('data', (text: string) => (log += text));
    const [code] = (await once(other, 'close')) as [number];
    expect(code).toBe(1);
    expect(log).toContain(String(server.pid));
    expect(await ask(server.port)).toBe(server.pid);
  });
});
