// Verified launches leave nothing open and nobody behind, whatever becomes of them.
import { describe, expect, it } from 'vitest';

import { fixture } from '../../support/fixtures.js';
import { inNode } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

describe('nothing is left', () => {
  it('of launches that ran, were refused at exec, or were taken back', async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, fixture, scratch, require }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const program = fixture('exit_fast');
        // Executable, and no program: refused by execve itself, after the child was let go.
        const broken = `${scratch}/broken`;
        fs.writeFileSync(broken, 'no program', { mode: 0o755 });
        const counts = { ran: 0, refused: 0, aborted: 0 };
        const one = async (file: string, abort: boolean): Promise<void> => {
          const controller = new AbortController();
          const options = { stdio: 'pipe', verify: 'at-exec', signal: controller.signal } as const;
          const launching = sallyport.launch(file, [], options);
          if (abort) setImmediate(() => controller.abort());
          try {
            const child = await launching;
            counts.ran += 1;
            await child[Symbol.asyncDispose]();
          } catch (error) {
            counts[(error as Error).name === 'AbortError' ? 'aborted' : 'refused'] += 1;
          }
        };
        const round = async (): Promise<void> => {
          await Promise.all(
            Array.from({ length: 30 }, (_, index) =>
              one(index % 3 === 0 ? broken : program, index % 3 === 1),
            ),
          );
        };
        // Lanes are there after the first round; one more may start at any time.
        const count = () =>
          processes.listDescriptors().length -
          processes.listThreads().filter((name) => name === 'sallyport-lane').length;
        await round();
        await processes.waitFor('all children to be reaped', () => !storm.hasChildren());
        const before = count();
        for (let i = 0; i < 5; i++) await round();
        await processes.waitFor('all children to be reaped', () => !storm.hasChildren());
        await processes.waitFor('nothing to be kept', () => count() === before);
        return { ...counts, children: storm.hasChildren() };
      },
      null,
      { deadline: 60_000 },
    );
    expect(seen.children).toBe(false);
    expect(seen.refused).toBeGreaterThanOrEqual(60);
    expect(seen.ran).toBeGreaterThan(0);
    expect(seen.ran + seen.refused + seen.aborted).toBe(180);
  }, 70_000);

  it('also not on a lane, where /proc/self/fd does not show it', async () => {
    const seen = await inNode(async ({ sallyport, fixture, require }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const ofLanes = (): number[] =>
        fs
          .readdirSync('/proc/self/task')
          .filter(
            (tid) =>
              fs.readFileSync(`/proc/self/task/${tid}/comm`, 'utf8').trim() === 'sallyport-lane',
          )
          .map((tid) => fs.readdirSync(`/proc/self/task/${tid}/fd`).length);
      const start = async (): Promise<void> => {
        const child = await sallyport.launch(fixture('exit_fast'), [], {
          stdio: 'null',
          verify: 'at-exec',
        });
        await child.exited;
      };
      for (let i = 0; i < 20; i++) await start();
      return ofLanes();
    }, null);
    // 0, 1, 2 and the control socket.
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.every((count) => count === 4)).toBe(true);
  });
});

needs('another uid').it('a user without privileges verifies its own children', async () => {
  const seen = await inNode(
    async ({ sallyport }) => {
      const child = await sallyport.launch('/bin/true', [], { stdio: 'null', verify: 'at-exec' });
      const { code } = await child.exited;
      return { code, evidence: child.evidence };
    },
    null,
    { unprivileged: true },
  );
  expect(seen.code).toBe(0);
  expect(seen.evidence).toMatchObject({ when: 'at-exec', differences: [] });
});

// The launcher's way to us stands at the second number that a child's table leaves free. Nobody else
// writes to that one: a lane has there what it was sent.
const STATUS = 102;
it('nothing is left where a child that holds cannot say so', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, require }, status) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const fd = fs.openSync('/dev/null', 'r');
      const numbers = Array.from({ length: 2 * status }, (_, index) => index).slice(3);
      const used = numbers.filter((as) => as !== status - 1 && as !== status);
      const pass = used.map((as) => ({ fd, as }));
      const refused = [];
      for (const start of ['launch', 'spawn'] as const) {
        try {
          await sallyport[start]('true', [], { pass, stdio: 'null', verify: 'at-exec' });
        } catch (error) {
          const { code, stage } = error as NodeJS.ErrnoException & { stage: string };
          refused.push([code, stage]);
        }
      }
      await processes.waitFor('all children to be reaped', () => !storm.hasChildren());
      return refused;
    },
    STATUS,
    { wrap: [fixture('seccomp_deny'), 'ENOMEM', `write:${String(STATUS)}`, '--'] },
  );
  expect(seen).toEqual([
    ['ECHILD', 'launcher'],
    ['ECHILD', 'launcher'],
  ]);
});
