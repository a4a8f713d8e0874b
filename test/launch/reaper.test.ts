// Every child is reaped once, with its own status, whoever else waits for children.
import { describe, expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';

describe('many at once', () => {
  it('1 000 children in flight: each its own exit code, and no descriptor left', async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, fixture, require }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const first = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' });
        await first.exited;
        const before = processes.countDescriptors();
        // They all wait for the end of this pipe.
        const [readEnd = -1, writeEnd = -1] = storm.makeInheritable('pipe', 100);
        const children = Array.from({ length: 1000 }, (_, index) =>
          sallyport.spawn(
            fixture('witness'),
            ['--quiet', '--hold-fd', '3', '--exit', String(index % 251)],
            {
              stdio: 'null',
              pass: [{ fd: readEnd, as: 3 }],
            },
          ),
        );
        const alive = processes.listChildren().filter(({ state }) => state !== 'Z').length;
        fs.closeSync(readEnd);
        fs.closeSync(writeEnd);
        const statuses = await Promise.all(children.map((child) => child.exited));
        return {
          alive,
          wrong: statuses.filter(
            ({ code, signal, lost }, index) => code !== index % 251 || signal || lost,
          ).length,
          agree: children.every(({ exitCode }, index) => exitCode === index % 251),
          children: storm.hasChildren(),
          before,
          after: processes.countDescriptors(),
        };
      },
      null,
      { deadline: 50_000 },
    );
    expect(seen.alive).toBe(1000);
    expect(seen.wrong).toBe(0);
    expect(seen.agree).toBe(true);
    expect(seen.children).toBe(false);
    expect(new Set(seen.after)).toEqual(new Set(seen.before));
  }, 60_000);

  it('500 by child_process beside 500 of ours: every exit event arrives with its code', async () => {
    const seen = await inNode(
      async ({ sallyport, storm, fixture, require }) => {
        const { spawn } = require('node:child_process') as typeof import('node:child_process');
        const witness = fixture('witness');
        let wrong = 0;
        const waiting: Array<Promise<void>> = [];
        const expectCode = (
          child: { once(event: 'exit', listener: (code: number | null) => void): unknown },
          code: number,
        ) => {
          waiting.push(
            new Promise((resolve) =>
              child.once('exit', (seen) => {
                if (seen !== code) wrong += 1;
                resolve();
              }),
            ),
          );
        };
        for (let index = 0; index < 500; index++) {
          const args = (code: number) => ['--quiet', '--exit', String(code)];
          expectCode(sallyport.spawn(witness, args(index % 100), { stdio: 'null' }), index % 100);
          expectCode(
            spawn(witness, args(100 + (index % 100)), { stdio: 'ignore' }),
            100 + (index % 100),
          );
          // So that exits come in between.
          if (index % 25 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        await Promise.all(waiting);
        return { count: waiting.length, wrong, children: storm.hasChildren() };
      },
      null,
      { deadline: 50_000 },
    );
    expect(seen).toEqual({ count: 1000, wrong: 0, children: false });
  }, 60_000);

  it('with pipes on all of them', async () => {
    const seen = await inNode(async ({ sallyport, storm, processes, fixture }) => {
      const results = await Promise.all(
        Array.from({ length: 200 }, async (_, index) => {
          const child = sallyport.spawn(fixture('witness'), [
            '--quiet',
            '--flood',
            String(1000 + index),
          ]);
          const [out, err, status] = await Promise.all([
            child.stdout && processes.readAll(child.stdout),
            child.stderr && processes.readAll(child.stderr),
            child.exited,
          ]);
          return out?.length === 1000 + index && err?.length === 0 && status.code === 0;
        }),
      );
      return { wrong: results.filter((right) => !right).length, children: storm.hasChildren() };
    }, null);
    expect(seen).toEqual({ wrong: 0, children: false });
  });
});

