// Ending a child: signals, abort, timeout, disposal, and letting the parent end first.
import { getEventListeners, once } from 'node:events';
import { describe, expect, it } from 'vitest';

import { type Child, spawn, type SpawnOptions } from '../../src/index.js';
import { thrown } from '../support/errors.js';
import { fixture } from '../support/fixtures.js';
import { inNode, runScript } from '../support/node-script.js';
import { hasEnded, readStatus, waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { witness } from '../support/witness.js';

/** A child that runs until it is signalled. */
const hold = (options: SpawnOptions = {}, ...more: string[]): Child =>
  spawn(witness, ['--quiet', '--hold', ...more], { stdio: 'null', ...options });

/** One that has got so far as to ignore SIGTERM. */
async function holdStubbornly(options: SpawnOptions = {}): Promise<Child> {
  const child = spawn(witness, ['--hold', '--ignore', '15'], {
    stdio: ['null', 'pipe', 'null'],
    ...options,
  });
  if (child.stdout) await once(child.stdout, 'data');
  return child;
}

async function end(child: Child): Promise<void> {
  child.kill('SIGKILL');
  await child.exited;
}

describe('kill', () => {
  it.each([
    [undefined, 'SIGTERM'],
    ['SIGKILL', 'SIGKILL'],
    ['SIGUSR1', 'SIGUSR1'],
    [9, 'SIGKILL'],
    [6, 'SIGABRT'],
  ] as const)('%s', async (signal, ended) => {
    const child = hold({ cwd: '/' });
    expect(child.kill(signal)).toBe(true);
    expect(child.killed).toBe(true);
    expect(await child.exited).toMatchObject({ code: null, signal: ended });
    expect(child.signalCode).toBe(ended);
  });

  it('0 only asks: whether the child has been reaped', async () => {
    const child = hold();
    expect(child.kill(0)).toBe(true);
    expect(child.killed).toBe(false);
    await end(child);
    expect(child.kill(0)).toBe(false);
    expect(child.kill()).toBe(false);
    expect(child.killGroup()).toBe(false);
  });

  it('killed means that a signal was sent, not that the child ended', async () => {
    const child = await holdStubbornly();
    expect(child.kill()).toBe(true);
    expect(child.killed).toBe(true);
    // The kernel has discarded the ignored signal by now: it is neither pending nor fatal.
    expect(readStatus(child.pid)['ShdPnd']).toMatch(/^0+$/);
    expect([child.exitCode, child.signalCode]).toEqual([null, null]);
    await end(child);
  });

  it.each(['SIGNONE', 'TERM', 'sigterm', '', -1, 65, 1.5, NaN, null, {}])(
    'refuses %s',
    async (signal) => {
      const child = hold();
      const error = thrown(() => child.kill(signal as never));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.code).toBe('ERR_SALLYPORT_UNKNOWN_SIGNAL');
      expect(child.killed).toBe(false);
      await end(child);
    },
  );

  it('reaches a stopped child, with SIGCONT and SIGKILL', async () => {
    const child = hold();
    child.kill('SIGSTOP');
    await waitFor('the stop', () => /^T/.test(readStatus(child.pid)['State'] ?? ''));
    child.kill('SIGCONT');
    await waitFor('the continuation', () => !/^T/.test(readStatus(child.pid)['State'] ?? ''));
    child.kill('SIGSTOP');
    await end(child);
    expect(child.signalCode).toBe('SIGKILL');
  });
});

describe('killGroup', () => {
  it('reaches what the child started', async () => {
    // Both sleeps hold the pipe: its end proves that both are gone.
    const child = spawn('sh', ['-c', 'sleep 30 & echo; sleep 30; :'], {
      stdio: ['null', 'pipe', 'null'],
    });
    if (child.stdout) await once(child.stdout, 'data');
    const closed = once(child, 'close');
    expect(child.killGroup('SIGKILL')).toBe(true);
    expect((await child.exited).signal).toBe('SIGKILL');
    await closed;
  });

  it("is refused where the child leads no group: it would be the parent's", async () => {
    const child = hold({ session: 'inherit' });
    const error = thrown(() => child.killGroup());
    expect(error).toMatchObject({ code: 'EINVAL' });
    await end(child);
  });
});

