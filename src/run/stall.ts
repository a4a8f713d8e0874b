// Notices a run that does nothing: no output, and next to no processor time or file traffic.
import { readFileSync } from 'node:fs';

import type { Timers } from '../launch/timers.js';
import { readExecutable, type ProcessFacts } from './processes.js';
import { RunTree } from './run-tree.js';
import { unlessShort, withSpares } from './spare.js';

/** One process of a run that stood still. */
export interface StalledProcess {
  /** Process id. */
  readonly pid: number;
  /** Its path, or null. */
  readonly executable: string | null;
  /** One letter, proc_pid_stat(5). */
  readonly state: string;
  /** What it waits for in the kernel; empty where that is not shown. */
  readonly wchan: string;
  /** Milliseconds of processor time since the last sign of life of the run. */
  readonly cpuMs: number;
}

/** What the processes of a run did when it stood still. */
export interface StallEvidence {
  /** Milliseconds since the last output. */
  readonly lastOutputMs: number;
  /** Milliseconds since the last output or progress. */
  readonly silentMs: number;
  /** Each process of the run. */
  readonly processes: readonly StalledProcess[];
}

/** Less than this share of one processor is waiting, not working: timers and heartbeats use as much. */
const PROGRESS_SHARE = 0.01;
/** Less than so many bytes read and written likewise. */
const PROGRESS_BYTES = 4096;
/** How often it is looked within the time. */
const LOOKS = 4;

interface Sample {
  readonly at: number;
  readonly cpu: ReadonlyMap<number, number>;
  readonly bytes: number;
  /** Somebody computes or would, and has to wait for a processor. */
  readonly isRunnable: boolean;
  readonly members: readonly ProcessFacts[];
}

/** How late a look may come before we count as having stood still ourselves, in milliseconds. */
const LATE = 250;

/** @returns a function that ends the watch */
export function watchForStall(
  target: number,
  limit: number,
  channels: ReadonlyArray<{ readonly lastOutput: number }>,
  timers: Timers,
  onStall: (evidence: StallEvidence) => void,
): () => void {
  const tree = new RunTree(target);
  let base = unlessShort(() => sample(tree)) ?? {
    at: performance.now(),
    cpu: new Map(),
    bytes: 0,
    isRunnable: true,
    members: [],
  };
  let alive = base.at;
  const lastOutput = (): number => Math.max(...channels.map((channel) => channel.lastOutput));

  const look = (): void => {
    const now = unlessShort(() => sample(tree));
    if (now === undefined) {
      // It cannot be told, and whoever cannot be seen is not ended for standing still.
      alive = performance.now();
      lookLater();
      return;
    }
    // Whoever stopped us (^Z) stopped the run as well: that is no stall.
    if (now.at - due > LATE) alive += now.at - due;
    const output = lastOutput();
    if (output > alive || isProgress(base, now)) {
      // Output came some time before this look, progress by now.
      alive = isProgress(base, now) ? now.at : output;
      base = now;
    } else if (now.at - alive >= limit) {
      onStall({
        lastOutputMs: Math.round(now.at - output),
        silentMs: Math.round(now.at - alive),
        processes: describe(now.members, base),
      });
      return;
    }
    lookLater();
  };
  let due: number;
  let callOff: () => void;
  const lookLater = (): void => {
    const now = performance.now();
    const pause = Math.max(1, Math.min(limit / LOOKS, alive + limit - now));
    due = now + pause;
    callOff = timers.after(pause, look);
  };
  lookLater();
  return () => {
    callOff();
  };
}

function isProgress(before: Sample, after: Sample): boolean {
  if (after.isRunnable) return true;
  let cpu = 0;
  for (const [pid, used] of after.cpu) cpu += used - (before.cpu.get(pid) ?? 0);
  const share = cpu / Math.max(1, after.at - before.at);
  return share >= PROGRESS_SHARE || after.bytes - before.bytes >= PROGRESS_BYTES;
}

function sample(tree: RunTree): Sample {
  const cpu = new Map<number, number>();
  let bytes = 0;
  let isRunnable = false;
  const members = tree.members();
  for (const { pid, cpuMs, state } of members) {
    cpu.set(pid, cpuMs);
    bytes += readTraffic(pid);
    isRunnable ||= state === 'R';
  }
  return { at: performance.now(), cpu, bytes, isRunnable, members };
}

function describe(members: readonly ProcessFacts[], before: Sample): StalledProcess[] {
  return members.map(({ pid, state, cpuMs }) => ({
    pid,
    executable: readExecutable(pid),
    state,
    wchan: readWaitChannel(pid),
    cpuMs: cpuMs - (before.cpu.get(pid) ?? 0),
  }));
}

function readTraffic(pid: number): number {
  const text = readOf(pid, 'io');
  return [...text.matchAll(/^[rw]char: (\d+)$/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
}

function readWaitChannel(pid: number): string {
  const text = readOf(pid, 'wchan');
  return text === '0' ? '' : text;
}

/** '' where the process is gone, or another user's. */
function readOf(pid: number, what: string): string {
  try {
    return withSpares(() => readFileSync(`/proc/${pid}/${what}`, 'latin1'));
  } catch {
    return '';
  }
}
