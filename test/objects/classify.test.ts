// The native classifier: what a plan says each descriptor is.
import {
  closeSync,
  constants,
  fstatSync,
  mkdtempSync,
  openSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type DescriptorObject, planLaunch } from '../../src/index.js';
import { loadStorm, makeScratch } from '../support/fixtures.js';

const storm = loadStorm();
const scratch = makeScratch();
const opened: number[] = [];

function classify(fd: number): DescriptorObject {
  opened.push(fd);
  const { object } =
    planLaunch('true', [], { stdio: 'null', pass: [{ fd, as: 3 }] }).descriptors[3] ?? {};
  if (!object) throw new Error('the plan names no object');
  return object;
}

afterAll(() => {
  for (const fd of new Set(opened)) closeSync(fd);
});

describe('kind and access', () => {
  beforeAll(() => {
    writeFileSync(path.join(scratch, 'file'), '');
    execFileSync('mkfifo', [path.join(scratch, 'fifo')]);
  });

  const open = (name: string, flags: number) => () => openSync(path.resolve(scratch, name), flags);
  const make =
    (kind: Parameters<typeof storm.makeInheritable>[0], index = 0) =>
    () =>
      storm.makeInheritable(kind)[index] ?? -1;
  const { O_RDONLY, O_WRONLY, O_RDWR, O_DIRECTORY, O_NONBLOCK } = constants;

  it.each<[string, () => number, string, string]>([
    ['a file', open('file', O_RDONLY), 'file', 'read'],
    ['a file to write', open('file', O_WRONLY), 'file', 'write'],
    ['a file for both', open('file', O_RDWR), 'file', 'both'],
    [
      'an O_PATH descriptor',
      () => storm.openInheritable(path.join(scratch, 'file'), 0, 'none'),
      'file',
      'none',
    ],
    ['a directory', open('.', O_RDONLY | O_DIRECTORY), 'directory', 'read'],
    ['/dev/null', open('/dev/null', O_RDWR), 'char-device', 'both'],
    ['a terminal', open('/dev/ptmx', O_RDWR), 'tty', 'both'],
    ['a FIFO', open('fifo', O_RDWR | O_NONBLOCK), 'fifo', 'both'],
    ['the read end of a pipe', make('pipe', 0), 'pipe', 'read'],
    ['the write end of a pipe', make('pipe', 1), 'pipe', 'write'],
    ['a socket', make('socketpair'), 'socket', 'both'],
    ['a UDP socket', make('udp'), 'socket', 'both'],
    ['a listener', () => storm.listenInheritable().fd, 'listener', 'both'],
    ['a memfd', make('memfd'), 'memfd', 'both'],
    ['an eventfd', make('eventfd'), 'eventfd', 'both'],
    ['an epoll', make('epoll'), 'epoll', 'both'],
  ])('%s', (_, open, kind, access) => {
    expect(classify(open())).toMatchObject({ kind, access });
  });
});

describe('identity', () => {
  it('dev and inode are those of fstat', () => {
    const fd = openSync('/etc/hosts', 'r');
    const { dev, ino } = fstatSync(fd, { bigint: true });
    const object = classify(fd);
    expect([BigInt(object.dev), object.inode]).toEqual([dev, String(ino)]);
    expect(object.target).toBe('/etc/hosts');
  });

  it('a deleted file keeps its inode, and its target says so', () => {
    const directory = mkdtempSync(path.join(scratch, 'x-'));
    const file = path.join(directory, 'gone');
    writeFileSync(file, '');
    const fd = openSync(file, 'r');
    unlinkSync(file);
    rmSync(directory, { recursive: true });
    expect(classify(fd)).toMatchObject({ kind: 'file', target: `${file} (deleted)` });
  });

  it('a file whose name looks like something else is a file', () => {
    for (const name of ['socket:[1]', 'pipe:[2]', 'memfd:x', 'anon_inode:[eventpoll]']) {
      const file = path.join(scratch, name);
      writeFileSync(file, '');
      expect(classify(openSync(file, 'r')).kind).toBe('file');
    }
  });
});

describe('sockets', () => {
  it('a TCP listener: family, type, local address', () => {
    const { fd, port } = storm.listenInheritable();
    expect(classify(fd).socket).toMatchObject({
      family: 2,
      type: 1,
      listening: true,
      local: `127.0.0.1:${String(port)}`,
      remote: '',
    });
  });

  const name = `sallyport-test-${String(process.pid)}`;

  it.each([
    ['a path', path.join(scratch, 'listen.sock'), path.join(scratch, 'listen.sock')],
    // Some versions of Node fill an abstract name up with NULs, which are part of it.
    ['an abstract name', `\0${name}`, expect.stringMatching(new RegExp(`^@${name}@*$`)) as string],
  ])('a Unix listener at %s', async (_, listenAt, local) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(listenAt, resolve));
    const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
    const { object } = planLaunch('true', [], { pass: [{ fd, as: 3 }] }).descriptors[3] ?? {};
    expect(object).toMatchObject({
      kind: 'listener',
      socket: { family: 1, listening: true, local },
    });
    await new Promise((resolve) => server.close(resolve));
  });

  it('IPv6, where there is any', async () => {
    const server = createServer();
    const listening = await new Promise<boolean>((resolve) => {
      server.once('error', () => {
        resolve(false);
      });
      server.listen(0, '::1', () => {
        resolve(true);
      });
    });
    if (!listening) return;
    const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { object } = planLaunch('true', [], { pass: [{ fd, as: 3 }] }).descriptors[3] ?? {};
    expect(object?.socket?.local).toBe(`[::1]:${String(port)}`);
    await new Promise((resolve) => server.close(resolve));
  });
});
