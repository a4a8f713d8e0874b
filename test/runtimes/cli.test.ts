// The command line under each runtime.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

import { onEachRuntime } from '../support/runtimes.js';
import { COMMAND_LINE, prepareConsumer } from './consumer.js';

const consumer = prepareConsumer();
writeFileSync(path.join(consumer.directory, 'config'), 'configured\n');

onEachRuntime((runtime) => {
  const sallyport = (...words: string[]): ReturnType<typeof consumer.run> =>
    consumer.run(runtime, [COMMAND_LINE, ...words], { input: 'typed\n' });

  it.each([
    ['exit code', ['run', '--quiet', '--', 'sh', '-c', 'echo out; exit 3'], 3, 'out\n'],
    ['stdin', ['run', 'cat'], 0, 'typed\n'],
    [
      'environment',
      ['run', '--env', 'WITNESS', '--', 'sh', '-c', 'echo "${TREE-none}"'],
      0,
      'none\n',
    ],
    ['supervised', ['run', '--deadline', '30s', 'cat'], 0, 'typed\n'],
  ])('run: %s', async (_, words, code, stdout) => {
    expect(await sallyport(...words)).toEqual({ code, signal: null, stdout, stderr: '' });
  });

  it('run: a deadline, a missing program, a wrong option', async () => {
    const late = await sallyport('run', '--deadline', '200ms', 'sleep', '60');
    expect([late.code, late.stderr]).toEqual([
      125,
      expect.stringContaining('ended at its deadline'),
    ]);
    const missing = await sallyport('run', 'no-such-program');
    expect([missing.code, missing.stderr]).toEqual([127, expect.stringContaining('ENOENT')]);
    const wrong = await sallyport('run', '--no-such-option', 'true');
    expect([wrong.code, wrong.stderr]).toEqual([125, expect.stringContaining('--no-such-option')]);
  });

  it('run: a signal goes to the program, whose end is ours', async () => {
    const { code, signal } = await consumer.run(
      runtime,
      [COMMAND_LINE, 'run', '--', 'sh', '-c', 'echo ready; exec sleep 60'],
      {
        onOutput: (_, pid) => {
          process.kill(pid, 'SIGTERM');
        },
      },
    );
    expect([code, signal]).toEqual([128 + 15, null]);
  });

  it('run: a descriptor by the shell', async () => {
    const line = `exec "$0" "$@" 5<config`;
    const [file, ...args] = runtime.command;
    const words = [file, ...args, COMMAND_LINE, 'run', '--pass', '5=3', 'head', '-1', '/dev/fd/3'];
    const shell = { ...runtime, command: ['sh', '-c', line] as const };
    expect(await consumer.run(shell, words)).toMatchObject({ code: 0, stdout: 'configured\n' });
  });

  it('run --explain, audit, env', async () => {
    const explained = await sallyport('run', '--explain', 'true');
    expect([explained.code, explained.stdout]).toEqual([0, expect.stringContaining('/true')]);
    const audited = await sallyport('audit', '--json', String(process.pid));
    expect(JSON.parse(audited.stdout)).toMatchObject({ processes: [{ pid: process.pid }] });
    expect((await sallyport('env')).stdout).toContain('variables here would be inherited');
  });
});
