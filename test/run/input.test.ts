// What the target's stdin is fed with, how much of it was taken, and what becomes of the rest.
import { createReadStream, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';

import { run, type RunInput } from '../../src/index.js';
import { makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { contained } from './support.js';

const big = Buffer.alloc(3_000_000, 'x');

function makeFile(data: Buffer | string): string {
  const file = path.join(makeScratch(), 'input');
  writeFileSync(file, data);
  return file;
}

describe('input', () => {
  it.each<[string, () => RunInput, number]>([
    ['nothing', () => '', 0],
    ['a string', () => 'h\u00e9llo', 6],
    ['bytes', () => big, 3_000_000],
    ['a stream', () => Readable.from([big.subarray(0, 100_000), 'more']), 100_004],
    ['a stream of a file', () => createReadStream(makeFile(big)), 3_000_000],
    ['a file', () => ({ file: makeFile(big) }), 3_000_000],
  ])('%s arrives whole', async (_, make, bytes) => {
    const report = await run('wc', ['-c'], { ...contained, input: make() });
    expect(Number(report.output.stdout.text)).toBe(bytes);
    expect(report.input).toEqual({ bytesWritten: bytes, error: null, sourceError: null });
    expect(report.complete).toBe(true);
  });

  it('of bytes is taken at the call: what becomes of them afterwards changes nothing', async () => {
    const used = Buffer.alloc(300_000, 'a');
    const given = new Uint8Array(300_000).fill(0x61);
    const runs = [used, given].map((input) => run('cat', [], { ...contained, input }));
    used.fill('z');
    structuredClone(given.buffer, { transfer: [given.buffer] });
    for (const { output, input } of await Promise.all(runs)) {
      expect(output.stdout.text === 'a'.repeat(300_000)).toBe(true);
      expect(input.bytesWritten).toBe(300_000);
    }
  });

  it('that is not read is EPIPE in the report, and the exit status stays the outcome', async () => {
    const report = await run('sh', ['-c', 'head -c 10 >/dev/null; exit 7'], {
      ...contained,
      input: big,
    });
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 7 });
    expect(report.input.error).toBe('EPIPE');
    expect(report.input.bytesWritten).toBeLessThan(big.length);
    expect(report.complete).toBe(false);
  });

  it('by a stream that never ends does not hold the run up, and is left alone', async () => {
    const source = new PassThrough();
    source.write('some');
    const report = await run('head', ['-c', '4'], { ...contained, input: source });
    expect(report.output.stdout.text).toBe('some');
    expect(report.input).toMatchObject({ bytesWritten: 4, error: 'EPIPE' });
    expect(source.destroyed).toBe(false);
    for (const event of ['data', 'end', 'error', 'close']) {
      // A PassThrough listens for its own end.
      expect(source.listenerCount(event), event).toBeLessThanOrEqual(event === 'end' ? 1 : 0);
    }
  });

  it('by a stream that fails: the target sees an end, and the report says so', async () => {
    const source = new PassThrough();
    source.write('half');
    setImmediate(() => source.destroy(new Error('cable cut')));
    const report = await run('cat', [], { ...contained, input: source });
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    expect(report.input).toMatchObject({ error: null, sourceError: 'cable cut' });
    expect(report.complete).toBe(false);
  });

  it('is no uncaught exception when the target is killed with input in the queue', async () => {
    const outcome = await inNode(async ({ sallyport }) => {
      const report = await sallyport.run('sleep', ['60'], {
        input: Buffer.alloc(3e6),
        deadline: 100,
      });
      return [report.outcome.kind, report.input.error];
    }, null);
    expect(outcome).toEqual(['deadline', 'EPIPE']);
  });

  it.each([
    ['a stream of the web', new Blob(['x']).stream(), 'Readable.from(it)'],
    ['a generator', (async function* () {})(), 'Readable.from(it)'],
    ['a buffer without a view', new ArrayBuffer(1), 'not an ArrayBuffer'],
    ['a number', 1, 'not number'],
  ])('%s: the refusal says what may stand there', async (_, input, advice) => {
    const running = run('cat', [], { ...contained, input: input as unknown as RunInput });
    await expect(running).rejects.toThrow(/^input: must be a string, bytes, a readable stream/);
    await expect(running).rejects.toThrow(advice);
  });

  it('what is made of a stream of the web is read to its end', async () => {
    const input = Readable.from(new Blob(['of ', 'the web']).stream());
    const report = await run('cat', [], { ...contained, input });
    expect(report.output.stdout.text).toBe('of the web');
  });
});
