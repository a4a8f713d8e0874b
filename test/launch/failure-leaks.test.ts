// 500 failures of each stage leave no descriptor, no zombie, no thread.
import { describe, expect, it } from 'vitest';

import { inNode, type ScriptOptions } from '../support/node-script.js';
import { needs } from '../support/tools.js';

const stages = [
  'plan: a TypeError',
  'lookup: missing',
  'lookup: not executable',
  'cwd: missing',
  'cwd: not a directory',
  'descriptor: not open',
  'descriptor: above the limit',
  'descriptor: unexpected',
  'descriptor: EMFILE',
  'exec: missing interpreter',
  'exec: no #!',
  'exec: too big',
] as const;

const unprivilegedStages = ['cwd: not permitted', 'process: EAGAIN'] as const;

type Stage = (typeof stages)[number] | (typeof unprivilegedStages)[number] | 'exec: busy';

const fail = (stage: Stage, times: number, options: ScriptOptions = {}) =>
  inNode(
    async ({ sallyport, storm, processes, root, fixture, scratch, require }, { stage, times }) => {
      const { prepareFailure } = require(
        `${root}/test/support/failing-calls.cjs`,
      ) as typeof import('../support/failing-calls.cjs');
      const source = storm.openInheritable('/etc/hosts', 30);
      // Pipes and copies at once: whatever a failure could leave behind.
      const all: import('../../src/index.js').SpawnOptions = {
        stdio: 'pipe',
        pass: [{ fd: source, as: 5 }],
        env: { A: '1' },
      };
      // One that succeeds, so that reaper and all else is there before the count.
      const first = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' });
      await first.exited;
      const call = prepareFailure(stage, { storm, scratch, source, all });
      const attempt = () => {
        try {
          sallyport.spawn(...call);
          return 'started';
        } catch (error) {
          return (error as { code: string }).code;
        }
      };
      const look = () => ({
        descriptors: [...new Set(processes.countDescriptors())],
        threads: processes.countThreads(),
        children: storm.hasChildren(),
        zombies: processes.listZombies().length,
      });
      const codes = new Set([attempt()]);
      const before = look();
      for (let count = 1; count < times; count++) codes.add(attempt());
      const after = look();
      // The control: the same look sees one more.
      storm.openInheritable('/dev/null');
      return { before, after, codes: [...codes], control: look().descriptors };
    },
    { stage, times },
    options,
  );

function expectNothingLeft(seen: Awaited<ReturnType<typeof fail>>): void {
  expect(seen.codes).toHaveLength(1);
  expect(seen.codes[0]).toMatch(/^E/);
  expect(seen.after).toEqual(seen.before);
  expect(seen.before).toMatchObject({ children: false, zombies: 0 });
  // The lanes' tables are their own: what the main thread opens does not show there.
  const [own, ...lanes] = seen.before.descriptors;
  expect(seen.control).toEqual([own! + 1, ...lanes]);
}

describe('500 failures of', () => {
  it.each(stages)('%s', async (stage) => {
    expectNothingLeft(await fail(stage, 500));
  });

  for (const stage of unprivilegedStages) {
    needs('another uid').it(stage, async () => {
      expectNothingLeft(await fail(stage, 500, { unprivileged: true }));
    });
  }
});

it('20 failures of exec: busy, each after its retries', async () => {
  const seen = await fail('exec: busy', 20);
  expectNothingLeft(seen);
  expect(seen.codes).toEqual(['ETXTBSY']);
});
