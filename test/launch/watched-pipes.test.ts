// The streams that stand for a child's pipes where the runtime's sockets do not: here on Node.
import { once } from 'node:events';
import { closeSync, fstatSync, readSync, writeSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { PipeReader, PipeWriter } from '../../src/launch/watched-pipes.js';
import { isFailure } from '../../src/native-binding.js';
import { native } from '../../src/native.js';

function openPipe(ours: 'read' | 'write'): { fd: number; theirs: number } {
  const pipe = native().openPipe();
  if (isFailure(pipe)) throw new Error('no pipe');
  const [fd, theirs] = ours === 'read' ? pipe : [pipe[1], pipe[0]];
  native().setBlocking(fd, false);
  return { fd, theirs };
}

const isOpen = (fd: number): boolean => {
  try {
    fstatSync(fd);
    return true;
  } catch {
    return false;
  }
};

describe('PipeReader', () => {
  it('gives what is written, then the end, and closes', async () => {
    const { fd, theirs } = openPipe('read');
    const reader = new PipeReader(fd);
    writeSync(theirs, 'one ');
    const pieces: string[] = [];
    reader.on('data', (piece: Buffer) => {
      pieces.push(piece.toString());
      if (pieces.length === 1) writeSync(theirs, 'two');
      else closeSync(theirs);
    });
    await once(reader, 'close');
    expect(pieces).toEqual(['one ', 'two']);
    expect(reader.readableEnded).toBe(true);
    expect(isOpen(fd)).toBe(false);
  });

  it('takes no more than it is asked for', async () => {
    const { fd, theirs } = openPipe('read');
    native().setBlocking(theirs, false);
    const reader = new PipeReader(fd);
    const fill = (): number => {
      let written = 0;
      try {
        for (;;) written += writeSync(theirs, Buffer.alloc(65_536));
      } catch {
        return written;
      }
    };
    fill();
    await once(reader, 'readable');
    // What it has read ahead leaves room once; after that the pipe stays full.
    fill();
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    fill();
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(fill()).toBe(0);
    expect(reader.readableLength).toBeLessThan(600_000);
    reader.destroy();
    await once(reader, 'close');
    expect(isOpen(fd)).toBe(false);
    closeSync(theirs);
  });
});

describe('PipeWriter', () => {
  it('waits for room, and writes all of it in order', async () => {
    const { fd, theirs } = openPipe('write');
    const writer = new PipeWriter(fd);
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
    expect(writer.write(bytes)).toBe(false);
    writer.end('end');
    const got: Buffer[] = [];
    native().setBlocking(theirs, false);
    const piece = Buffer.alloc(10_000);
    const read = (): number => {
      try {
        return readSync(theirs, piece);
      } catch {
        return -1; // nothing there yet
      }
    };
    for (let length = -1; length !== 0; length = read()) {
      if (length > 0) got.push(Buffer.from(piece.subarray(0, length)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(Buffer.concat(got).equals(Buffer.concat([bytes, Buffer.from('end')]))).toBe(true);
    expect(isOpen(fd)).toBe(false);
    closeSync(theirs);
  });

  it('says EPIPE where nobody reads, and ECANCELED where it is destroyed before all was taken', async () => {
    const unread = openPipe('write');
    const writer = new PipeWriter(unread.fd);
    closeSync(unread.theirs);
    const refused = once(writer, 'error');
    const told = new Promise((resolve) => writer.write('x', resolve));
    expect(await told).toMatchObject({ code: 'EPIPE', syscall: 'write' });
    expect(await refused).toMatchObject([{ code: 'EPIPE' }]);

    const full = openPipe('write');
    const other = new PipeWriter(full.fd);
    const canceled = new Promise((resolve) => other.write(Buffer.alloc(300_000), resolve));
    other.destroy();
    expect(await canceled).toMatchObject({ code: 'ECANCELED' });
    await once(other, 'close');
    expect(isOpen(full.fd)).toBe(false);
    closeSync(full.theirs);
  });
});
