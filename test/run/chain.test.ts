// Records that carry the digest of the one before, and what a check of them finds.
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import { run } from '../../src/index.js';
import { checkChain, digestLine, type ChainCheck } from '../../src/run/chain.js';
import { makeScratch } from '../support/fixtures.js';
import { contained } from './support.js';

const record = path.join(makeScratch(), 'runs.jsonl');
let lines: string[] = [];

beforeAll(async () => {
  const all = Array.from({ length: 12 }, (_, code) =>
    run('sh', ['-c', `exit ${code}`], { ...contained, record }),
  );
  await Promise.all(all);
  lines = readFileSync(record, 'utf8').trimEnd().split('\n');
});

const join = (some: readonly string[]): string => some.map((line) => `${line}\n`).join('');
const check = (text: string): ChainCheck => checkChain(Buffer.from(text));

describe('a chain', () => {
  it('is whole, also when runs end at once', () => {
    expect(check(join(lines))).toEqual({
      records: 12,
      last: digestLine(lines.at(-1) ?? ''),
      broken: null,
    });
  });

  it.each<[string, (lines: string[]) => string[], number, string]>([
    [
      'changed',
      (all) => all.map((line, at) => (at === 4 ? line.replace('exited', 'signaled') : line)),
      6,
      'changed',
    ],
    ['removed', (all) => all.filter((_, at) => at !== 4), 5, 'removed'],
    ['removed at the beginning', (all) => all.slice(1), 1, 'that is missing'],
    ['put in', (all) => [...all.slice(0, 4), all[2] ?? '', ...all.slice(4)], 5, 'put in'],
    ['exchanged', (all) => [all[1] ?? '', all[0] ?? '', ...all.slice(2)], 1, 'missing'],
    ['of something else', (all) => [...all.slice(0, 3), '{}', ...all.slice(3)], 4, 'no digest'],
    [
      'of no chain',
      (all) => [...all.slice(0, 3), '{"chain":null}', ...all.slice(3)],
      4,
      'no digest',
    ],
    ['of no JSON', (all) => [...all.slice(0, 3), 'x', ...all.slice(3)], 4, 'no record'],
  ])('with a record that is %s is broken there', (_what, change, line, why) => {
    const { broken } = check(join(change([...lines])));
    expect(broken?.line).toBe(line);
    expect(broken?.why).toContain(why);
  });

  it('cut in the middle of a record is broken there; between two it looks whole, with another end', () => {
    expect(check(join(lines).slice(0, -9)).broken).toMatchObject({ line: 12 });
    const shorter = check(join(lines.slice(0, 5)));
    expect(shorter.broken).toBeNull();
    expect(shorter.last).not.toBe(check(join(lines)).last);
  });

  it('is told from another that is whole as well by a digest that was kept', () => {
    const look = (some: string[], kept: string) => checkChain(Buffer.from(join(some)), kept);
    const kept = look(lines.slice(0, 5), '').last ?? '';
    // It has grown since.
    expect(look(lines, kept)).toMatchObject({ broken: null, kept: 5 });
    // Some were cut off, or all were written anew from one on.
    expect(look(lines.slice(0, 4), kept)).toMatchObject({ broken: null, kept: null });
    const anew: string[] = [];
    for (const line of lines) {
      const changed = line.replace('"version":1', `"version":1,"x":${anew.length === 1}`);
      const previous = anew.length === 0 ? null : digestLine(anew.at(-1) ?? '');
      anew.push(changed.replace(/"previous":[^,]*/, `"previous":${JSON.stringify(previous)}`));
    }
    expect(look(anew, kept)).toMatchObject({ broken: null, kept: null });
    expect(check(join(lines))).not.toHaveProperty('kept');
  });

  it('goes on after what was there before', async () => {
    const file = path.join(makeScratch(), 'runs.jsonl');
    writeFileSync(file, join(lines.slice(0, 3)));
    await run('true', [], { ...contained, record: file });
    expect(checkChain(readFileSync(file))).toMatchObject({ records: 4, broken: null });
  });

  it('is broken by other bytes that are the same text', () => {
    const named = (lines[0] ?? '').replace('"version":1', '"version":1,"note":"\ufffd"');
    const next = (lines[1] ?? '').replace(digestLine(lines[0] ?? ''), digestLine(named));
    const whole = Buffer.from(join([named, next]));
    expect(checkChain(whole).broken).toBeNull();
    const at = whole.indexOf('\ufffd');
    const changed = Buffer.concat([
      whole.subarray(0, at),
      Buffer.from([0xff]),
      whole.subarray(at + 3),
    ]);
    expect(changed.toString()).toBe(whole.toString());
    expect(checkChain(changed).broken).toMatchObject({ line: 2 });
  });

  it('says nothing of what stands there for a number', () => {
    const line = (index: string): string => `{"chain":{"previous":null,"index":${index}}}`;
    for (const index of ['"\\u001b[2J"', '{}', '-1', '1e999', 'null']) {
      expect(check(join([line(index)])).broken?.why).toBe('it counts itself as no number');
    }
    expect(check(join([line('6')])).broken?.why).toBe('it counts itself as number 7');
  });

  it('is added to on a line of its own, whatever somebody else has begun there', async () => {
    const file = path.join(makeScratch(), 'runs.jsonl');
    writeFileSync(file, `${join(lines.slice(0, 2))}{"chain":{"index":"x"}`);
    await run('true', [], { ...contained, record: file });
    await run('true', [], { ...contained, record: file });
    const written = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(written).toHaveLength(5);
    expect(checkChain(readFileSync(file)).broken).toEqual({ line: 3, why: 'it is no record' });
    const [first, second] = written.slice(3).map((line) => JSON.parse(line) as { chain: unknown });
    expect(first?.chain).toEqual({ previous: digestLine(written[2] ?? ''), index: 1 });
    expect(second?.chain).toEqual({ previous: digestLine(written[3] ?? ''), index: 2 });
  });

  it('is added to in no more time than it takes to read a line, however long that is', async () => {
    const file = path.join(makeScratch(), 'runs.jsonl');
    writeFileSync(file, '');
    truncateSync(file, 3 * 2 ** 30); // no newline in it
    // Read in pieces that were joined again with each, it took half a minute: longer than a test may.
    const { complete } = await run('true', [], { ...contained, record: file });
    expect(complete).toBe(true);
  });
});
