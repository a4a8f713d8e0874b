// `dieWithParent`: the child gets its signal when this process ends, and at no other end.
import { spawn as spawnProcess, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';

import { launch, spawn, type SpawnOptions } from '../../../src/index.js';
import { makeScratch, publicFixture, root } from '../../support/fixtures.js';
import { holdExecutable } from '../../support/lease.js';
import { inNode } from '../../support/node-script.js';
import { copyPackage, launcherOf } from '../../support/package-copy.js';
import { hasEnded, listChildren, waitFor } from '../../support/processes.js';
import { needs } from '../../support/tools.js';
import { readWitness, witness } from '../../support/witness.js';

const makeFifo = async (name: string): Promise<string> => {
  const fifo = path.join(makeScratch(), name);
  expect((await spawn('mkfifo', [fifo], { stdio: 'null' }).exited).code).toBe(0);
  return fifo;
};

interface Start {
  /** Path of the package to require. */
  package?: string;
  call: 'spawn' | 'launch';
  file: string;
  args: string[];
  options: SpawnOptions;
}

/** A process that starts one child, prints its pid and its route, and then waits to be killed. */
function startParent({ package: from = root, ...start }: Start): ChildProcess {
  const body = async (sallyport: typeof import('../../../src/index.js'), given: Start) => {
    const child = await sallyport[given.call](given.file, given.args, given.options);
    console.log(JSON.stringify({ pid: child.pid, route: child.plan.route.kind }));
  };
  const script = `(${String(body)})(require(${JSON.stringify(from)}), ${JSON.stringify(start)});
    setInterval(() => undefined, 1000);`;
  const parent = spawnProcess(process.execPath, ['-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    parent.kill('SIGKILL');
  });
  return parent;
}

async function readFirst(parent: ChildProcess): Promise<{ pid: number; route: string }> {
  const [line] = (await once(createInterface(parent.stdout!), 'line')) as [string];
  return JSON.parse(line) as { pid: number; route: string };
}

async function kill(parent: ChildProcess): Promise<void> {
  const ended = once(parent, 'exit');
  parent.kill('SIGKILL');
  await ended;
}

const script = 'read line < "$0"; echo "$line" > "$0.answer"';

/** Whether a child that runs the script can still be spoken to. */
async function answers(fifo: string): Promise<string> {
  writeFileSync(fifo, 'there\n');
  await waitFor('the answer', () => existsSync(`${fifo}.answer`));
  return waitFor('its text', () => readFileSync(`${fifo}.answer`, 'utf8').trim());
}

describe('when the parent is killed', () => {
  it('the control: without the option the child goes on, and answers', async () => {
    const fifo = await makeFifo('plain');
    const parent = startParent({
      call: 'spawn',
      file: '/bin/sh',
      args: ['-c', script, fifo],
      options: { stdio: 'null', umask: 0o22 },
    });
    const { pid } = await readFirst(parent);
    await kill(parent);
    expect(hasEnded(pid)).toBe(false);
    expect(await answers(fifo)).toBe('there');
    await waitFor('its end', () => hasEnded(pid));
  });

  it.each<[string, 'spawn' | 'launch', SpawnOptions]>([
    ['by spawn', 'spawn', {}],
    ['by launch', 'launch', {}],
    ['in our session', 'spawn', { session: 'inherit' }],
    ['by SIGTERM', 'spawn', { dieWithParent: 'SIGTERM' }],
    ['by a number', 'launch', { dieWithParent: 10 }],
    ['by spawn with noNewPrivileges: false', 'spawn', { noNewPrivileges: false }],
    ['by launch with noNewPrivileges: false', 'launch', { noNewPrivileges: false }],
  ])('%s: the child is gone', async (_, call, options) => {
    const parent = startParent({
      call,
      file: witness,
      args: ['--quiet', '--hold'],
      options: { stdio: 'null', dieWithParent: true, ...options },
    });
    const { pid, route } = await readFirst(parent);
    expect(route).toBe('lane');
    expect(hasEnded(pid)).toBe(false);
    await kill(parent);
    await waitFor('the end of the child', () => hasEnded(pid));
  });

  needs('root').it('also a child that changed its ids', async () => {
    const parent = startParent({
      call: 'spawn',
      file: publicFixture('witness'),
      args: ['--quiet', '--hold'],
      options: { stdio: 'null', dieWithParent: true, user: 64_010, group: 64_011 },
    });
    const { pid } = await readFirst(parent);
    await kill(parent);
    await waitFor('the end of the child', () => hasEnded(pid));
  });

  // The parent is killed while the launcher is on its way to its first instruction.
  it.each<[string, SpawnOptions, boolean]>([
    ['nothing runs', { dieWithParent: true }, false],
    ['the control: without the option the program runs', { umask: 0o22 }, true],
  ])('before the launcher could ask for it: %s', async (_, options, runs) => {
    const copy = copyPackage();
    const ran = path.join(makeScratch(), 'ran');
    const lease = await holdExecutable(launcherOf(copy));
    const parent = startParent({
      package: copy,
      call: 'launch',
      file: '/bin/sh',
      args: ['-c', ': > "$0"', ran],
      options: { stdio: 'null', ...options },
    });
    await lease.waitedFor();
    const [hanging, ...others] = listChildren(parent.pid);
    expect(others).toEqual([]);
    await kill(parent);
    await lease.letGo();
    await waitFor('the end of the launcher', () => hasEnded(hanging!.pid));
    expect(existsSync(ran)).toBe(runs);
  });
});

needs('root', 'setpriv').describe('a parent that may change ids and is not root', () => {
  // As by AmbientCapabilities= of systemd.exec(5). The kernel drops a signal that the dying parent
  // had no right to send.
  it.each([
    ['setuid,+setgid', 'refused'],
    ['setuid,+setgid,+kill', 'started'],
  ])('with +%s: %s', async (capabilities, expected) => {
    const caps = `+${capabilities}`;
    const seen = await inNode(
      async ({ sallyport, fixture: find }) => {
        const attempt = async (options: SpawnOptions) => {
          try {
            const child = await sallyport.launch(find('exit_fast'), [], {
              stdio: 'null',
              ...options,
            });
            await child.exited;
            return 'started';
          } catch (error) {
            const { code, stage, message } =
              error as import('../../../src/index.js').SallyportError;
            return { code, stage, says: message.includes('CAP_KILL') };
          }
        };
        return {
          other: await attempt({ user: 64_030, group: 64_031, dieWithParent: true }),
          without: await attempt({ user: 64_030, group: 64_031 }),
          same: await attempt({ user: 64_010, group: 64_010, dieWithParent: true }),
        };
      },
      null,
      {
        publicly: true,
        wrap: [
          ...['setpriv', '--reuid=64010', '--regid=64010', '--clear-groups'],
          ...['--inh-caps', caps, '--ambient-caps', caps],
        ],
      },
    );
    const refused = { code: 'EPERM', stage: 'dieWithParent', says: true };
    expect(seen).toEqual({
      other: expected === 'refused' ? refused : 'started',
      without: 'started',
      same: 'started',
    });
  });
});

describe('what else ends', () => {
  needs('setpriv').it('a Worker that launched it: the child lives', async () => {
    const [fifo, other] = [await makeFifo('worker'), await makeFifo('launched')];
    const seen = await inNode(
      async ({ root: from, processes, fixture: find, require }, { fifos, code }) => {
        const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
        const worker = new Worker(
          `const { workerData, parentPort } = require('node:worker_threads');
           const { spawn, launch } = require(workerData.from);
           const plain = require('node:child_process');
           const options = { stdio: 'null', dieWithParent: true };
           const [first, second] = workerData.fifos.map((fifo) => ['-c', workerData.code, fifo]);
           const control = plain.spawn('setpriv', ['--pdeathsig', 'KILL', ...workerData.witness],
             { stdio: ['ignore', 'pipe', 'inherit'] });
           (async () => {
             const children = [spawn('/bin/sh', first, options), await launch('/bin/sh', second, options)];
             await new Promise((resolve) => control.stdout.once('data', resolve));
             // Ends the Worker, once that has been heard: its exit may overtake a message.
             parentPort.once('message', () => process.exit());
             parentPort.postMessage([control.pid, ...children.map(({ pid }) => pid)]);
           })();`,
          { eval: true, workerData: { from, fifos, code, witness: [find('witness'), '--hold'] } },
        );
        const pids = await new Promise<number[]>((resolve) => worker.once('message', resolve));
        const ended = new Promise((resolve) => worker.once('exit', resolve));
        worker.postMessage('end');
        await ended;
        const [control = 0, ...children] = pids;
        // The control: asked for by a child of the Worker's thread itself.
        await processes.waitFor('the end of the control', () => processes.hasEnded(control));
        const fs = require('node:fs') as typeof import('node:fs');
        const answers = [];
        for (const path of fifos) {
          fs.writeFileSync(path, 'there\n');
          answers.push(
            await processes.waitFor(
              'the answer',
              () => fs.existsSync(`${path}.answer`) && fs.readFileSync(`${path}.answer`, 'utf8'),
            ),
          );
        }
        return { answers, children: children.length };
      },
      { fifos: [fifo, other], code: script },
    );
    expect(seen).toEqual({ answers: ['there\n', 'there\n'], children: 2 });
  });
});

describe('the signal that the child has', () => {
  it.each<[NonNullable<SpawnOptions['dieWithParent']>, number]>([
    [true, 9],
    ['SIGTERM', 15],
    ['SIGINT', 2],
    [64, 64],
    [false, 0],
  ])('%s is %i', async (dieWithParent, expected) => {
    const options = { dieWithParent, umask: 0o22 };
    expect((await readWitness(spawn(witness, [], options))).deathSignal).toBe(expected);
    const launched = await launch(witness, [], options);
    expect((await readWitness(launched)).deathSignal).toBe(expected);
  });
});
