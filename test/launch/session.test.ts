// What a child is besides its descriptors: session, group, signals, working directory, argv.
import { realpathSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';

import { spawn } from '../../src/index.js';
import { makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { readStat } from '../support/processes.js';
import { readWitness, type Witness, witness } from '../support/witness.js';

const scratch = realpathSync(makeScratch());

// glibc keeps 32 and 33 to itself and refuses to reset them: whether they are ignored in a child
// is the parent's starter's doing.
const withoutReserved = (set: string): bigint => BigInt(`0x${set}`) & ~(3n << 31n);

describe('session', () => {
  it('is new by default: the child leads it', async () => {
    const child = spawn(witness);
    const report = await readWitness(child);
    expect(report.pid).toBe(child.pid);
    expect(report.sid).toBe(child.pid);
    expect(report.pgid).toBe(child.pid);
    expect(report.ppid).toBe(process.pid);
  });

  it("'group': the parent's session, a group of its own", async () => {
    const child = spawn(witness, [], { session: 'group' });
    const report = await readWitness(child);
    expect(report.sid).toBe(readStat(process.pid)?.sid);
    expect(report.pgid).toBe(child.pid);
  });

  it("'inherit': the parent's session and group", async () => {
    const report = await readWitness(spawn(witness, [], { session: 'inherit' }));
    const ours = readStat(process.pid);
    expect([report.sid, report.pgid]).toEqual([ours?.sid, ours?.pgid]);
  });
});

describe('signals', () => {
  it('none is blocked or ignored in a child of the main thread', async () => {
    const { status } = await readWitness(spawn(witness));
    expect(withoutReserved(status.SigIgn)).toBe(0n);
    expect(withoutReserved(status.SigBlk)).toBe(0n);
    expect(withoutReserved(status.SigCgt)).toBe(0n);
  });

  it('nor when the parent blocks and ignores them, in the main thread and in a Worker', async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, root, fixture, require }, ignored) => {
        const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
        for (const signal of ignored) storm.ignoreSignal(signal);
        storm.blockSignal(15);
        storm.blockSignal(10);
        const parent = processes.readStatus(`self/task/${String(process.pid)}` as 'self');
        const child = sallyport.spawn(fixture('witness'));
        if (child.stdout === null) throw new Error('no stdout');
        const main = JSON.parse(String(await processes.readAll(child.stdout))) as Witness;
        const worker = new Worker(
          `const { parentPort, workerData } = require('node:worker_threads');
           require(workerData.storm).blockSignal(2);
           const child = require(workerData.root).spawn(workerData.witness);
           let text = '';
           child.stdout.on('data', (piece) => (text += piece));
           child.on('close', () => parentPort.postMessage(text));`,
          {
            eval: true,
            workerData: { root, storm: fixture('storm.node'), witness: fixture('witness') },
          },
        );
        const text = await new Promise<string>((resolve, reject) => {
          worker.once('message', resolve);
          worker.once('error', reject);
        });
        return { parent, main: main.status, worker: (JSON.parse(text) as Witness).status };
      },
      [constants.signals.SIGCHLD, constants.signals.SIGHUP, constants.signals.SIGUSR2, 40],
    );
    // The control: the parent really ignored and blocked them.
    expect(withoutReserved(seen.parent['SigIgn'] ?? '')).not.toBe(0n);
    expect(withoutReserved(seen.parent['SigBlk'] ?? '')).not.toBe(0n);
    for (const status of [seen.main, seen.worker]) {
      expect(withoutReserved(status.SigIgn)).toBe(0n);
      expect(withoutReserved(status.SigBlk)).toBe(0n);
    }
  });
});

describe('cwd, argv', () => {
  it('cwd is where the child starts; without it, where the parent is at the call', async () => {
    expect((await readWitness(spawn(witness, [], { cwd: scratch }))).cwd).toBe(scratch);
    expect((await readWitness(spawn(witness))).cwd).toBe(process.cwd());
  });

  it('a relative cwd is taken from the parent at the call', async () => {
    const relative = path.relative(process.cwd(), scratch);
    const child = spawn(witness, [], { cwd: relative });
    expect(path.isAbsolute(child.plan.cwd)).toBe(true);
    expect((await readWitness(child)).cwd).toBe(scratch);
  });

  it('a file URL is as good as a path, and the arguments may be left out', async () => {
    const child = spawn(witness, { cwd: pathToFileURL(scratch) });
    const report = await readWitness(child);
    expect(report.cwd).toBe(scratch);
    expect(report.argv).toEqual([witness]);
  });

  it('arguments arrive byte for byte: empty, blank, quotes, newline, not ASCII', async () => {
    const args = ['', ' ', '"quoted"', "it's", 'a\nb', 'ünïcode 🚪', '--', '$HOME', '*'];
    const { argv } = await readWitness(spawn(witness, args));
    expect(argv[0]).toBe(witness);
    expect(argv.slice(1).map((text) => Buffer.from(text, 'latin1').toString())).toEqual(args);
  });

  it('argv0 changes the name and not the program', async () => {
    const child = spawn(witness, ['x'], { argv0: '-login' });
    expect((await readWitness(child)).argv).toEqual(['-login', 'x']);
    expect(child.spawnargs).toEqual(['-login', 'x']);
    expect(child.spawnfile).toBe(witness);
  });

  it('argv, env and cwd are copied: changing them after the call changes nothing', async () => {
    const args = ['before'];
    const env: Record<string, string> = { NAME: 'before' };
    const options = { env, cwd: scratch };
    const child = spawn(witness, args, options);
    args[0] = 'after';
    env['NAME'] = 'after';
    options.cwd = '/';
    const report = await readWitness(child);
    expect(report.argv.slice(1)).toEqual(['before']);
    expect(report.environment).toEqual([['NAME', 'before']]);
    expect(report.cwd).toBe(scratch);
  });
});
