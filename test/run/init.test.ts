// What the init of a run promises: everything below it ends, whoever ends and however.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';

import { run, type Run, type RunOptions } from '../../src/index.js';
import { fixture, makeScratch, publicFixture, root } from '../support/fixtures.js';
import { holdExecutable } from '../support/lease.js';
import { inNode } from '../support/node-script.js';
import { copyPackage, launcherOf } from '../support/package-copy.js';
import {
  hasEnded,
  isGone,
  listChildren,
  listMarked,
  readStat,
  waitFor,
} from '../support/processes.js';
import { needs } from '../support/tools.js';
import type { Witness } from '../support/witness.js';
import { expectNobody, runTree } from './support.js';

const hard = ['plain', 'ignore', 'stopped', 'group', 'setsid', 'daemon', 'hidden'];

describe('ended at the deadline', () => {
  it('reaches sessions, daemons, the stopped, the deaf and fork storms', async () => {
    const members = [...hard, 'storm:5000', 'fan:20'];
    const { running, mark, pids } = runTree(members, { deadline: 1_500, grace: 100 });
    const seen = await pids;
    const init = await initOf(running);
    await waitFor('the stop', () => readStat(seen.get('stopped') ?? 0)?.state === 'T');
    // All are there to be seen, those that left the session and their parents among them.
    const sessions = new Set(listMarked(mark).map((pid) => readStat(pid)?.sid));
    expect(listMarked(mark).length).toBeGreaterThan(hard.length + 20);
    expect(sessions.size).toBeGreaterThanOrEqual(4);
    const report = await running;
    expect(listMarked(mark)).toEqual([]);
    expect(report.outcome.kind).toBe('deadline');
    expect(report.cleanup).toMatchObject({ method: 'init', survivors: [], released: [] });
    expect(report.cleanup.signalled).toMatchObject([
      { signal: 'SIGTERM', at: 'end' },
      { signal: 'SIGKILL', at: 'kill' },
    ]);
    expect(isGone(init)).toBe(true);
  });

  it('with an init that may open nothing any more', async () => {
    const members = ['plain', 'ignore', 'setsid', 'daemon', 'blinding'];
    const { running, mark, pids } = runTree(members, { grace: 100 });
    await pids;
    expect(listMarked(mark)).toHaveLength(members.length + 1);
    running.abort();
    const report = await running;
    expect(listMarked(mark)).toEqual([]);
    expect(report.outcome.kind).toBe('aborted');
    expect(report.cleanup).toMatchObject({
      signalled: [
        { signal: 'SIGTERM', at: 'end' },
        { signal: 'SIGKILL', at: 'kill' },
      ],
      survivors: [],
    });
  });

  it('daemons that are left when the target exits by itself are ended', async () => {
    const mark = randomUUID();
    const script = '"$0" "$1" hidden ignore >/dev/null 2>&1 & sleep 0.2';
    const report = await run('sh', ['-c', script, fixture('tree'), mark], { grace: 50 });
    expect(listMarked(mark)).toEqual([]);
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    expect(report.cleanup.survivors).toEqual([]);
    expect(report.complete).toBe(true);
  });
});

