// Many runs at once, and nothing left behind: no descriptor, no zombie, no process, no timer.
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';
import { ways } from './support.js';

it.each(ways)('200 runs at once by %s: every report right, nothing left', async (_, wish) => {
  const seen = await inNode(async ({ sallyport, processes }, containment) => {
    const contained = { containment };
    const start = (index: number): ReturnType<typeof sallyport.run> =>
      sallyport.run('sh', ['-c', `cat; echo ${index} >&2; exit ${index % 7}`], {
        ...contained,
        input: `${index}`,
      });
    // The lanes and what loads once.
    await Promise.all(Array.from({ length: 20 }, (_, index) => start(index)));
    const before = processes.countBesidesSockets();
    const running = Array.from({ length: 200 }, (_, index) => start(index));
    await running[0]!.started;
    // The look sees what it looks for: descriptors and children of runs under way.
    const during = processes.countBesidesSockets();
    const children = processes.listChildren().length;
    const reports = await Promise.all(running);
    const wrong = reports.filter(
      ({ outcome, output, complete, cleanup }, index) =>
        outcome.code !== index % 7 ||
        output.stdout.text !== `${index}` ||
        output.stderr.text !== `${index}\n` ||
        cleanup.survivors.length > 0 ||
        !complete,
    );
    await processes.waitFor(
      'the streams to close',
      () => processes.countBesidesSockets() === before,
    );
    return {
      wrong: wrong.length,
      more: during > before,
      children: children > 0,
      left: processes.listChildren(),
    };
  }, wish);
  expect(seen).toEqual({ wrong: 0, more: true, children: true, left: [] });
});

it('what a caller throws, wherever he is asked, leaves nothing', async () => {
  const seen = await inNode(async ({ sallyport, processes, storm, require }) => {
    const { Readable, Writable } = require('node:stream') as typeof import('node:stream');
    const { run, runSync, runLines } = sallyport;
    const fail = (): never => {
      throw new Error('made up');
    };
    const pass = [{ fd: storm.openInheritable('/etc/hosts', 30), as: 5 }];
    const calls: Record<string, () => unknown> = {
      'a line': () => run('yes', [], { pass, output: { stdout: { to: fail } } }),
      'a line, later': () =>
        run('yes', [], { pass, output: { stdout: { to: async () => fail() } } }),
      'a line, runSync': () => runSync('yes', [], { pass, output: { stdout: { to: fail } } }),
      'a mask': () => run('yes', [], { pass, output: { mask: fail } }),
      'a stream that is read': () => run('cat', [], { pass, input: new Readable({ read: fail }) }),
      'a stream that is written': () =>
        run('echo', ['x'], { pass, output: { stdout: { to: new Writable({ write: fail }) } } }),
      'a loop over lines': async () => {
        for await (const line of runLines('yes', [], { pass })) if (line !== '') fail();
      },
      'an option': () =>
        sallyport.spawn('true', [], {
          pass,
          get env(): never {
            return fail();
          },
        }),
    };
    const round = async (): Promise<string[]> => {
      const threw: string[] = [];
      for (const [name, call] of Object.entries(calls)) {
        try {
          await call();
        } catch (error) {
          if ((error as Error).message !== 'made up') throw error;
          threw.push(name);
        }
      }
      return threw;
    };
    const threw = await round();
    const before = processes.countBesidesSockets();
    for (let count = 0; count < 8; count++) await round();
    await processes.waitFor('nothing more', () => processes.countBesidesSockets() <= before);
    // A loop that is left does not wait for the end of its run.
    await processes.waitFor('nobody', () => processes.listChildren().length === 0);
    const after = processes.countBesidesSockets();
    storm.openInheritable('/dev/null');
    return { threw, control: processes.countBesidesSockets() - after };
  }, null);
  // Streams are told of in the report.
  expect(seen).toEqual({
    threw: [
      'a line',
      'a line, later',
      'a line, runSync',
      'a mask',
      'a loop over lines',
      'an option',
    ],
    control: 1,
  });
});

it('a run leaves the process free to end', async () => {
  // By itself, within the deadline of the script: no timer, thread or descriptor holds it.
  const kinds = await inNode(async ({ sallyport }) => {
    const contained = { deadline: 600_000, stall: 600_000 };
    const reports = await Promise.all([
      sallyport.run('true', [], contained),
      sallyport.run('head', ['-c', '3000000', '/dev/zero'], contained),
      sallyport.run('no-such-program', [], contained),
      sallyport.run('sh', ['-c', 'sleep 60 & :'], { ...contained, drain: 50 }),
    ]);
    return reports.map(({ outcome }) => outcome.kind);
  }, null);
  expect(kinds).toEqual(['exited', 'exited', 'spawn-failed', 'exited']);
});

it('a Worker that is terminated leaves no zombie, by group', async () => {
  const mark = randomUUID();
  const left = await inNode(async ({ root, require, processes, fixture }, word) => {
    const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
    const worker = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
         const { run } = require(workerData.root);
         const args = ['-c', '"$0" "$1" & :', workerData.tree, workerData.word];
         const running = run('sh', args, { containment: 'group', drain: 600000 });
         running.started.then((pid) => parentPort.postMessage(pid));`,
      { eval: true, workerData: { root, tree: fixture('tree'), word } },
    );
    const pid = await new Promise<number>((resolve) => worker.once('message', resolve));
    // The target has ended and is kept, since its session goes on.
    await processes.waitFor('the zombie', () => processes.readStat(pid)?.state === 'Z');
    const [member] = processes.listMarked(word);
    await worker.terminate();
    await processes.waitFor('nobody of that pid', () => processes.isGone(pid));
    // Containment by group ends with those who watch over it.
    if (member !== undefined) process.kill(member, 'SIGKILL');
    return { member: member !== undefined, zombies: processes.listZombies() };
  }, mark);
  expect(left).toEqual({ member: true, zombies: [] });
});
