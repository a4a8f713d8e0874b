// A process that can open nothing more still sees what is left of its runs, and ends it.
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';

import type { RunOptions } from '../../src/index.js';
import { fixture } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { expectNobody } from './support.js';

const wrap = ['sh', '-c', 'ulimit -n 200; exec "$0" "$@"'];

const END = 'exec "$2" "$3" plain ignore';
const BESIDE = '"$2" "$3" plain ignore & exit 0';

type Case = [what: string, script: string, options: RunOptions, kind: string];
const cases: Case[] = [
  ['whose pipe others hold', BESIDE, { drain: 20 }, 'exited'],
  ['that has lost its init', `kill -KILL $PPID; ${END}`, {}, 'lost'],
  ['that stands still', END, { stall: 400 }, 'stalled'],
  ['in a group whose pipe others hold', BESIDE, { drain: 20, containment: 'group' }, 'exited'],
  ['in a group at its deadline', END, { deadline: 3_000, containment: 'group' }, 'deadline'],
];

it.each<Case>(cases)('a run %s', async (_, script, options, kind) => {
  const mark = randomUUID();
  const seen = await inNode(
    async ({ sallyport, processes, scratch, require }, [code, given, tree, word]) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const go = `${scratch}/go`;
      const wait = 'until [ -d "$1" ]; do sleep 0.01; done;';
      const args = ['-c', `${wait} ${code}`, 'sh', go, tree, word];
      const running = sallyport.run('sh', args, { grace: 200, ...given });
      await running.started;
      const opened: number[] = [];
      const open = () => opened.push(fs.openSync('/dev/null', 'r'));
      let limit: unknown;
      while (limit === undefined) {
        try {
          open();
        } catch (error) {
          limit = (error as NodeJS.ErrnoException).code;
        }
      }
      // Needs no descriptor.
      fs.mkdirSync(go);
      const { outcome, cleanup } = await running;
      for (const fd of opened) fs.closeSync(fd);
      const left = processes.listMarked(word).length;
      return { limit, kind: outcome.kind, survivors: cleanup.survivors, left };
    },
    [script, options, fixture('tree'), mark] as [string, RunOptions, string, string],
    { wrap },
  );
  expect(seen).toEqual({ limit: 'EMFILE', kind, survivors: [], left: 0 });
  await expectNobody(mark);
});

it('what is kept back for that does not stand at 0, 1 or 2', async () => {
  const seen = await inNode(async ({ sallyport, processes, require }) => {
    const fs = require('node:fs') as typeof import('node:fs');
    fs.closeSync(0);
    const before = processes.listDescriptors().length;
    const running = sallyport.run('sleep', ['60'], { stdio: ['null', 'null', 'null'] });
    await running.started;
    const during = processes.listDescriptors();
    running.abort();
    await running;
    return { more: during.length > before, hasStdin: during.includes(0) };
  }, null);
  expect(seen).toEqual({ more: true, hasStdin: false });
});
