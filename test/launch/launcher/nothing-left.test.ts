// 300 failures of each kind through the launcher, by spawn and by launch, leave nothing.
import { describe, expect, it } from 'vitest';

import { inNode, type ScriptOptions } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

const kinds = [
  'step: cpuAffinity',
  'step: terminal',
  'lookup: user',
  'lookup: group',
  'exec: missing interpreter',
  'exec: no #!',
  'exec: too big',
  'cwd: missing',
  'listeners: no socket',
] as const;

const unprivilegedKinds = ['step: limits', 'step: nice', 'step: groups'] as const;

type Kind = (typeof kinds)[number] | (typeof unprivilegedKinds)[number] | 'exec: busy';

const fail = (kind: Kind, times: number, options: ScriptOptions = {}) =>
  inNode(
    async ({ sallyport, storm, processes, root, scratch, require }, given) => {
      const { prepareFailure } = require(
        `${root}/test/support/failing-calls.cjs`,
      ) as typeof import('../../support/failing-calls.cjs');
      const source = storm.openInheritable('/etc/hosts', 30);
      // Pipes, a copy, and steps that are taken before: whatever a failure could leave behind.
      const all: import('../../../src/index.js').SpawnOptions = {
        stdio: 'pipe',
        pass: [{ fd: source, as: 5 }],
        umask: 0o27,
        limits: { core: 0 },
        dieWithParent: true,
      };
      type Call = [file: string, args: string[], options: typeof all];
      const own: Partial<Record<Kind, Call>> = {
        'step: cpuAffinity': ['true', [], { ...all, cpuAffinity: [8191] }],
        'step: terminal': ['true', [], { ...all, terminal: 5 }],
        'step: limits': ['true', [], { ...all, limits: { nofile: 2 ** 30 } }],
        'step: nice': ['true', [], { ...all, nice: -20 }],
        'step: groups': ['true', [], { ...all, user: 1, group: 1 }],
        'lookup: user': ['true', [], { ...all, user: 'no-such-user' }],
        'lookup: group': ['true', [], { ...all, group: 'no-such-group' }],
        'listeners: no socket': ['true', [], { ...all, listeners: [source] }],
      };
      const call =
        own[given.kind] ??
        prepareFailure(given.kind as Parameters<typeof prepareFailure>[0], {
          storm,
          scratch,
          source,
          all,
        });
      const codeOf = (error: unknown) => (error as { code: string }).code;
      const spawnOnce = () => {
        try {
          sallyport.spawn(...call);
          return 'started';
        } catch (error) {
          return codeOf(error);
        }
      };
      const launchOnce = () => sallyport.launch(...call).then(() => 'started', codeOf);
      const look = () => {
        const names = processes.listThreads();
        const lanes = names.filter((name) => name === 'sallyport-lane').length;
        return {
          // Each lane has one here, and 0 to 3 of its own.
          descriptors: processes.listDescriptors().length - lanes,
          onLanes: processes.countDescriptors().filter((count) => count === 4).length - lanes,
          threads: names.length - lanes,
          children: storm.hasChildren(),
          zombies: processes.listZombies().length,
        };
      };
      const codes = new Set([spawnOnce(), ...(await Promise.all([launchOnce(), launchOnce()]))]);
      // Threads that looked something up end by themselves.
      const looksUp = () => processes.listThreads().includes('sallyport-names');
      await processes.waitFor('the lookups', () => !looksUp());
      const before = look();
      for (let count = 0; count < given.times; count++) codes.add(spawnOnce());
      for (let count = 0; count < given.times; count += 50) {
        const some = Array.from({ length: Math.min(50, given.times) }, launchOnce);
        for (const code of await Promise.all(some)) codes.add(code);
      }
      const same = () => JSON.stringify(look()) === JSON.stringify(before);
      await processes.waitFor('all to be as before', same);
      // The control: the same look sees one more.
      storm.openInheritable('/dev/null');
      return { before, codes: [...codes], control: look().descriptors };
    },
    { kind, times },
    options,
  );

function expectNothingLeft(seen: Awaited<ReturnType<typeof fail>>): void {
  expect(seen.codes).toHaveLength(1);
  expect(seen.codes[0]).toMatch(/^E/);
  expect(seen.before).toMatchObject({ onLanes: 0, children: false, zombies: 0 });
  expect(seen.control).toBe(seen.before.descriptors + 1);
}

describe('300 failures by spawn and 300 by launch of', () => {
  it.each(kinds)('%s', async (kind) => {
    expectNothingLeft(await fail(kind, 300));
  });

  for (const kind of unprivilegedKinds) {
    needs('another uid').it(kind, async () => {
      expectNothingLeft(await fail(kind, 300, { unprivileged: true }));
    });
  }
});

it('10 failures of exec: busy, each after its retries', async () => {
  const seen = await fail('exec: busy', 10);
  expectNothingLeft(seen);
  expect(seen.codes).toEqual(['ETXTBSY']);
});
