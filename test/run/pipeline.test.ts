// Stages side by side, with pipes of the kernel between them.
import { beforeAll, describe, expect, it } from 'vitest';

import { runPipeline } from '../../src/index.js';
import { countBesidesSockets, waitFor } from '../support/processes.js';
import { contained } from './support.js';

/** Streams close a turn after they were told to. */
async function expectDescriptors(before: number): Promise<void> {
  await waitFor('the streams to close', () => countBesidesSockets() === before);
}

// Lanes, and what is loaded once.
beforeAll(() => runPipeline([['true'], ['true']], contained));

describe('runPipeline', () => {
  it('leads from stage to stage, from input to output', async () => {
    const before = countBesidesSockets();
    const report = await runPipeline([['cat'], ['grep', ['9']], ['wc', ['-l']]], {
      ...contained,
      input: Array.from({ length: 100 }, (_, index) => `${index}\n`).join(''),
    });
    expect(report.output.stdout.text.trim()).toBe('19');
    expect(report).toMatchObject({ failed: null, complete: true });
    expect(report.stages.map(({ outcome }) => outcome.code)).toEqual([0, 0, 0]);
    expect(report.stages[0]?.output.stdout.observed).toBe(false);
    expect(report.stages[1]?.inheritance.descriptors[0]?.object?.kind).toBe('pipe');
    await expectDescriptors(before);
  });

  it('ends by itself when a later stage has enough', async () => {
    const report = await runPipeline([['yes'], ['head', ['-n', '2']]], contained);
    expect(report.output.stdout.text).toBe('y\ny\n');
    expect(report.stages[0]?.outcome).toMatchObject({ kind: 'signaled', signal: 'SIGPIPE' });
    expect(report.failed).toBe(0);
  });

  it('names the last stage that failed, and has the status of each', async () => {
    const fail = (code: number) => ['sh', ['-c', `cat; exit ${code}`]] as const;
    const report = await runPipeline([fail(3), fail(4), fail(0)], contained);
    expect(report.failed).toBe(1);
    expect(report.stages.map(({ outcome }) => outcome.code)).toEqual([3, 4, 0]);
  });

  it('a stage that cannot be started leaves the others an end', async () => {
    const report = await runPipeline([['yes'], ['no-such-program'], ['wc', ['-c']]], contained);
    expect(report.stages.map(({ outcome }) => outcome.kind)).toEqual([
      'signaled',
      'spawn-failed',
      'exited',
    ]);
    expect(report.output.stdout.text.trim()).toBe('0');
  });

  it('a deadline ends every stage; stages may say otherwise', async () => {
    const report = await runPipeline(
      [
        ['sleep', ['60']],
        ['cat', [], { deadline: 50 }],
      ],
      {
        ...contained,
        deadline: 100,
      },
    );
    expect(report.stages.map(({ outcome }) => outcome.kind)).toEqual(['deadline', 'deadline']);
  });

  it('a mistake in one stage rejects, once the others have been ended', async () => {
    const before = countBesidesSockets();
    const running = runPipeline(
      [
        ['sleep', ['60']],
        ['cat', [5 as never]],
      ],
      contained,
    );
    await expect(running).rejects.toMatchObject({ stagePath: 'args[0]' });
    await expectDescriptors(before);
  });

  it.each([[[]], [['cat']], ['cat'], [[[]]]])('refuses %j', async (stages) => {
    await expect(runPipeline(stages as never, contained)).rejects.toBeInstanceOf(TypeError);
  });
});
