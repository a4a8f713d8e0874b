// Nothing slips through while another thread opens descriptors without close-on-exec.
import { expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';

it('10 000 children in a storm of descriptors each hold exactly 0, 1, 2', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, fixture }) => {
      const expected = ['0', '1', '2'];
      const calm = storm.plainSpawn(fixture('exact_fds'), expected);
      storm.startStorm();
      await processes.waitFor('the storm', () => storm.stormCycles() > 0);

      // The control: the same child without us meets what the thread has open. When it is calm there
      // may be something of whoever started us, or nothing, since Node keeps even 0, 1 and 2.
      let control = false;
      for (let tries = 0; !control && tries < 2000; tries++) {
        control = storm.plainSpawn(fixture('exact_fds'), expected) !== calm;
      }

      const codes = new Map<number | null, number>();
      for (let round = 0; round < 10_000 / 50; round++) {
        const children = Array.from({ length: 50 }, () =>
          sallyport.spawn(fixture('exact_fds'), expected, { stdio: 'null' }),
        );
        for (const { code } of await Promise.all(children.map((child) => child.exited))) {
          codes.set(code, (codes.get(code) ?? 0) + 1);
        }
      }
      const cycles = storm.stopStorm();
      return { control, cycles, codes: [...codes], left: storm.hasChildren() };
    },
    null,
    { deadline: 90_000 },
  );
  expect(seen.control).toBe(true);
  expect(seen.cycles).toBeGreaterThan(10_000);
  expect(seen.codes).toEqual([[0, 10_000]]);
  expect(seen.left).toBe(false);
}, 100_000);

it('and with pipes and a pass list, 1 000 children hold exactly what they were given', async () => {
  const codes = await inNode(
    async ({ sallyport, storm, fixture }) => {
      const kept = storm.openInheritable('/etc/hosts', 30);
      storm.startStorm();
      const codes = new Map<number | null, number>();
      for (let round = 0; round < 1000 / 20; round++) {
        const children = Array.from({ length: 20 }, () =>
          sallyport.spawn(fixture('exact_fds'), ['0', '1', '2', '4', '9'], {
            stdio: 'pipe',
            pass: [
              { fd: kept, as: 9 },
              { fd: kept, as: 4 },
            ],
          }),
        );
        for (const { code } of await Promise.all(children.map((child) => child.exited))) {
          codes.set(code, (codes.get(code) ?? 0) + 1);
        }
        for (const child of children) child[Symbol.dispose]();
      }
      storm.stopStorm();
      return [...codes];
    },
    null,
    { deadline: 60_000 },
  );
  expect(codes).toEqual([[0, 1000]]);
}, 70_000);
