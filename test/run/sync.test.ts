// runSync(): the same report without the event loop, wherever it is called, with nothing left behind.
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';

import { run, runSync, type RunReport, type RunSyncOptions } from '../../src/index.js';
import { native } from '../../src/native.js';
import { thrown } from '../support/errors.js';
import { fixture, makeScratch } from '../support/fixtures.js';
import { inNode, runScript } from '../support/node-script.js';
import { hasEnded } from '../support/processes.js';
import { expectNobody, ways } from './support.js';

const big = Buffer.alloc(3_000_000, 'x');

/** What differs between two runs of one program. */
function withoutAccidents({ outcome, ...report }: RunReport): object {
  const { startedAt: _at, durationMs: _ms, resourceUsage, treeUsage, ...rest } = outcome;
  const usage = [resourceUsage, treeUsage].map((one) => (one === null ? null : Object.keys(one)));
  return { ...report, outcome: { ...rest, usage } };
}

describe.each(ways)('containment %s', (method, containment) => {
  it.each<[string, string, string[], RunSyncOptions]>([
    ['an exit', 'sh', ['-c', 'echo out; echo err >&2; exit 3'], {}],
    ['a signal', 'sh', ['-c', 'kill -USR1 $$'], {}],
    ['input', 'cat', [], { input: 'h\u00e9llo' }],
    ['merged output', 'sh', ['-c', 'echo 1; echo 2 >&2; echo 3'], { output: { merge: true } }],
    [
      'both ends of it',
      'seq',
      ['9999'],
      { output: { maxBytes: 9, onExceed: 'truncate-and-continue', keep: 'head-and-tail' } },
    ],
    ['a missing program', 'no-such-program', [], {}],
    ['a missing directory', 'true', [], { cwd: '/srv/missing' }],
    ['a missing input', 'true', [], { input: { file: '/srv/missing' } }],
  ])('the report is that of run: %s', async (_, file, args, given) => {
    const options = { ...given, containment };
    const report = runSync(file, args, options);
    const other = await run(file, args, options);
    expect(withoutAccidents(report)).toEqual(withoutAccidents(other));
    expect(report.output.stdout.text).toBe(other.output.stdout.text);
    expect(report.output.stderr.text).toBe(other.output.stderr.text);
    expect(report.outcome.durationMs).toBeGreaterThan(0);
  });

  it('at the deadline: a tree of all kinds, SIGTERM, SIGKILL, and nobody is left', async () => {
    const mark = randomUUID();
    const members = [
      'plain',
      'ignore',
      'stopped',
      'group',
      ...(method !== 'group' ? ['setsid', 'daemon'] : []),
    ];
    const report = runSync(fixture('tree'), [mark, ...members], {
      containment,
      deadline: 700,
      grace: 50,
    });
    // All of them had come to be.
    expect(report.output.stdout.text.match(/^\w+ \d+$/gm)).toHaveLength(members.length + 1);
    await expectNobody(mark);
    expect(report.outcome).toMatchObject({ kind: 'deadline', signal: 'SIGTERM' });
    expect(report.cleanup).toMatchObject({
      survivors: [],
      signalled: [
        { signal: 'SIGTERM', at: 'end' },
        { signal: 'SIGKILL', at: 'kill' },
      ],
    });
    expect(report.complete).toBe(false);
  });

  it('the output limit ends it, with exactly so much kept', () => {
    const report = runSync('yes', [], { containment, output: { maxBytes: 1 << 20 } });
    expect(report.outcome.kind).toBe('output-limit');
    expect(report.output.stdout).toMatchObject({ bytesKept: 1 << 20, omitted: { at: 1 << 20 } });
  });

  it('a stall, with evidence', () => {
    const report = runSync('sh', ['-c', 'echo begun; sleep 60; :'], { containment, stall: 200 });
    expect(report.outcome.kind).toBe('stalled');
    expect(report.outcome.stall?.processes).toMatchObject([{ state: 'S' }, { state: 'S' }]);
  });

  it('a pipe that somebody else holds: drained for a while, and named', async () => {
    const report = runSync('sh', ['-c', 'sleep 30 & echo hi'], { containment, drain: 50 });
    const { end, heldBy, text } = report.output.stdout;
    expect([text, end, heldBy.length]).toEqual(['hi\n', 'held', 1]);
    expect(heldBy[0]?.executable).toMatch(/sleep$|busybox$|coreutils$/);
    expect(hasEnded(heldBy[0]?.pid ?? 0)).toBe(true);
  });

  it('everything arrives of a child that ends at once', () => {
    const report = runSync('head', ['-c', '10000000', '/dev/zero'], { containment });
    expect(report.output.stdout).toMatchObject({
      bytesSeen: 10_000_000,
      sha256: createHash('sha256').update(Buffer.alloc(10_000_000)).digest('hex'),
      end: 'eof',
    });
    expect(report.complete).toBe(true);
  });
});