describe('a parent whose children are not its own business', () => {
  it.each(['before', 'after'])('SIGCHLD ignored %s the package is loaded', async (when) => {
    const seen = await inNode(async (context, when) => {
      const { storm, fixture } = context;
      if (when === 'after') context.sallyport.planLaunch('true');
      storm.ignoreSigchld();
      const { sallyport } = context;
      const children = Array.from({ length: 50 }, (_, index) =>
        sallyport.spawn(fixture('witness'), ['--quiet', '--exit', String(index + 1)], {
          stdio: 'null',
        }),
      );
      const statuses = await Promise.all(children.map((child) => child.exited));
      return statuses.filter(({ code, lost }, index) => code !== index + 1 || lost).length;
    }, when);
    expect(seen).toBe(0);
  });

  it('started with SIGCHLD ignored, as some service managers do', async () => {
    const code = await inNode(
      async ({ sallyport, fixture }) =>
        (
          await sallyport.spawn(fixture('witness'), ['--quiet', '--exit', '8'], { stdio: 'null' })
            .exited
        ).code,
      null,
      { wrap: ['sh', '-c', 'trap "" CHLD; exec "$@"', 'sh'] },
    );
    expect(code).toBe(8);
  });

  it('no handler of ours is ever there for SIGCHLD', async () => {
    const seen = await inNode(async ({ sallyport, processes, fixture, require }) => {
      const plain = require('node:child_process') as typeof import('node:child_process');
      const handles = () => (BigInt(`0x${processes.readStatus()['SigCgt'] ?? ''}`) >> 16n) & 1n;
      const before = handles();
      const program = fixture('exit_fast');
      await sallyport.spawn(program, [], { stdio: 'null' }).exited;
      await (
        await sallyport.launch(program, [], { stdio: 'null' })
      ).exited;
      await sallyport.run(program);
      sallyport.runSync(program);
      const after = handles();
      // The control: libuv has one, from its first child on.
      plain.spawn(program);
      return [before, after, handles()].map(Number);
    }, null);
    expect(seen).toEqual([0, 0, 1]);
  });

  it('somebody else reaps the child: it is said, or the status is known nonetheless; nothing hangs', async () => {
    const seen = await inNode(async ({ sallyport, storm, fixture }) => {
      const outcomes = [];
      for (let round = 0; round < 20; round++) {
        const child = sallyport.spawn(fixture('witness'), ['--quiet', '--exit', '7'], {
          stdio: 'null',
        });
        try {
          storm.reapChild(child.pid);
        } catch {
          // Ours was quicker.
        }
        outcomes.push(await child.exited);
      }
      const next = sallyport.spawn(fixture('witness'), ['--quiet', '--exit', '9'], {
        stdio: 'null',
      });
      return { outcomes, next: (await next.exited).code };
    }, null);
    for (const { code, signal, lost } of seen.outcomes) {
      expect(signal).toBeNull();
      expect(code).toBe(lost ? null : 7);
    }
    expect(seen.next).toBe(9);
  });
});

describe('objects that nobody keeps', () => {
  it('collected children are reaped, and their listeners hear of it', async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, fixture }) => {
        const collect = (globalThis as { gc?: () => void }).gc;
        if (collect === undefined) throw new Error('needs --expose-gc');
        const [readEnd = -1, writeEnd = -1] = storm.makeInheritable('pipe', 100);
        let heard = 0;
        for (let index = 0; index < 50; index++) {
          const child = sallyport.spawn(fixture('witness'), ['--quiet', '--hold-fd', '3'], {
            stdio: index % 2 === 0 ? 'null' : 'pipe',
            pass: [{ fd: readEnd, as: 3 }],
          });
          child.on('exit', () => (heard += 1));
          if (index % 3 === 0) child.unref();
        }
        for (let round = 0; round < 5; round++) {
          collect();
          await new Promise((resolve) => setImmediate(resolve));
        }
        const alive = processes.listChildren().length;
        storm.closeFd(readEnd);
        storm.closeFd(writeEnd);
        await processes.waitFor('the exits', () => heard === 50);
        return { alive, children: storm.hasChildren() };
      },
      null,
      { flags: ['--expose-gc'] },
    );
    expect(seen).toEqual({ alive: 50, children: false });
  });

  it('forgotten unread pipes are closed after the exit: nothing accumulates', async () => {
    const seen = await inNode(async ({ sallyport, processes, fixture }) => {
      const launch = async () => {
        const child = sallyport.spawn(fixture('witness'), ['--quiet', '--flood', '2000']);
        await child.exited;
      };
      await launch();
      await processes.waitFor('the first', () => processes.listDescriptors().length > 0);
      const before = processes.listDescriptors().length;
      for (let round = 0; round < 50; round++) await launch();
      await processes.waitFor('the pipes', () => processes.listDescriptors().length <= before);
      return true;
    }, null);
    expect(seen).toBe(true);
  });
});
