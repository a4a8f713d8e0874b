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
