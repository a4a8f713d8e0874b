// `pipeSize`: how much the pipes of a child hold, and sizes that are refused.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import {
  describePlan,
  launch,
  planDigest,
  planLaunch,
  run,
  runSync,
  spawn,
} from '../../src/index.js';
import { thrown } from '../support/errors.js';
import { inNode } from '../support/node-script.js';
import { readAll } from '../support/processes.js';

/** F_GETPIPE_SZ of 0, 1 and 2, as the child itself has them; 0 for what is no pipe. */
const ask = `import fcntl, sys
def size(fd):
    try: return fcntl.fcntl(fd, 1032)
    except OSError: return 0
print(*[size(fd) for fd in (0, 1, 2)])`;

describe('what the child has', () => {
  const stdio = ['pipe', 'pipe', 'pipe'] as const;

  it.each([
    ['spawn', async () => spawn('python3', ['-c', ask], { stdio, pipeSize: 300_000 })],
    ['launch', () => launch('python3', ['-c', ask], { stdio, pipeSize: 300_000 })],
    [
      'spawn, directly',
      async () =>
        spawn('python3', ['-c', ask], { stdio, pipeSize: 300_000, noNewPrivileges: false }),
    ],
  ])('%s: rounded up to a power of two', async (_, start) => {
    const child = await start();
    expect(String(await readAll(child.stdout)).trim()).toBe('524288 524288 524288');
    await child.exited;
  });

  it('run and runSync, below an init', async () => {
    const options = { pipeSize: 4_096, input: '' };
    const report = await run('python3', ['-c', ask], options);
    expect(report.output.stdout.text.trim()).toBe('4096 4096 4096');
    expect(runSync('python3', ['-c', ask], options).output.stdout.text.trim()).toBe(
      '4096 4096 4096',
    );
  });

  it('without it: as the kernel has it', async () => {
    const { output } = await run('python3', ['-c', ask], { input: '' });
    expect(output.stdout.text.trim()).toBe('65536 65536 65536');
  });
});

it('is part of the plan, and of its digest where it was asked for', () => {
  const plain = planLaunch('true');
  const sized = planLaunch('true', { pipeSize: 4_096 });
  expect([plain.pipeSize, sized.pipeSize, describePlan(sized).pipeSize]).toEqual([
    null,
    4_096,
    4_096,
  ]);
  expect(planDigest(sized)).not.toBe(planDigest(plain));
});

it('a flood through a pipe of one page arrives whole, and the pipe keeps its size', async () => {
  const report = await run('head', ['-c', '3000000', '/dev/zero'], { pipeSize: 4_096 });
  expect(report.output.stdout.bytesSeen).toBe(3_000_000);
});

describe('a size that is refused is named, and nothing is started', () => {
  const most = Number(readFileSync('/proc/sys/fs/pipe-max-size', 'latin1'));

  it('by the kernel, for a user without privileges', async () => {
    const seen = await inNode(
      async ({ sallyport, processes }, size) => {
        const errors: unknown[] = [];
        const note = (error: unknown): void => {
          const { code, stage, stagePath, stageSource, message } =
            error as import('../../src/index.js').SallyportError;
          errors.push([code, stage, stagePath, stageSource, message.includes('fs.pipe-max-size')]);
        };
        const before = processes.countBesidesSockets();
        try {
          sallyport.spawn('true', { pipeSize: size });
        } catch (error) {
          note(error);
        }
        await sallyport.launch('true', { pipeSize: size }).catch(note);
        note((await sallyport.run('true', { pipeSize: size })).outcome.error);
        note(sallyport.runSync('true', { pipeSize: size }).outcome.error);
        return { errors, before: before > 0, children: processes.listChildren().length };
      },
      most * 2,
      { unprivileged: true },
    );
    const refusal = ['EPERM', 'pipeSize', String(most * 2), 'reported', true];
    expect(seen).toEqual({
      errors: [refusal, refusal, refusal, refusal],
      before: true,
      children: 0,
    });
  });

  it.each([
    [0, 'bytes from 1'],
    [1.5, 'bytes from 1'],
    ['64K', 'bytes from 1'],
    [2 ** 31, 'bytes from 1'],
  ])('by us: %s', (pipeSize, message) => {
    expect(thrown(() => spawn('true', { pipeSize: pipeSize as number }))).toMatchObject({
      stagePath: 'pipeSize',
      message: expect.stringContaining(message),
    });
  });

  it('by us: where there is no pipe', () => {
    const error = thrown(() => spawn('true', { stdio: 'null', pipeSize: 4_096 }));
    expect(error).toMatchObject({
      stagePath: 'pipeSize',
      message: expect.stringContaining('no channel'),
    });
  });
});
