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

/** A watch whose timers come when they are told to, over an init that obeys nothing. */
function watchOver(initPid: number, target: number) {
  const waiting = new Set<() => void>();
  const timers: Timers = {
    after: (_, call) => {
      waiting.add(call);
      return () => waiting.delete(call);
    },
  };
  const nothing = (): void => undefined;
  const wake = vi.fn();
  const abandon = vi.fn();
  const ends: TreeEnd[] = [];
  const watch = new InitWatch(
    {
      init: { end: nothing, kill: nothing, release: nothing, wake, abandon },
      initPid,
      target,
      begun: performance.now(),
      group: undefined,
      pipes: () => [],
    },
    timers,
    (end) => ends.push(end),
  );
  /** Until it is so, or nothing is waited for any more. */
  const turn = (isOver: () => boolean): void => {
    for (let turns = 0; turns < 1_000 && !isOver(); turns += 1) {
      const [call] = waiting;
      if (call === undefined) return;
      waiting.delete(call);
      call();
    }
  };
  return { watch, wake, abandon, ends, turn };
}

/** What stands for an init does not see its child, and took longer than it may to kill it. */
async function giveUp() {
  const init = spawn('sh', ['-c', 'sleep 60 & echo; read _'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  await once(init.stdout, 'data');
  const [program] = listChildren(init.pid);
  const watched = watchOver(init.pid ?? 0, program?.pid ?? 0);
  watched.watch.kill();
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 6_000);
  watched.turn(() => hasEnded(program?.pid ?? 0));
  await waitFor('the end of the program', () => hasEnded(program?.pid ?? 0));
  return { init, ...watched };
}

const killed = [{ signal: 'SIGKILL', at: 'kill', processes: 1 }];
const silent = { signalled: [], released: [], usage: null };

it('what was killed from outside is told, although the init saw the end before us', async () => {
  const { init, watch, ends, turn, abandon } = await giveUp();
  watch.initEnded({ ...silent, empty: true });
  expect(ends).toEqual([]);
  turn(() => ends.length > 0);
  expect(ends).toMatchObject([{ signalled: killed, survivors: [], lost: false }]);
  expect(abandon).not.toHaveBeenCalled();
  init.kill('SIGKILL');
});

it('an init that was given up has not seen that nothing is left', async () => {
  const { init, watch, ends, turn, abandon } = await giveUp();
  turn(() => abandon.mock.calls.length > 0);
  init.kill('SIGKILL');
  await once(init, 'exit');
  watch.initEnded({ ...silent, empty: false });
  turn(() => ends.length > 0);
  expect(ends).toMatchObject([{ signalled: killed, survivors: [], lost: true }]);
});

it('an init that /proc does not show is continued, should it be stopped', () => {
  // Above the highest that there can be.
  const { wake, turn } = watchOver(2 ** 22 + 1, 2 ** 22 + 2);
  turn(() => wake.mock.calls.length > 0);
  expect(wake).toHaveBeenCalled();
});
