// Lines as they come, and how leaving them ends the run.
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

import { runLines } from '../../src/index.js';
import { LineCutter, LONGEST_LINE } from '../../src/run/lines.js';
import { root } from '../support/fixtures.js';
import { contained } from './support.js';

describe('runLines', () => {
  it('gives every line, and the report at the end', async () => {
    const lines = runLines('seq', ['50000'], contained);
    let next = 1;
    for await (const line of lines) expect(line).toBe(String(next++));
    expect(next).toBe(50_001);
    const report = await lines.report;
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    // Nothing was kept, and nothing was lost.
    expect(report.output.stdout).toMatchObject({ bytesKept: 0, deliveryError: null });
  });

  it('is ended by await using, read or not', async () => {
    const lines = runLines('yes', [], contained);
    await lines[Symbol.asyncDispose]();
    expect((await lines.report).outcome).toMatchObject({ kind: 'aborted' });
    const over = runLines('true', [], contained);
    await over.report;
    await over[Symbol.asyncDispose]();
    expect((await over.report).outcome).toMatchObject({ kind: 'exited' });
  });

  it('holds the program up while nobody reads', async () => {
    const lines = runLines('yes', [], contained);
    let seen = 0;
    for await (const line of lines) {
      expect(line).toBe('y');
      if (++seen === 5_000) break;
    }
    const report = await lines.report;
    expect(report.outcome).toMatchObject({ kind: 'aborted' });
    expect(report.cleanup.survivors).toEqual([]);
    // The lines that were read, those that waited, a piece and two pipes: not all that yes could write.
    expect(report.output.stdout.bytesSeen).toBeLessThan(8 * 2 ** 20);
  });

  it('throws where the program could not be started', async () => {
    const read = async (): Promise<void> => {
      for await (const line of runLines('no-such-program', contained)) expect(line).toBe('');
    };
    await expect(read()).rejects.toMatchObject({ code: 'ENOENT', stage: 'lookup' });
  });

  it('throws a mistake of the caller', async () => {
    const lines = runLines('true', [], { ...contained, grace: -1 });
    await expect(lines[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      stagePath: 'grace',
    });
  });

  it('that nobody reads: the deadline comes, though nothing else keeps the process running', () => {
    const script = `
      const { runLines } = require(${JSON.stringify(root)});
      const { report } = runLines('seq', ['100000'], { deadline: 200, grace: 0 });
      report.then(({ outcome }) => console.log(outcome.kind));`;
    const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect(stdout).toBe('deadline\n');
  });

  it('leaves no timer behind that keeps the process running', () => {
    const script = `
      const { runLines } = require(${JSON.stringify(root)});
      const list = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout');
      (async () => {
        const timer = setTimeout(() => {}, 60_000);
        console.log(list().length);
        clearTimeout(timer);
        for await (const line of runLines('echo', ['hi'])) console.log(line);
        setImmediate(() => console.log(list().length));
      })();`;
    const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect(stdout).toBe('1\nhi\n0\n');
  });

  it('with merge has those of stderr as well', async () => {
    const lines = [];
    const script = 'echo a; echo b >&2; echo c';
    const options = { ...contained, output: { merge: true } };
    for await (const line of runLines('sh', ['-c', script], options)) lines.push(line);
    expect(lines).toEqual(['a', 'b', 'c']);
  });
});

describe('lines are cut', () => {
  it('wherever the pieces end', () => {
    const text = Buffer.from('one\ntw\u00e9\n\nfour');
    for (let cut = 0; cut <= text.length; cut += 1) {
      const cutter = new LineCutter();
      const lines = [...cutter.cut(text.subarray(0, cut)), ...cutter.cut(text.subarray(cut))];
      expect([...lines, ...cutter.flush()]).toEqual(['one', 'tw\u00e9', '', 'four']);
    }
  });

  it('into pieces where they do not end', () => {
    const cutter = new LineCutter();
    const lines = cutter.cut(Buffer.alloc(LONGEST_LINE * 2 + 5, 'x'));
    expect(lines.map((line) => line.length)).toEqual([LONGEST_LINE, LONGEST_LINE]);
    expect(cutter.flush()).toEqual(['xxxxx']);
    expect(cutter.flush()).toEqual([]);
  });
});
