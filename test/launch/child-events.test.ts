// A Child where a ChildProcess is expected: properties, events and their order.
import { spawn as plainSpawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { describe, expect, it } from 'vitest';

import { type Child, spawn } from '../../src/index.js';
import { fixture } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { isGone } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { witness } from '../support/witness.js';

interface Emitter {
  stdout: NodeJS.ReadableStream | null;
  on(event: string, listener: (...args: unknown[]) => void): unknown;
}

/** Every event of one child until `close`, with its arguments. */
async function record(child: Emitter): Promise<Array<[string, ...unknown[]]>> {
  const events: Array<[string, ...unknown[]]> = [];
  for (const name of ['spawn', 'exit', 'close', 'error']) {
    child.on(name, (...args) => events.push([name, ...args]));
  }
  child.stdout?.on('end', () => events.push(['end of stdout']));
  child.stdout?.resume();
  await new Promise<void>((resolve) =>
    child.on('close', () => {
      resolve();
    }),
  );
  return events;
}

describe('events', () => {
  it.each([
    ['a code', ['-c', 'echo hi; exit 3']],
    ['success', ['-c', ':']],
    ['a signal', ['-c', 'kill -9 $$']],
  ])('come as those of child_process, for %s', async (_, args) => {
    const ours = await record(spawn('sh', args, { stdio: ['null', 'pipe', 'null'] }));
    const theirs = await record(plainSpawn('sh', args, { stdio: ['ignore', 'pipe', 'ignore'] }));
    const withoutEnd = (events: Array<[string, ...unknown[]]>) =>
      events.filter(([name]) => name !== 'end of stdout');
    expect(withoutEnd(ours)).toEqual(withoutEnd(theirs));
    expect(ours.map(([name]) => name).indexOf('close')).toBe(ours.length - 1);
    expect(ours.map(([name]) => name)).toContain('end of stdout');
  });

  it('spawn comes after the call returned, and before anything else', async () => {
    let returned = false;
    const child = spawn(fixture('exit_fast'), [], { stdio: 'null' });
    const early: boolean[] = [];
    child.on('spawn', () => early.push(!returned));
    returned = true;
    await once(child, 'close');
    expect(early).toEqual([false]);
  });

  it('without pipes, close follows exit at once', async () => {
    const events = await record(spawn(fixture('exit_fast'), [], { stdio: 'null' }));
    expect(events).toEqual([['spawn'], ['exit', 0, null], ['close', 0, null]]);
  });

  it('a grandchild that holds the pipe delays close and not exit', async () => {
    const child = spawn('sh', ['-c', '(cat <&3; echo late) & exit 4'], {
      stdio: ['null', 'pipe', 'null'],
      pass: [],
    });
    // The background cat has no 3 and ends at once: its echo still comes after the exit of sh.
    const events = await record(child);
    const names = events.map(([name]) => name);
    expect(names.indexOf('exit')).toBeLessThan(names.indexOf('close'));
    expect(names.indexOf('end of stdout')).toBeLessThan(names.indexOf('close'));
  });

  it('listeners added in the same tick miss nothing, even of a child that ends at once', async () => {
    const seen = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const child = spawn(fixture('exit_fast'), [], { stdio: 'null' });
        const names: string[] = [];
        for (const name of ['spawn', 'exit', 'close'] as const)
          child.on(name, () => names.push(name));
        await once(child, 'close');
        return names.join();
      }),
    );
    expect(new Set(seen)).toEqual(new Set(['spawn,exit,close']));
  });

  it('an exception in a listener is uncaught, as with any emitter, and breaks no other child', async () => {
    const seen = await inNode(async ({ sallyport, fixture }) => {
      const uncaught: string[] = [];
      process.removeAllListeners('uncaughtException');
      process.on('uncaughtException', (error) => uncaught.push(error.message));
      const first = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' });
      const second = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' });
      first.on('exit', () => {
        throw new Error('from a listener');
      });
      const statuses = await Promise.all([first.exited, second.exited]);
      await new Promise((resolve) => setImmediate(resolve));
      return { uncaught, codes: statuses.map(({ code }) => code) };
    }, null);
    expect(seen).toEqual({ uncaught: ['from a listener'], codes: [0, 0] });
  });
});

it('an exception in a listener of the start loses neither exit nor close, also of a child that ends first', async () => {
  const seen = await inNode(async ({ sallyport, processes, fixture }) => {
    const uncaught: string[] = [];
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => uncaught.push(error.message));
    const events: string[] = [];
    for (let round = 0; round < 3; round++) {
      const child = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'pipe' });
      for (const event of ['spawn', 'exit'] as const) {
        child.on(event, () => {
          events.push(event);
          throw new Error(event);
        });
      }
      const closed = new Promise((resolve) => child.once('close', resolve));
      // Before the turn in which its start would be told: its exit comes along.
      await processes.waitFor('its end', () => processes.hasEnded(child.pid));
      if ((await child.exited).code !== 0) throw new Error('another exit');
      await closed;
    }
    await new Promise((resolve) => setImmediate(resolve));
    return { events, uncaught };
  }, null);
  const each = ['spawn', 'exit'];
  const all = [...each, ...each, ...each];
  expect(seen.events).toEqual(all);
  expect(seen.uncaught.sort()).toEqual([...all].sort());
});