describe('ended with its parent', () => {
  const script = (mark: string, members = hard): string => `
    const { run } = require(${JSON.stringify(root)});
    const args = ${JSON.stringify([mark, ...members])};
    run(${JSON.stringify(fixture('tree'))}, args, {
      output: { stdout: { to: (line) => process.stdout.write(line + '\\n') } },
    });`;

  /** A process with a run under way, all of which is there. */
  async function startParent(mark: string, members = hard): Promise<ChildProcess> {
    const parent = spawn(process.execPath, ['-e', script(mark, members)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let told = 0;
    for await (const line of createInterface({ input: parent.stdout })) {
      if (line !== '') told += 1;
      if (told === members.length + 1) break;
    }
    return parent;
  }

  it('by SIGKILL to this process, although its init may open nothing any more', async () => {
    const mark = randomUUID();
    const parent = await startParent(mark, [...hard, 'blinding']);
    const [init] = listChildren(parent.pid);
    expect(listMarked(mark).length).toBeGreaterThan(hard.length);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    await waitFor('nobody with the mark', () => listMarked(mark).length === 0, 5_000);
    await waitFor('the end of its init', () => hasEnded(init!.pid));
  });

  it('by SIGKILL to this process, although its init is stopped', async () => {
    const mark = randomUUID();
    const parent = await startParent(mark);
    // Else it would continue its init.
    parent.kill('SIGSTOP');
    await waitFor('the stop', () => readStat(parent.pid ?? 0)?.state === 'T');
    const [init] = listChildren(parent.pid);
    process.kill(init!.pid, 'SIGSTOP');
    await waitFor('the stop of its init', () => readStat(init!.pid)?.state === 'T');
    expect(listMarked(mark).length).toBeGreaterThan(hard.length);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    await waitFor('nobody with the mark', () => listMarked(mark).length === 0, 5_000);
    await waitFor('the end of its init', () => hasEnded(init!.pid));
  });

  it('by SIGKILL to this process: within a second', async () => {
    const mark = randomUUID();
    const parent = await startParent(mark);
    const members = listMarked(mark).length;
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    await waitFor('nobody with the mark', () => listMarked(mark).length === 0, 1_000);
    expect(members).toBeGreaterThanOrEqual(hard.length + 1);
  });

  // The parent is killed while what it has started is on its way to its first instruction.
  it.each<['the program' | 'the init itself', RunOptions, boolean]>([
    ['the program', {}, false],
    ['the init itself', {}, false],
    ['the program', { containment: 'group' }, true],
  ])('while %s is being started, with %j: it runs: %s', async (held, options, runs) => {
    const scratch = makeScratch();
    const program = path.join(scratch, 'program');
    copyFileSync('/bin/mkdir', program);
    chmodSync(program, 0o755);
    const copy = copyPackage();
    const lease = await holdExecutable(held === 'the program' ? program : launcherOf(copy));
    const made = path.join(scratch, 'made');
    const begin = `require(${JSON.stringify(copy)}).run(...${JSON.stringify([program, [made], options])})`;
    const parent = spawn(process.execPath, ['-e', begin], { stdio: 'ignore' });
    await lease.waitedFor();
    const started = listChildren(parent.pid).map(({ pid }) => pid);
    const all = [...started, ...started.flatMap((pid) => listChildren(pid).map((it) => it.pid))];
    expect(all).toHaveLength(held === 'the program' && options.containment === undefined ? 2 : 1);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    const end = () => waitFor('the end of all', () => all.every(hasEnded));
    // There is an init that ends it: otherwise the two would run a race from here.
    if (held === 'the program' && !runs) await end();
    await lease.letGo();
    await end();
    expect(existsSync(made)).toBe(runs);
  });

  it('by the end of its Worker', async () => {
    const mark = randomUUID();
    const seen = await inNode(
      async ({ require, processes }, [source, word, count]: [string, string, number]) => {
        const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
        const worker = new Worker(source, { eval: true, stdout: true });
        let text = '';
        worker.stdout.on('data', (piece: Buffer) => (text += piece.toString()));
        await processes.waitFor('the tree', () => text.split('\n').length > count);
        const before = processes.listMarked(word).length;
        await worker.terminate();
        await processes.waitFor('its end', () => processes.listMarked(word).length === 0, 1_000);
        await processes.waitFor('no child', () => processes.listChildren().length === 0);
        return before;
      },
      [script(mark), mark, hard.length + 1],
    );
    expect(seen).toBeGreaterThanOrEqual(hard.length + 1);
  });
});

it('the program has no signal blocked or ignored, though its init blocks all', async () => {
  const seen = await inNode(async ({ sallyport, storm, processes, fixture: find }) => {
    storm.ignoreSignal(1);
    storm.ignoreSignal(12);
    storm.blockSignal(15);
    const options = { env: {} };
    const script = 'cat /proc/$PPID/status >&2; exec "$0"';
    const report = await sallyport.run('/bin/sh', ['-c', script, find('witness')], options);
    const sync = sallyport.runSync(find('witness'), [], options);
    const own = processes.readStatus();
    return {
      own: [own['SigIgn'], own['SigBlk']],
      init: report.output.stderr.text,
      programs: [report, sync].map(({ output }) => output.stdout.text),
    };
  }, null);
  // glibc keeps 32 and 33 to itself.
  const reserved = 3n << 31n;
  const without = (set: string | undefined): bigint => BigInt(`0x${set ?? ''}`) & ~reserved;
  // The control: we ignore some, and the init blocks them.
  expect(seen.own.map((set) => without(set) === 0n)).toEqual([false, false]);
  expect(without(/SigBlk:\s*(\w+)/.exec(seen.init)?.[1])).not.toBe(0n);
  for (const text of seen.programs) {
    const { status } = JSON.parse(text) as Witness;
    expect([without(status.SigIgn), without(status.SigBlk)]).toEqual([0n, 0n]);
  }
});

needs('root', 'unshare').it('of a Node that is process 1 leaves it no zombie', async () => {
  const seen = await inNode(
    async ({ sallyport, processes, require }) => {
      const plain = require('node:child_process') as typeof import('node:child_process');
      // What it starts outlives it, and ends by itself.
      const orphaning = ['-c', 'sleep 0.1 >/dev/null 2>&1 & echo $!'];
      const zombies = () => processes.listZombies(process.pid).map(({ pid }) => pid);
      for (let round = 0; round < 3; round += 1) await sallyport.run('sh', orphaning);
      const sync = sallyport.runSync('sh', orphaning).outcome.kind;
      // The control, and the last to end: an orphan of the same kind comes to us.
      const orphan = Number(plain.spawnSync('sh', orphaning).stdout);
      await processes.waitFor('a zombie', () => zombies().includes(orphan));
      return { pid: process.pid, sync, others: zombies().filter((pid) => pid !== orphan) };
    },
    null,
    { wrap: ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'] },
  );
  expect(seen).toEqual({ pid: 1, sync: 'exited', others: [] });
});

describe('an init that is killed', () => {
  it('is noticed, and all that can be told to be of the run is ended from outside', async () => {
    const members = [...hard, 'storm:2000', 'fan:10'];
    const { running, mark, pids } = runTree(members, { grace: 100 });
    await pids;
    const init = await initOf(running);
    // It is continued at a look, and the same look has seen whom it has adopted.
    process.kill(init, 'SIGSTOP');
    await waitFor('the stop', () => readStat(init)?.state === 'T');
    await waitFor('a look', () => readStat(init)?.state !== 'T');
    expect(listMarked(mark).length).toBeGreaterThan(members.length);
    process.kill(init, 'SIGKILL');
    const report = await running;
    expect(listMarked(mark)).toEqual([]);
    expect(report.outcome).toMatchObject({ kind: 'lost', code: null, signal: null });
    expect(report.cleanup.survivors).toEqual([]);
    expect(report.cleanup.signalled).toMatchObject([{ signal: 'SIGKILL', at: 'kill' }]);
    expect(report.cleanup.guarantee).toContain('from outside');
    expect(report.notTested.join('\n')).toContain('when its init was lost');
    expect(report.complete).toBe(false);
  });

  it('by the target, as the first thing it does', async () => {
    const mark = randomUUID();
    const script = 'kill -KILL $PPID; exec "$0" "$1" plain setsid';
    const running = run('sh', ['-c', script, fixture('tree'), mark]);
    const target = await running.started;
    const report = await running;
    expect(report.outcome.kind).toBe('lost');
    expect(report.cleanup.survivors).toEqual([]);
    expect(target).toBeGreaterThan(0);
    expect(hasEnded(target ?? 0)).toBe(true);
    await expectNobody(mark);
  });

  it('leaves what was released, and what is not of the run', async () => {
    const stranger = spawn('sleep', ['60'], { stdio: 'ignore', detached: true });
    const { running, mark, pids } = runTree(['setsid', 'ignore'], {});
    const free = (await pids).get('setsid') ?? 0;
    running.release(free);
    process.kill(await initOf(running), 'SIGKILL');
    const report = await running;
    expect(report.cleanup).toMatchObject({ released: [free], survivors: [] });
    expect(listMarked(mark)).toEqual([free]);
    expect(hasEnded(stranger.pid ?? 0)).toBe(false);
    process.kill(free, 'SIGKILL');
    stranger.kill('SIGKILL');
    await expectNobody(mark);
  });
});

describe.runIf(process.getuid?.() === 0)('what may not be ended', () => {
  const setuid = publicFixture('tree');
  chmodSync(setuid, 0o4755);

  it.each([
    ['an init that is there', '', 'aborted'],
    ['an init that was killed', 'kill -KILL $PPID;', 'lost'],
  ])('is a survivor, with %s', async (_, first, kind) => {
    const mark = randomUUID();
    const { outcome, cleanup, survivor } = await inNode(
      async ({ sallyport, processes }, [file, word, command]) => {
        const running: Run = sallyport.run(
          'sh',
          ['-c', `${command} exec "$0" "$1" root`, file, word],
          {
            noNewPrivileges: false,
            drain: 50,
            grace: 50,
            output: {
              stdout: {
                to: (line) => {
                  if (line.startsWith('root')) running.abort();
                },
              },
            },
          },
        );
        const report = await running;
        return { ...report, survivor: processes.listMarked(word) };
      },
      [setuid, mark, first] as const,
      { unprivileged: true },
    );
    for (const pid of listMarked(mark)) process.kill(pid, 'SIGKILL');
    await expectNobody(mark);
    expect(survivor).toHaveLength(1);
    expect(outcome.kind).toBe(kind);
    expect(cleanup.survivors).toMatchObject([{ pid: survivor[0], state: 'S' }]);
  });
});

describe('an init that is stopped', () => {
  it('is continued, and the run goes on', async () => {
    const report = await run('sh', ['-c', 'kill -STOP $PPID; exit 4']);
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 4 });
    expect(report.complete).toBe(true);
  });

  // One that held what tells of the exec would keep the launch from its end; its program went on.
  it('by the first instruction of its program, while it gets ready itself', async () => {
    const stop = fixture('stop_parent');
    for (let round = 0; round < 10; round += 1) {
      const ends = Array.from({ length: 8 }, async () => {
        const running = run(stop, [], { grace: 20 });
        const pid = await running.started;
        running.abort();
        const { outcome, cleanup } = await running;
        return [outcome.kind, cleanup.survivors, hasEnded(pid ?? 0)];
      });
      for (const end of await Promise.all(ends)) expect(end).toEqual(['aborted', [], true]);
    }
  });

  it('is given up when it is stopped again and again', async () => {
    const mark = randomUUID();
    const script = `"$0" "$1" setsid daemon ignore & n=0
      while [ $n -lt 3000000 ]; do kill -STOP $PPID || exit; n=$((n+1)); done`;
    const report = await run('sh', ['-c', script, fixture('tree'), mark], { drain: 100 });
    expect(listMarked(mark)).toEqual([]);
    expect(report.outcome.kind).toBe('lost');
    expect(report.cleanup.survivors).toEqual([]);
  });
});

/** The init is the parent of the target. */
async function initOf(running: { readonly started: Promise<number | null> }): Promise<number> {
  return readStat((await running.started) ?? 0)?.ppid ?? 0;
}
