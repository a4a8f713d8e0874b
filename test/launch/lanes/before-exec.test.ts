// What a child holds between clone and exec: a tracer stops it there and reads /proc/<pid>/fd.
import { expect } from 'vitest';

import { inNode } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

needs('ptrace').describe('before its exec', () => {
  needs('ptrace').it(
    '2 000 children in a storm of descriptors have their own and the control socket',
    async () => {
      const seen = await inNode(
        async ({ sallyport, storm, processes, scratch, root, fixture, require }) => {
          const { traceSelf } = require(
            `${root}/test/support/tracing.cjs`,
          ) as typeof import('../../support/tracing.cjs');
          const { listLanes } = require(
            `${root}/test/support/lanes.cjs`,
          ) as typeof import('../../support/lanes.cjs');
          type Options = import('../../../src/index.js').SpawnOptions;
          // What a parent has open: some of it close-on-exec, some not.
          storm.openInheritable('/etc/hosts', 40);
          const kept = storm.openInheritable('/etc/passwd', 41);

          const start = (how: string, options: Options) =>
            how === 'launch'
              ? sallyport.launch(fixture('exit_fast'), [], options)
              : Promise.resolve(sallyport.spawn(fixture('exit_fast'), [], options));
          const kinds: Array<[name: string, how: string, options: Options]> = [
            ['launch, nothing', 'launch', { stdio: 'null' }],
            ['spawn, nothing', 'spawn', { stdio: 'null' }],
            ['launch, one passed', 'launch', { stdio: 'null', pass: [kept] }],
            ['spawn, one passed', 'spawn', { stdio: 'null', pass: [kept] }],
            ['launch, pipes', 'launch', { stdio: 'pipe' }],
            ['spawn, pipes', 'spawn', { stdio: 'pipe' }],
            ['launch, opted out', 'launch', { stdio: 'null', noNewPrivileges: false }],
            ['direct', 'spawn', { stdio: 'null', noNewPrivileges: false }],
          ];

          const tracer = await traceSelf(storm, scratch);
          storm.startStorm();
          await processes.waitFor('the storm', () => storm.stormCycles() > 0);
          const kindOf = new Map<number, string>();
          let refused = 0;
          // 286 × 7 by lanes.
          for (let round = 0; round < 286; round++) {
            await Promise.all(
              kinds.map(async ([name, how, options]) => {
                const child = await start(how, options);
                if (child.plan.route.kind !== (name === 'direct' ? 'direct' : 'lane')) refused += 1;
                kindOf.set(child.pid, name);
                await child.exited;
              }),
            );
          }
          const cycles = storm.stopStorm();
          const lanes = listLanes();
          await tracer.stop();

          const controls = new Set(lanes.map(({ descriptors }) => descriptors[3]?.[1]));
          const tables = new Map<string, number>();
          let direct = 0;
          let met = 0;
          for (const { pid, descriptors } of tracer.looks()) {
            const kind = kindOf.get(pid) ?? 'nobody';
            const links = descriptors.map(({ link }) =>
              controls.has(link) ? 'control' : link.replace(/:\[\d+\]$/, ''),
            );
            if (kind === 'direct') {
              direct += 1;
              if (links.filter((link) => link === '/etc/hosts').length > 1) met += 1;
              if (!links.includes('/etc/passwd')) refused += 1;
              continue;
            }
            const table = `${kind}: ${links.join(' ')}`;
            tables.set(table, (tables.get(table) ?? 0) + 1);
          }
          return { refused, cycles, direct, met, tables: Object.fromEntries(tables) };
        },
        null,
        { deadline: 60_000 },
      );
      const lane = '/dev/null /dev/null /dev/null control';
      expect(seen.tables).toEqual({
        [`launch, nothing: ${lane}`]: 286,
        [`spawn, nothing: ${lane}`]: 286,
        [`launch, one passed: ${lane} /etc/passwd`]: 286,
        [`spawn, one passed: ${lane} /etc/passwd`]: 286,
        [`launch, pipes: ${lane} pipe pipe pipe`]: 286,
        [`spawn, pipes: ${lane} pipe pipe pipe`]: 286,
        [`launch, opted out: ${lane}`]: 286,
      });
      // The control: the same look at a child of the calling thread meets what the parent has, and
      // what the other thread had open at that moment.
      expect(seen.direct).toBe(286);
      expect(seen.met).toBeGreaterThan(0);
      expect(seen.refused).toBe(0);
      expect(seen.cycles).toBeGreaterThan(1_000);
    },
    70_000,
  );

  needs('ptrace').it('when it calls execve, what survives is exactly the plan', async () => {
    const seen = await inNode(async ({ sallyport, storm, scratch, root, fixture, require }) => {
      const { traceSelf } = require(
        `${root}/test/support/tracing.cjs`,
      ) as typeof import('../../support/tracing.cjs');
      const kept = storm.openInheritable('/etc/passwd', 40);
      const other = storm.openInheritable('/etc/hosts', 41);
      const options: import('../../../src/index.js').SpawnOptions = {
        stdio: ['null', 'pipe', other],
        // A swap of numbers that the lane itself uses, and one twice.
        pass: [
          { fd: other, as: 3 },
          { fd: kept, as: 4 },
          { fd: kept, as: 9 },
        ],
      };
      const tracer = await traceSelf(storm, scratch);
      await tracer.seeExec(4);
      for (const noNewPrivileges of [true, false]) {
        const all = { ...options, noNewPrivileges };
        await (
          await sallyport.launch(fixture('exit_fast'), [], all)
        ).exited;
        await sallyport.spawn(fixture('exit_fast'), [], all).exited;
      }
      await tracer.stop();
      return tracer
        .looks()
        .filter(({ at }) => at === 'exec')
        .map(({ descriptors }) =>
          descriptors
            .filter(({ closeOnExec }) => !closeOnExec)
            .map(({ fd, link }) => `${String(fd)} ${link.replace(/:\[\d+\]$/, '')}`),
        );
    }, null);
    const exact = [
      '0 /dev/null',
      '1 pipe',
      '2 /etc/hosts',
      '3 /etc/hosts',
      '4 /etc/passwd',
      '9 /etc/passwd',
    ];
    expect(seen).toEqual([exact, exact, exact, exact]);
  });
});