describe('input', () => {
  it('a file, larger than a pipe', () => {
    const file = path.join(makeScratch(), 'input');
    writeFileSync(file, big);
    const report = runSync('wc', ['-c'], { input: { file } });
    expect(Number(report.output.stdout.text)).toBe(big.length);
    expect(report.input).toEqual({ bytesWritten: big.length, error: null, sourceError: null });
  });

  it('that nobody reads is EPIPE', () => {
    const report = runSync('sh', ['-c', 'head -c 10 >/dev/null; exit 7'], { input: big });
    expect(report.outcome.code).toBe(7);
    expect(report.input.error).toBe('EPIPE');
    expect(report.input.bytesWritten).toBeLessThan(big.length);
  });

  it('and output at the same time, each more than a pipe holds', () => {
    const report = runSync('cat', [], { input: big });
    expect(report.output.stdout.data.equals(big)).toBe(true);
  });

  it('that fails while it is read', () => {
    // Reading a directory is refused only by read(2).
    const report = runSync('cat', [], { input: { file: '/' } });
    expect(report.input.sourceError).toContain('EISDIR');
    expect(report.complete).toBe(false);
  });
});

describe('where else the output goes', () => {
  it('a file gets all of it, whatever is kept', () => {
    const to = path.join(makeScratch(), 'out');
    const options = { maxBytes: 4, onExceed: 'truncate-and-continue' } as const;
    const report = runSync('seq', ['100000'], { output: { ...options, stdout: { to } } });
    expect(report.output.stdout).toMatchObject({ end: 'truncated', delivered: true });
    expect(createHash('sha256').update(readFileSync(to)).digest('hex')).toBe(
      report.output.stdout.sha256,
    );
    expect(report.complete).toBe(true);
  });

  it('a full disk is told, and holds nothing up', () => {
    const report = runSync('seq', ['100000'], { output: { stdout: { to: '/dev/full' } } });
    expect(report.output.stdout.deliveryError).toContain('ENOSPC');
    expect(report.output.stdout.bytesSeen).toBe(588_895);
    expect(report.complete).toBe(false);
  });

  it('a function gets each line', () => {
    const lines: string[] = [];
    const to = (line: string): void => void lines.push(line);
    runSync('printf', ['one\\ntwo\\nend'], { output: { stdout: { to } } });
    expect(lines).toEqual(['one', 'two', 'end']);
  });

  it('a function that throws ends the run, and that is thrown', () => {
    const record = path.join(makeScratch(), 'record');
    const to = (): void => {
      throw new RangeError('enough');
    };
    expect(thrown(() => runSync('yes', [], { output: { stdout: { to } }, record })).message).toBe(
      'enough',
    );
    const report = JSON.parse(readFileSync(record, 'utf8')) as RunReport;
    expect(report.outcome.kind).toBe('aborted');
  });

  it('a function may run another', () => {
    const seen: string[] = [];
    const to = (line: string): void =>
      void seen.push(runSync('echo', ['inner', line]).output.stdout.text);
    const outer = runSync('printf', ['a\\nb\\n'], { output: { stdout: { to } } });
    expect([seen, outer.output.stdout.text]).toEqual([['inner a\n', 'inner b\n'], 'a\nb\n']);
  });
});

