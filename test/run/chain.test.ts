// Records that carry the digest of the one before, and what a check of them finds.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import { run } from '../../src/index.js';
import { checkChain, digestLine } from '../../src/run/chain.js';
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

describe('a chain', () => {
  it('is whole, also when runs end at once', () => {
    expect(checkChain(join(lines))).toEqual({
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
    const { broken } = checkChain(join(change([...lines])));
    expect(broken?.line).toBe(line);
    expect(broken?.why).toContain(why);
  });

  it('cut in the middle of a record is broken there; between two it looks whole, with another end', () => {
    expect(checkChain(join(lines).slice(0, -9)).broken).toMatchObject({ line: 12 });
    const shorter = checkChain(join(lines.slice(0, 5)));
    expect(shorter.broken).toBeNull();
    expect(shorter.last).not.toBe(checkChain(join(lines)).last);
  });

  it('goes on after what was there before', async () => {
    const file = path.join(makeScratch(), 'runs.jsonl');
    writeFileSync(file, join(lines.slice(0, 3)));
    await run('true', [], { ...contained, record: file });
    expect(checkChain(readFileSync(file, 'utf8'))).toMatchObject({ records: 4, broken: null });
  });
});
