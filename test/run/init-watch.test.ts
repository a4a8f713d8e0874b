// What is said of a run whose init could not end it, and that was ended from outside.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';

import type { Timers } from '../../src/launch/timers.js';
import type { TreeEnd } from '../../src/run/containment.js';
import { InitWatch } from '../../src/run/init-watch.js';
import { hasEnded, listChildren, waitFor } from '../support/processes.js';

afterEach(() => {
  vi.restoreAllMocks();
});

it('what was killed from outside is told, although the init saw the end before us', async () => {
  // Stands for an init that does not see its child.
  const script = 'sleep 60 & echo; wait';
  const init = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(init.stdout, 'data');
  const initPid = init.pid!;
  const [program] = listChildren(initPid);
  const begun = performance.now();

  const waiting: (() => void)[] = [];
  const timers: Timers = {
    after: (_, callback) => {
      waiting.push(callback);
      return () => waiting.splice(0, waiting.length, ...waiting.filter((it) => it !== callback));
    },
  };
  const nothing = (): void => undefined;
  const control = { end: nothing, kill: nothing, release: nothing, wake: nothing };
  const abandoned = vi.fn();
  const ends: TreeEnd[] = [];
  const watch = new InitWatch(
    {
      init: { ...control, abandon: abandoned },
      initPid,
      target: program!.pid,
      begun,
      group: undefined,
      pipes: () => [],
    },
    timers,
    (end) => ends.push(end),
  );
  watch.kill();
  // Longer than an init may take to kill.
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 6_000);
  for (let turn = 0; turn < 1_000 && !hasEnded(program!.pid); turn += 1) waiting.shift()?.();
  await waitFor('the end of the program', () => hasEnded(program!.pid));
  watch.initEnded({ empty: true, signalled: [], released: [], usage: null });
  expect(ends).toEqual([]);
  for (let turn = 0; turn < 1_000 && ends.length === 0; turn += 1) waiting.shift()?.();
  expect(ends).toMatchObject([
    { signalled: [{ signal: 'SIGKILL', at: 'kill', processes: 1 }], survivors: [], lost: false },
  ]);
  expect(abandoned).not.toHaveBeenCalled();
  init.kill('SIGKILL');
});