describe('properties', () => {
  const properties = (child: Child) => ({
    exitCode: child.exitCode,
    signalCode: child.signalCode,
    killed: child.killed,
  });

  it('before and after an exit', async () => {
    const child = spawn(witness, ['--quiet', '--hold-fd', '0', '--exit', '9'], {
      stdio: ['pipe', 'null', 'null'],
    });
    expect(child).toBeInstanceOf(EventEmitter);
    expect(child.pid).toBeGreaterThan(1);
    expect(child.spawnfile).toBe(witness);
    expect(child.spawnargs).toEqual([witness, '--quiet', '--hold-fd', '0', '--exit', '9']);
    expect(child.connected).toBe(false);
    expect(properties(child)).toEqual({ exitCode: null, signalCode: null, killed: false });
    child.stdin?.end();
    await child.exited;
    expect(properties(child)).toEqual({ exitCode: 9, signalCode: null, killed: false });
  });

  it('after a signal', async () => {
    const child = spawn(witness, ['--quiet', '--hold'], { stdio: 'null' });
    expect(child.kill()).toBe(true);
    expect(child.killed).toBe(true);
    await child.exited;
    expect(properties(child)).toEqual({ exitCode: null, signalCode: 'SIGTERM', killed: true });
  });

  it('are set when exit is emitted', async () => {
    const child = spawn(witness, ['--quiet', '--exit', '5'], { stdio: 'null' });
    const seen = new Promise((resolve) =>
      child.once('exit', () => {
        resolve(properties(child));
      }),
    );
    expect(await seen).toEqual({ exitCode: 5, signalCode: null, killed: false });
  });

  it('the plan is frozen and says what was launched', async () => {
    const child = spawn('sh', ['-c', ':'], {
      env: { A: '1' },
      cwd: '/',
      stdio: ['null', 'pipe', 'null'],
    });
    await child.exited;
    expect(Object.isFrozen(child.plan)).toBe(true);
    expect(child.plan).toMatchObject({
      version: 1,
      file: 'sh',
      argv: ['sh', '-c', ':'],
      environment: { A: '1' },
      environmentSource: 'explicit',
      cwd: '/',
      session: 'new',
      foreground: null,
      route: { kind: 'lane' },
    });
    expect(child.plan.executable).toMatch(/^\/.*\/sh$/);
    expect(JSON.parse(JSON.stringify(child.plan))).toEqual(child.plan);
  });
});

describe('exited', () => {
  it('gives code, signal, core flag and the resources used', async () => {
    const child = spawn('sh', ['-c', 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 12'], {
      stdio: 'null',
    });
    const status = await child.exited;
    expect(status).toMatchObject({ code: 12, signal: null, coreDumped: false, lost: false });
    const usage = status.resourceUsage;
    expect(usage.userCPUTime + usage.systemCPUTime).toBeGreaterThan(0);
    expect(usage.maxRSS).toBeGreaterThan(100);
    expect(usage.minorPageFault).toBeGreaterThan(0);
    expect(Object.keys(usage).sort()).toEqual([
      'fsRead',
      'fsWrite',
      'involuntaryContextSwitches',
      'majorPageFault',
      'maxRSS',
      'minorPageFault',
      'systemCPUTime',
      'userCPUTime',
      'voluntaryContextSwitches',
    ]);
  });

  it.each(Array.from({ length: 8 }, (_, index) => [0, 1, 2, 127, 128, 129, 254, 255][index] ?? 0))(
    'code %i',
    async (code) => {
      const child = spawn(witness, ['--quiet', '--exit', String(code)], { stdio: 'null' });
      expect(await child.exited).toMatchObject({ code, signal: null });
    },
  );

  it.each([
    ['SIGHUP', 1],
    ['SIGABRT', 6],
    ['SIGKILL', 9],
    ['SIGSEGV', 11],
    ['SIGTERM', 15],
    ['SIGSYS', 31],
    // A realtime signal has no name in Node's table.
    ['SIG40', 40],
  ])('signal %s', async (signal, number) => {
    const child = spawn(witness, ['--quiet', '--signal', String(number)], {
      stdio: 'null',
      cwd: '/',
    });
    expect(await child.exited).toMatchObject({ code: null, signal });
  });

  needs('core files').it('says whether a core was dumped', async () => {
    const flags = await inNode(async ({ sallyport, storm, fixture, scratch }) => {
      const run = async () =>
        (
          await sallyport.spawn(fixture('witness'), ['--quiet', '--signal', '6'], {
            stdio: 'null',
            cwd: scratch,
          }).exited
        ).coreDumped;
      storm.setSoftLimit('core', 0);
      const without = await run();
      storm.setSoftLimit('core', 64 * 1024 * 1024);
      return { without, with: await run() };
    }, null);
    expect(flags).toEqual({ without: false, with: true });
  });

  it('is the same promise each time, resolves also when awaited late, and needs no listener', async () => {
    const child = spawn(fixture('exit_fast'), [], { stdio: 'null' });
    expect(child.exited).toBe(child.exited);
    await once(child, 'close');
    expect((await child.exited).code).toBe(0);
  });

  it('means that the kernel keeps no zombie of it', async () => {
    const children = Array.from({ length: 20 }, () =>
      spawn(fixture('exit_fast'), [], { stdio: 'null' }),
    );
    for (const child of children) {
      await child.exited;
      expect(isGone(child.pid)).toBe(true);
    }
  });
});
