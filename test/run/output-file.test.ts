// Channels that are files: a memfd or one by its path. Whoever ends early loses nothing.
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import {
  run,
  runSync,
  type OutputVia,
  type RunOptions,
  type RunReport,
  type RunSyncOptions,
} from '../../src/index.js';
import { makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { type Witness, witness } from '../support/witness.js';

const scratch = makeScratch();
let made = 0;
const newFile = (): string => path.join(scratch, `out-${String(++made)}`);

const forms: ReadonlyArray<
  readonly [string, (file: string, args: string[], options: RunOptions) => Promise<RunReport>]
> = [
  ['run', (file, args, options) => run(file, args, options)],
  ['runSync', async (file, args, options) => runSync(file, args, options as RunSyncOptions)],
];

describe.each(forms)('%s', (_, start) => {
  it.each<[string, () => OutputVia]>([
    ['memfd', () => 'memfd'],
    ['a file', () => ({ file: newFile() })],
  ])(
    'via %s: everything of a Node program that exits with output in its queue',
    async (_name, make) => {
      const script = 'process.stdout.write("x".repeat(10_000_000)); process.exit(3)';
      const env = { PATH: path.dirname(process.execPath) };
      // By a pipe it is lost: what a test of this must be able to see.
      const lossy = await start('node', ['-e', script], { env });
      expect(lossy.output.stdout.bytesSeen).toBeLessThan(10_000_000);
      const via = make();
      const report = await start('node', ['-e', script], { env, output: { stdout: { via } } });
      const whole = Buffer.alloc(10_000_000, 'x');
      expect(report.outcome).toMatchObject({ kind: 'exited', code: 3 });
      expect(report.output.stdout).toMatchObject({
        observed: true,
        bytesSeen: whole.length,
        sha256: createHash('sha256').update(whole).digest('hex'),
        end: 'eof',
        heldBy: [],
      });
      expect(report.output.stdout.data.equals(whole)).toBe(true);
      expect(report.complete).toBe(true);
      if (typeof via === 'object') expect(statSync(via.file).size).toBe(whole.length);
    },
  );

  it('both channels, each its own; and merged, in true order', async () => {
    const script = 'echo 1; echo 2 >&2; echo 3; echo 4 >&2';
    const file = newFile();
    const output = { stdout: { via: 'memfd' }, stderr: { via: { file } } } as const;
    const report = await start('sh', ['-c', script], { output });
    expect([report.output.stdout.text, report.output.stderr.text]).toEqual(['1\n3\n', '2\n4\n']);
    expect(readFileSync(file, 'utf8')).toBe('2\n4\n');
    const merged = await start('sh', ['-c', script], {
      output: { merge: true, stdout: { via: 'memfd' } },
    });
    expect(merged.output.stdout.text).toBe('1\n2\n3\n4\n');
    expect(merged.notTested.join()).not.toContain('stderr');
    expect(merged.complete).toBe(true);
  });

  it('the program has it for writing at its end alone', async () => {
    const report = await start(witness, [], { output: { stdout: { via: 'memfd' } } });
    const { descriptors } = JSON.parse(report.output.stdout.text) as Witness;
    expect(descriptors.map(({ fd }) => fd)).toEqual([0, 1, 2]);
    expect(descriptors[1]!.link).toMatch(/^\/memfd:sallyport-stdout-/);
    const about = await start('cat', ['/proc/self/fdinfo/1'], {
      output: { stdout: { via: 'memfd' } },
    });
    const flags = Number.parseInt(/flags:\s+([0-7]+)/.exec(about.output.stdout.text)?.[1] ?? '', 8);
    expect([flags & 3, flags & 0o2000, flags & 0o4000]).toEqual([1, 0o2000, 0]);
  });

  it('the limit ends the program; exactly so much is kept', async () => {
    const output = { stdout: { via: { file: newFile() }, maxBytes: 1_000 } } as const;
    // 100 MB at the most, should nobody end it.
    const report = await start('head', ['-c', '100000000', '/dev/urandom'], { output });
    const slow = await start('sh', ['-c', 'head -c 2000 /dev/zero; exec sleep 60'], { output });
    expect(report.output.stdout.bytesKept).toBe(1_000);
    expect(slow.outcome.kind).toBe('output-limit');
    expect(slow.output.stdout).toMatchObject({
      bytesSeen: 2_000,
      bytesKept: 1_000,
      end: 'truncated',
    });
  });

  it('what is kept may be the end, and the rest stays in the file', async () => {
    const file = newFile();
    const kept = { maxBytes: 6, keep: 'tail', onExceed: 'truncate-and-continue' } as const;
    const report = await start('seq', ['100'], { output: { stdout: { via: { file }, ...kept } } });
    expect(report.output.stdout.text).toBe('9\n100\n');
    expect(readFileSync(file, 'utf8')).toHaveLength(292);
    expect(report.outcome.kind).toBe('exited');
  });

  it('of more than can be read, holes say: it is cut once the run is being ended', async () => {
    const report = await start('truncate', ['-s', '4T', '/proc/self/fd/1'], {
      deadline: 200,
      output: { stdout: { via: 'memfd', maxBytes: 10 } },
    });
    expect(report.outcome).toMatchObject({ kind: 'deadline', code: 0 });
    expect(report.output.stdout).toMatchObject({ end: 'cut', bytesKept: 10 });
    expect(report.complete).toBe(false);
  });

  it('output counts as life: no stall while it grows', async () => {
    const script = 'for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.1; done';
    const report = await start('sh', ['-c', script], {
      stall: 2_000,
      output: { stdout: { via: 'memfd' } },
    });
    expect(report.outcome.kind).toBe('exited');
    const still = await start('sh', ['-c', 'echo a; sleep 60'], {
      stall: 200,
      output: { stdout: { via: 'memfd' } },
    });
    expect(still.outcome.kind).toBe('stalled');
    expect(still.output.stdout.text).toBe('a\n');
  });

  it('who has left the run and may still write is named', async () => {
    const options = { containment: 'group', output: { stdout: { via: 'memfd' } } } as const;
    // It has left the session before the program ends: the file says so.
    const leaver = `setsid sh -c 'echo $$; exec sleep 60' & until [ -s /proc/$$/fd/1 ]; do :; done`;
    const report = await start('sh', ['-c', leaver], { ...options, drain: 0 });
    const [holder] = report.output.stdout.heldBy;
    try {
      expect(report.output.stdout.end).toBe('held');
      expect(holder).toMatchObject({
        fd: 1,
        executable: expect.stringMatching(/sleep|sh$|setsid|coreutils|busybox/),
      });
      expect(report.complete).toBe(false);
    } finally {
      if (holder !== undefined) process.kill(holder.pid, 'SIGKILL');
    }
  });

  it('what cannot be one is refused before the start', async () => {
    const link = newFile();
    symlinkSync('/dev/full', link);
    const fifo = newFile();
    execFileSync('mkfifo', [fifo]);
    for (const [file, code] of [
      ['/srv/missing/x', 'ENOENT'],
      ['/etc', 'EISDIR'],
      [link, 'EINVAL'],
      [fifo, 'EINVAL'],
    ] as const) {
      const marker = newFile();
      const report = await start('touch', [marker], { output: { stderr: { via: { file } } } });
      expect(report.outcome).toMatchObject({
        kind: 'spawn-failed',
        error: { code, stage: 'descriptor', stagePath: file },
      });
      expect(() => statSync(marker)).toThrow('ENOENT');
    }
  });
});

it.each<[string, object, string]>([
  ['output.stdout.via', { output: { stdout: { via: 'disk' } } }, "'memfd'"],
  ['output.stdout.via', { output: { stdout: { via: { file: '' } } } }, '{ file }'],
  ['output.stdout.to', { output: { stdout: { via: 'memfd', to: '/x' } } }, 'left out'],
  [
    'output.stderr.onExceed',
    { output: { stderr: { via: 'memfd', onExceed: 'truncate-and-continue' } } },
    'memfd',
  ],
  [
    'stdio[1]',
    { stdio: ['null', 'inherit', 'pipe'], output: { stdout: { via: 'memfd' } } },
    'left out',
  ],
  ['stdio[2]', { stdio: 'inherit', output: { stderr: { via: 'memfd' } } }, 'left out'],
])('a mistake in %s', async (option, options, message) => {
  await expect(run('true', [], options)).rejects.toMatchObject({
    name: 'SallyportTypeError',
    stagePath: option,
    message: expect.stringContaining(message),
  });
});

it('leaves no descriptor', async () => {
  const seen = await inNode(async ({ sallyport, processes, scratch: folder }) => {
    const once = async (): Promise<void> => {
      for (const via of ['memfd', { file: `${folder}/out` }] as const) {
        const output = { stdout: { via }, stderr: { via: 'memfd' } } as const;
        await sallyport.run('echo', ['hi'], { output });
        sallyport.runSync('echo', ['hi'], { output });
        await sallyport.run('no-such-program', [], { output });
        sallyport.runSync('no-such-program', [], { output });
        await sallyport.run('true', [], {
          output: { stdout: { via }, stderr: { via: { file: '/etc' } } },
        });
      }
    };
    await once();
    const before = processes.countBesidesSockets();
    for (let round = 0; round < 10; round += 1) await once();
    return processes.countBesidesSockets() - before;
  }, null);
  expect(seen).toBe(0);
});
