// Whatever a thread of the parent does to its descriptors: the child has the object of the plan, or never ran.
import { expect, it } from 'vitest';

import { inNode } from '../../support/node-script.js';

type How = 'swap' | 'hunt';

interface Counts {
  ran: number;
  wrong: number;
  refused: Record<string, number>;
  hostile: number;
}

const attack = (how: How, launches: number, verify: boolean, expects: boolean): Promise<Counts> =>
  inNode(
    async ({ sallyport, storm, processes, fixture, scratch, require }, args) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const [right, wrong] = [`${scratch}/right`, `${scratch}/wrong`];
      for (const path of [right, wrong]) fs.writeFileSync(path, path);
      const inodes = [right, wrong].map((path) => String(fs.statSync(path).ino));
      // Where nobody else comes to stand while it is closed: that would be another attack.
      const fd = storm.openInheritable(right, 300);
      const seen = { ran: 0, wrong: 0, refused: {} as Record<string, number>, hostile: 0 };
      const count = (code: string): void => {
        seen.refused[code] = (seen.refused[code] ?? 0) + 1;
      };
      const one = async () => {
        try {
          const child = await sallyport.launch(fixture('which_object'), ['5', ...inodes], {
            stdio: 'null',
            pass: [
              {
                fd,
                as: 5,
                ...(args.expects
                  ? { expect: { kind: 'file', access: 'read', ino: Number(inodes[0]) } as const }
                  : {}),
              },
            ],
            ...(args.verify ? { verify: 'at-exec' as const } : {}),
          });
          const planned = child.plan.descriptors[3]?.object?.inode ?? '';
          const { code } = await child.exited;
          seen.ran += 1;
          if (inodes[code ?? -1] !== planned) seen.wrong += 1;
        } catch (error) {
          count((error as { code: string }).code);
        }
      };
      storm.startHostile(args.how, fd, wrong);
      if (args.how === 'swap') {
        await processes.waitFor('the thread', () => storm.hostileCount() > 0);
      }
      for (let started = 0; started < args.launches; started += 20) {
        await Promise.all(Array.from({ length: 20 }, one));
      }
      seen.hostile = storm.stopHostile();
      return seen;
    },
    { how, launches, verify, expects },
    { deadline: 100_000 },
  );

const total = ({ ran, refused }: Counts): number =>
  ran + Object.values(refused).reduce((sum, each) => sum + each, 0);

it('5 000 verified launches while the descriptor is closed and used again: never another object', async () => {
  const seen = await attack('swap', 5_000, true, false);
  expect(seen.wrong).toBe(0);
  expect(total(seen)).toBe(5_000);
  expect(seen.ran).toBeGreaterThan(0);
  // Closed at the call is the one thing that may be seen: a copy is held from then on.
  expect(Object.keys(seen.refused).filter((code) => code !== 'EBADF')).toEqual([]);
  expect(seen.hostile).toBeGreaterThan(5_000);
}, 120_000);

it('the same where the call says what it must be: no other object is even planned', async () => {
  const seen = await attack('swap', 1_000, true, true);
  expect(seen.wrong).toBe(0);
  expect(total(seen)).toBe(1_000);
  const codes = Object.keys(seen.refused);
  expect(codes.filter((c) => c !== 'EBADF' && c !== 'ERR_SALLYPORT_UNEXPECTED_OBJECT')).toEqual([]);
}, 120_000);

it('a thread that replaces the held copies themselves is caught at the exec', async () => {
  // The control: without verification some children run with what the thread put there.
  const control = await attack('hunt', 1_000, false, true);
  expect(control.hostile).toBeGreaterThan(0);
  expect(control.wrong).toBeGreaterThan(0);

  const seen = await attack('hunt', 2_000, true, true);
  expect(seen.wrong).toBe(0);
  expect(total(seen)).toBe(2_000);
  expect(seen.refused['ERR_SALLYPORT_NOT_AS_PLANNED']).toBeGreaterThan(0);
}, 240_000);
