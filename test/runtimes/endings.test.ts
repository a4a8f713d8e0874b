// The end of a process of each runtime, while children of it run.
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';

import { makeScratch } from '../support/fixtures.js';
import { hasEnded, listChildren, listMarked, waitFor } from '../support/processes.js';
import { onEachRuntime } from '../support/runtimes.js';
import { prepareConsumer } from './consumer.js';

const consumer = prepareConsumer();
const left: number[] = [];

afterEach(() => {
  for (const pid of left.splice(0)) if (!hasEnded(pid)) process.kill(pid, 'SIGKILL');
});

const pidsIn = (text: string): number[] =>
  [...text.matchAll(/ (\d+)$/gm)].map(([, digits]) => Number(digits));

onEachRuntime((runtime) => {
  it.each([
    ['ref', 'code 7\n'],
    ['pipes', 'last\n'],
    ['launch', 'code 3\n'],
  ])('is waited for where something keeps it: %s', async (way, stdout) => {
    const seen = await consumer.run(runtime, ['endings.cjs', way]);
    expect(seen).toEqual({ code: 0, signal: null, stdout, stderr: '' });
  });

  it('is not waited for where nothing does', async () => {
    const { code, stdout } = await consumer.run(runtime, ['endings.cjs', 'unref']);
    left.push(...pidsIn(stdout));
    expect([code, left.length, left.map(hasEnded)]).toEqual([0, 1, [false]]);
  });

  it.each([
    ['exit', 5, null],
    ['uncaught', 1, null],
    ['killed', null, 'SIGKILL'],
  ])('ends its runs: %s', async (way, code, signal) => {
    const seen = await consumer.run(runtime, ['endings.cjs', way]);
    const pids = pidsIn(seen.stdout);
    left.push(...pids);
    expect([seen.code, seen.signal, pids.length]).toEqual([code, signal, 5]);
    await waitFor('the end of the run', () => pids.every(hasEnded));
  });

  it.each([
    ['unheard', 6],
    ['unheard-uncaught', 1],
  ])('leaves no child that it has not heard of: %s', async (way, code) => {
    const mark = randomUUID();
    const seen = await consumer.run(runtime, ['endings.cjs', way, mark]);
    expect(seen.code).toBe(code);
    // Deno turns once more after an exception. Who was heard of lives on, as a child of spawn does;
    // its process and the first of its tree are not ours to end then.
    const heard = pidsIn(seen.stdout);
    left.push(...heard, ...heard.flatMap((pid) => listChildren(pid).map((child) => child.pid)));
    await waitFor('the end of the children', () =>
      listMarked(mark).every((pid) => left.includes(pid)),
    );
  });

  it('takes the files of its credentials along', async () => {
    const home = makeScratch();
    const { code, stdout } = await consumer.run(runtime, ['endings.cjs', 'credentials', home]);
    expect([code, stdout]).toEqual([8, 'endpoint-token']);
    expect(readdirSync(home)).toEqual([]);
  });
});
