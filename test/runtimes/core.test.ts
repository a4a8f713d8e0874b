// One program for each theme, under each runtime: all see the same.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { readDocument } from '../docs/markdown.js';
import { onEachRuntime } from '../support/runtimes.js';
import { prepareConsumer } from './consumer.js';
import { deviations, expected } from './expected.js';

const consumer = prepareConsumer();
const programs = Object.keys(expected);

it('every program is run', () => {
  // Those of endings.test.ts, and what they share.
  const others = ['endings.cjs', 'observe.cjs'];
  const files = readdirSync(path.join(import.meta.dirname, 'programs'));
  expect(files.sort()).toEqual([...programs, ...others].sort());
});

onEachRuntime((runtime) => {
  it.each(programs)(
    '%s',
    async (program) => {
      const { code, signal, stdout, stderr } = await consumer.run(runtime, [program]);
      const seen: unknown = stdout.startsWith('{') ? JSON.parse(stdout) : stdout;
      expect({ code, signal, stderr, seen }).toEqual({
        code: 0,
        signal: null,
        stderr: '',
        seen: deviations[program]?.[runtime.kind] ?? expected[program],
      });
    },
    120_000,
  );
});

describe('docs/compatibility.md', () => {
  // What is said to work is what is expected above, and nothing else.
  it('says of every program where it is otherwise', () => {
    const { sections } = readDocument('docs/compatibility.md');
    const rows = sections.find(({ heading }) => heading === 'Runtimes')?.rows ?? [];
    const said = Object.fromEntries(
      rows.map(([, node = '', bun = '', deno = '', program = '']) => [
        program.replaceAll('`', ''),
        [node, bun, deno].map((cell) => cell === 'yes'),
      ]),
    );
    const kinds = ['Node', 'Bun', 'Deno'] as const;
    const seen = programs.map((program) => [
      program,
      kinds.map((kind) => deviations[program]?.[kind] === undefined),
    ]);
    expect(said).toMatchObject(Object.fromEntries(seen));
  });
});