describe('what only the event loop could serve is refused, and nothing is started', () => {
  const file = path.join(makeScratch(), 'started');
  it.each<[string, object]>([
    ['signal', { signal: new AbortController().signal }],
    ['input', { input: new PassThrough() }],
    ['output.stdout.to', { output: { stdout: { to: new Writable() } } }],
    ['output.stderr.to', { output: { stderr: { to: new Writable() } } }],
  ])('%s', (option, options) => {
    expect(thrown(() => runSync('touch', [file], options))).toMatchObject({
      name: 'SallyportTypeError',
      stagePath: option,
      message: expect.stringContaining('use run'),
    });
    expect(existsSync(file)).toBe(false);
  });

  it('a function that returns a promise: the run is ended', () => {
    const to = async (): Promise<void> => undefined;
    const options = { output: { stdout: { to } } } as unknown as RunSyncOptions;
    expect(thrown(() => runSync('yes', [], options)).message).toContain('returned a promise');
  });

  it('a function whose promise rejects: that ends no process', async () => {
    const message = await inNode(async ({ sallyport }) => {
      const to = async (): Promise<void> => {
        throw new Error('late');
      };
      let said = '';
      try {
        sallyport.runSync('echo', ['x'], { output: { stdout: { to } } });
      } catch (error) {
        said = (error as Error).message;
      }
      await new Promise((resolve) => setImmediate(resolve));
      return said;
    }, null);
    expect(message).toContain('returned a promise');
  });
});

it('takes back a launch that does not come to its program before the deadline', async () => {
  const kind = await inNode(async ({ sallyport, fixture: compiled, require, scratch }) => {
    const { copyFileSync } = require('node:fs') as typeof import('node:fs');
    const { spawn } = require('node:child_process') as typeof import('node:child_process');
    const program = `${scratch}/program`;
    copyFileSync(compiled('exit_fast'), program);
    const lease = spawn(compiled('lease'), [program], { stdio: ['pipe', 'pipe', 'inherit'] });
    await new Promise((resolve) => lease.stdout.once('data', resolve));
    const report = sallyport.runSync(program, [], { deadline: 300 });
    lease.kill('SIGKILL');
    return [report.outcome.kind, report.plan];
  }, null);
  expect(kind).toEqual(['deadline', null]);
});

it('waits without being busy', () => {
  const poll = vi.spyOn(native(), 'poll');
  try {
    runSync('sleep', ['1'], { deadline: 60_000 });
    // What happens in it, and a look at the init every 250 ms.
    expect(poll.mock.calls.length).toBeGreaterThan(2);
    expect(poll.mock.calls.length).toBeLessThan(30);
  } finally {
    poll.mockRestore();
  }
});

it.each(['main thread', 'Worker'])('works where 0, 1 and 2 are closed: %s', async (where) => {
  const seen = await inNode(async ({ root, require }, inWorker) => {
    const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
    // Closed for the whole process, and open again before Node itself needs them.
    const code = `
        const { closeSync, openSync } = require('node:fs');
        const { runSync } = require(${JSON.stringify(root)});
        for (const fd of [0, 1, 2]) closeSync(fd);
        const { output, complete } = runSync('sh', ['-c', 'echo out; echo err >&2; cat'], { input: 'in' });
        const reopened = [0, 1, 2].map(() => openSync('/dev/null', 'r+'));
        const answer = [output.stdout.text, output.stderr.text, complete, reopened];`;
    if (!inWorker) {
      const vm = require('node:vm') as typeof import('node:vm');
      const body = vm.runInThisContext(`(function (require) { ${code} return answer; })`) as (
        load: NodeJS.Require,
      ) => unknown;
      return body(require);
    }
    const post = `require('node:worker_threads').parentPort.postMessage(answer);`;
    // What it prints stays with it: the process has no 1 and 2 meanwhile.
    const worker = new Worker(code + post, { eval: true, stdout: true, stderr: true });
    return await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  }, where === 'Worker');
  expect(seen).toEqual(['out\nin', 'err\n', true, [0, 1, 2]]);
});

it('leaves nothing behind: no descriptor, no zombie, no timer', async () => {
  const seen = await inNode(async ({ sallyport, processes }) => {
    const each = (containment: 'init' | 'group'): void => {
      sallyport.runSync('sh', ['-c', 'cat; exit 1'], { containment, input: 'x'.repeat(100_000) });
      sallyport.runSync('no-such-program', [], { containment });
      sallyport.runSync('sleep', ['60'], { containment, deadline: 20 });
      sallyport.runSync('yes', [], { containment, output: { maxBytes: 100 } });
      sallyport.runSync('sh', ['-c', 'sleep 60 & :'], { containment, drain: 5 });
    };
    each('init');
    each('group');
    const before = processes.countBesidesSockets();
    let during = 0;
    sallyport.runSync('echo', ['line'], {
      output: { stdout: { to: () => ((during = processes.countBesidesSockets()), undefined) } },
    });
    for (let round = 0; round < 10; round += 1) {
      each('init');
      each('group');
    }
    const after = processes.countBesidesSockets();
    return { saw: during > before, left: after - before, children: processes.listChildren() };
  }, null);
  expect(seen).toEqual({ saw: true, left: 0, children: [] });
});