needs('root', 'unshare').describe('a process that has come to the number of a child', () => {
  it.each<[string, string[]]>([
    ['by pidfd', []],
    ['where pidfds are refused', [fixture('seccomp_deny'), 'EPERM', 'pidfd_open', '--']],
  ])('is reached by no signal that was meant for it, %s', async (_, deny) => {
    const seen = await inNode(
      async ({ sallyport, processes, fixture: find, require }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const plain = require('node:child_process') as typeof import('node:child_process');
        const abort = new AbortController();
        const child = sallyport.spawn(find('exit_fast'), [], {
          stdio: 'null',
          killSignal: 'SIGKILL',
          signal: abort.signal,
        });
        await child.exited;
        // In a process namespace of our own nobody else takes numbers.
        fs.writeFileSync('/proc/sys/kernel/ns_last_pid', String(child.pid - 1));
        const stranger = plain.spawn('cat', { detached: true });
        stranger.stdin.on('error', () => undefined);
        const answer = new Promise<string>((resolve) => {
          stranger.stdout.once('data', (text: Buffer) => {
            resolve(text.toString());
          });
          stranger.once('close', () => {
            resolve('it has ended');
          });
        });
        const answers = [child.kill(0), child.kill('SIGKILL'), child.killGroup('SIGKILL')];
        abort.abort();
        child[Symbol.dispose]();
        await child[Symbol.asyncDispose]();
        // Whoever has a signal coming does nothing else before.
        stranger.stdin.write('there');
        const said = await answer;
        // The control: by the number alone it is reached.
        process.kill(-child.pid, 'SIGKILL');
        await processes.waitFor('the end of the stranger', () => processes.hasEnded(child.pid));
        return { same: stranger.pid === child.pid, answers, said, killed: child.killed };
      },
      null,
      { wrap: ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc', ...deny] },
    );
    expect(seen).toEqual({
      same: true,
      answers: [false, false, false],
      said: 'there',
      killed: false,
    });
  });
});

describe('signal', () => {
  it('aborted before: nothing is started', () => {
    const reason = new Error('made-up reason');
    const error = thrown(() => hold({ signal: AbortSignal.abort(reason) }));
    expect(error).toMatchObject({ name: 'AbortError', code: 'ABORT_ERR', cause: reason });
  });

  it('aborted during: killSignal, and an AbortError for those who listen', async () => {
    const controller = new AbortController();
    const child = hold({ signal: controller.signal, killSignal: 'SIGUSR2' });
    const failed = once(child, 'error') as Promise<[Error & { code: string }]>;
    controller.abort();
    const [error] = await failed;
    expect([error.name, error.code]).toEqual(['AbortError', 'ABORT_ERR']);
    expect((await child.exited).signal).toBe('SIGUSR2');
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });

  it('without a listener there is no uncaught exception', async () => {
    const signal = await inNode(async ({ sallyport, fixture }) => {
      const controller = new AbortController();
      const child = sallyport.spawn(fixture('witness'), ['--quiet', '--hold'], {
        stdio: 'null',
        signal: controller.signal,
      });
      controller.abort();
      return (await child.exited).signal;
    }, null);
    expect(signal).toBe('SIGTERM');
  });

  it('aborted after the exit: nothing', async () => {
    const controller = new AbortController();
    const child = spawn(witness, ['--quiet'], { stdio: 'null', signal: controller.signal });
    const errors: unknown[] = [];
    child.on('error', (error) => errors.push(error));
    await child.exited;
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    controller.abort();
    expect(errors).toEqual([]);
    expect(child.killed).toBe(false);
  });

  it('a thousand children on one signal leave no listener and no warning', async () => {
    const seen = await inNode(async ({ sallyport, fixture, require }) => {
      const events = require('node:events') as typeof import('node:events');
      const warnings: string[] = [];
      process.on('warning', ({ message }) => warnings.push(message));
      const { signal } = new AbortController();
      for (let round = 0; round < 20; round++) {
        const children = Array.from({ length: 50 }, () =>
          sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null', signal }),
        );
        await Promise.all(children.map((child) => child.exited));
      }
      return { listeners: events.getEventListeners(signal, 'abort').length, warnings };
    }, null);
    expect(seen.listeners).toBe(0);
    expect(seen.warnings.filter((message) => !/MaxListeners/.test(message))).toEqual([]);
  });
});

describe('timeout', () => {
  it.each([
    ['SIGTERM', undefined],
    ['SIGKILL', 'SIGKILL'],
    ['SIGINT', 2],
  ] as const)('sends killSignal: %s', async (ended, killSignal) => {
    const child = hold({ timeout: 1, ...(killSignal === undefined ? {} : { killSignal }) });
    expect((await child.exited).signal).toBe(ended);
    expect(child.killed).toBe(true);
  });

  it('of 0 is none, and a child that is quicker is not touched', async () => {
    const quick = spawn(witness, ['--quiet'], { stdio: 'null', timeout: 60_000 });
    const endless = hold({ timeout: 0 });
    expect((await quick.exited).code).toBe(0);
    expect(quick.killed).toBe(false);
    expect(endless.killed).toBe(false);
    await end(endless);
  });

  it('holds the process no longer than the child does', async () => {
    const code = await inNode(async ({ sallyport, fixture }) => {
      const child = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null', timeout: 600_000 });
      return (await child.exited).code;
    }, null);
    expect(code).toBe(0);
  });

  it.each([-1, NaN, '5', Infinity, 2 ** 31, {}])('refuses %s', (timeout) => {
    expect(thrown(() => hold({ timeout: timeout as never }))).toBeInstanceOf(TypeError);
  });
});

it.each([
  ['signal', 'SIGTERM'],
  ['signal', {}],
  ['killSignal', 'TERM'],
  ['killSignal', 99],
  ['killSignal', {}],
])('refuses %s: %s before anything starts', (name, value) => {
  const error = thrown(() => hold({ [name]: value }));
  expect(error).toBeInstanceOf(TypeError);
  expect(error.message).toContain(name);
});

describe('unref', () => {
  it('lets the process end before the child', async () => {
    const { value: pid } = await runScript(({ sallyport, fixture }) => {
      const child = sallyport.spawn(fixture('witness'), ['--quiet', '--hold'], { stdio: 'null' });
      return child.unref() === child ? child.pid : 0;
    }, null);
    expect(hasEnded(pid)).toBe(false);
    process.kill(pid, 'SIGKILL');
  });

  it('ref takes it back', async () => {
    const code = await inNode(async ({ sallyport, fixture }) => {
      const child = sallyport.spawn(fixture('witness'), ['--quiet', '--exit', '5'], {
        stdio: 'null',
      });
      child.unref().unref().ref();
      return (await child.exited).code;
    }, null);
    expect(code).toBe(5);
  });

  it('of one child does not let go of another', async () => {
    const seen = await inNode(async ({ sallyport, fixture }) => {
      const forgotten = sallyport.spawn(fixture('witness'), ['--quiet', '--hold'], {
        stdio: 'null',
      });
      forgotten.unref().unref();
      const awaited = sallyport.spawn(fixture('witness'), ['--quiet', '--exit', '6'], {
        stdio: 'null',
      });
      return { code: (await awaited.exited).code, pid: forgotten.pid };
    }, null);
    expect(seen.code).toBe(6);
    process.kill(seen.pid, 'SIGKILL');
  });

  it('after the exit changes nothing', async () => {
    const child = spawn(witness, ['--quiet'], { stdio: 'null' });
    await child.exited;
    expect(child.unref().ref()).toBe(child);
  });
});

describe('disposal', () => {
  it('Symbol.dispose sends killSignal once, and nothing after the exit', async () => {
    const child = hold({ killSignal: 'SIGINT' });
    child[Symbol.dispose]();
    child[Symbol.dispose]();
    expect((await child.exited).signal).toBe('SIGINT');
    const ended = spawn(witness, ['--quiet'], { stdio: 'null' });
    await ended.exited;
    ended[Symbol.dispose]();
    expect(ended.killed).toBe(false);
  });

  it('Symbol.asyncDispose waits for the end, and closes the pipes', async () => {
    const child = hold({ stdio: 'pipe' });
    await child[Symbol.asyncDispose]();
    expect(child.signalCode).toBe('SIGTERM');
    expect(child.stdio.map((stream) => stream?.destroyed)).toEqual([true, true, true]);
    await child[Symbol.asyncDispose]();
  });

  it('Symbol.asyncDispose ends a child that ignores killSignal', async () => {
    const child = await holdStubbornly();
    await child[Symbol.asyncDispose]();
    expect(child.signalCode).toBe('SIGKILL');
  });

  it('Symbol.asyncDispose does not wait for a grandchild that holds the pipes', async () => {
    const child = spawn('sh', ['-c', 'sleep 30 & echo $!; exec sleep 30'], { stdio: 'pipe' });
    const [text] = (await (child.stdout && once(child.stdout, 'data'))) as [Buffer];
    await child[Symbol.asyncDispose]();
    expect(child.signalCode).toBe('SIGTERM');
    process.kill(Number(String(text)), 'SIGKILL');
  });
});

describe('the end of the parent', () => {
  it.each(['process.exit', 'the end of the script', 'an uncaught exception'])(
    '%s with twenty live children: it ends as it should, and they live on',
    async (how) => {
      const ended = await inNode(async ({ processes, root, fixture, require }, how) => {
        const { spawn } = require('node:child_process') as typeof import('node:child_process');
        const ways: Record<string, string> = {
          'process.exit': 'process.exit(3)',
          'the end of the script':
            'for (const child of children) child.unref(); process.exitCode = 3',
          'an uncaught exception': 'throw new Error("made up")',
        };
        const parent = spawn(process.execPath, [
          '-e',
          `const children = Array.from({ length: 20 }, () =>
               require(${JSON.stringify(root)}).spawn(
                 ${JSON.stringify(fixture('witness'))}, ['--quiet', '--hold'], { stdio: 'null' }));
             require('node:fs').writeSync(1, JSON.stringify(children.map(({ pid }) => pid)));
             ${ways[how] ?? ''}`,
        ]);
        const exit = new Promise((resolve) =>
          parent.once('exit', (code, signal) => {
            resolve(signal ?? code);
          }),
        );
        const pids = JSON.parse(String(await processes.readAll(parent.stdout))) as number[];
        const ended = await exit;
        const alive = pids.filter((pid) => !processes.hasEnded(pid));
        for (const pid of alive) process.kill(pid, 'SIGKILL');
        return { ended, alive: alive.length };
      }, how);
      expect(ended).toEqual({ ended: how === 'an uncaught exception' ? 1 : 3, alive: 20 });
    },
  );

  it('process.exit while children are ending', async () => {
    const codes = await inNode(async ({ root, fixture, require }) => {
      const { spawnSync } = require('node:child_process') as typeof import('node:child_process');
      return Array.from({ length: 10 }, () => {
        const { status, signal } = spawnSync(process.execPath, [
          '-e',
          `const { spawn } = require(${JSON.stringify(root)});
           for (let count = 0; count < 40; count++) spawn(${JSON.stringify(fixture('exit_fast'))}, [], { stdio: 'null' });
           setImmediate(() => process.exit(4));`,
        ]);
        return signal ?? status;
      });
    }, null);
    expect(new Set(codes)).toEqual(new Set([4]));
  });

  it('spawn in a listener of its exit starts a child and ends the process', async () => {
    const { stdout } = await runScript(({ sallyport }) => {
      process.on('exit', () => {
        sallyport.spawn('echo', ['last words'], { stdio: ['null', 1, 'null'] });
      });
    }, null);
    expect(stdout).toMatch(/^(last words\n)?$/);
  });
});