it('in a Worker that is terminated meanwhile: the run ends with it', async () => {
  const mark = randomUUID();
  const seen = await inNode(async ({ root, require, processes, fixture: compiled }, word) => {
    const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
    const code = `const { workerData } = require('node:worker_threads');
        require(workerData.root).runSync(workerData.tree, [workerData.word, 'setsid']);`;
    const workerData = { root, tree: compiled('tree'), word };
    const worker = new Worker(code, { eval: true, workerData });
    await processes.waitFor('the tree', () => processes.listMarked(word).length === 2);
    await worker.terminate();
    await processes.waitFor('its end', () => processes.listMarked(word).length === 0);
    return processes.listZombies();
  }, mark);
  expect(seen).toEqual([]);
});

it('in a Worker: no descriptor is left where it is terminated, and nothing is warned of', async () => {
  const mark = randomUUID();
  const { value, stderr } = await runScript(
    async ({ root, require, processes, fixture: compiled }, word) => {
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      const code = `const { workerData } = require('node:worker_threads');
        const { runSync } = require(workerData.root);
        const output = { stderr: { via: 'memfd' } };
        runSync('cat', { input: 'read', output });
        runSync(workerData.tree, [workerData.word, 'plain'], { input: 'unread', output });`;
      const workerData = { root, tree: compiled('tree'), word };
      const terminateOne = async () => {
        const worker = new Worker(code, { eval: true, workerData });
        await processes.waitFor('the tree', () => processes.listMarked(word).length === 2);
        await worker.terminate();
        await processes.waitFor('its end', () => processes.listMarked(word).length === 0);
      };
      // A lane may be started by the first.
      await terminateOne();
      const before = processes.countBesidesSockets();
      for (let count = 0; count < 3; count++) await terminateOne();
      await processes.waitFor('no more', () => processes.countBesidesSockets() <= before);
      return processes.listZombies();
    },
    mark,
  );
  expect(value).toEqual([]);
  expect(stderr).toBe('');
}, 30_000);

it('an init that its program stops or kills is noticed: lost, and ended from outside', async () => {
  for (const signal of ['KILL', 'STOP']) {
    const mark = randomUUID();
    const script = `"$0" "$1" setsid >/dev/null & kill -${signal} $PPID; exec "$0" "$1"`;
    const args = ['-c', script, fixture('tree'), mark];
    const report = runSync('sh', args, { deadline: 5_000, grace: 50 });
    await expectNobody(mark);
    expect([signal, report.outcome.kind]).toEqual([
      signal,
      signal === 'KILL' ? 'lost' : 'deadline',
    ]);
    expect(report.cleanup.survivors).toEqual([]);
  }
}, 30_000);

it('a descriptor table that is full is a refusal in the report', async () => {
  const kind = await inNode(
    async ({ sallyport, require }) => {
      const { closeSync, openSync } = require('node:fs') as typeof import('node:fs');
      sallyport.runSync('true');
      const opened: number[] = [];
      try {
        for (;;) opened.push(openSync('/dev/null', 'r'));
      } catch {
        // As many as there may be.
      }
      const { outcome } = sallyport.runSync('true');
      for (const fd of opened) closeSync(fd);
      return [outcome.kind, outcome.error?.code];
    },
    null,
    { wrap: ['prlimit', '--nofile=64:64'] },
  );
  expect(kind).toEqual(['spawn-failed', 'EMFILE']);
});

it('another user sees as much', async () => {
  const seen = await inNode(
    async ({ sallyport }) => {
      const { outcome, complete } = sallyport.runSync('sh', ['-c', 'id -u; sleep 60'], {
        stall: 200,
      });
      return [outcome.kind, outcome.stall?.processes.length, complete];
    },
    null,
    { unprivileged: true },
  );
  expect(seen).toEqual(['stalled', 2, false]);
});
