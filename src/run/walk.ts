// The processes of a run that has lost its init, found and ended from outside, through /proc.
import { constants } from 'node:os';

import type { Timers } from '../launch/timers.js';
import type { Survivor } from './containment.js';
import {
  listDescendants,
  listProcesses,
  readExecutable,
  readProcess,
  signalProcess,
  type ProcessFacts,
} from './processes.js';
import { unlessShort } from './spare.js';

/** Milliseconds between two looks at what is left, doubled each time. */
const FIRST_PAUSE = 2;
const LONGEST_PAUSE = 40;
/** How long processes are waited for that have been told to stop: some are in the kernel. */
const STOPPING = 200;

const { SIGKILL, SIGSTOP } = constants.signals;

/** What is known of a run by those who look at it from outside. */
export interface Traces {
  /** Of the program. Its number is that of its session and its process group. */
  readonly target: number;
  /** Clock ticks since boot, before anything of the run was started. */
  readonly since: number;
  /** pid → start time: of the run, wherever its parents have gone. */
  readonly known: ReadonlyMap<number, number>;
  /** pid → start time: these, and what is below them, have left the run. */
  readonly released: ReadonlyMap<number, number>;
}

/**
 * Every living process that is of the run for certain: what is known, what is below it, and whoever
 * is in a session that began in the run. A session is entered by being born in it, or begun.
 */
export function listMembers({ target, since, known, released }: Traces): ProcessFacts[] {
  const all = listProcesses();
  const ownSession = readProcess(process.pid)?.sid ?? 0;
  const byPid = new Map(all.map((facts) => [facts.pid, facts]));
  const isSame = (pid: number, startTime: number): boolean =>
    byPid.get(pid)?.startTime === startTime;

  const free = new Set<number>();
  for (const [pid, startTime] of released) if (isSame(pid, startTime)) free.add(pid);
  for (const { pid } of listDescendants(all, new Set(free))) free.add(pid);

  const members = new Set<number>();
  for (const [pid, startTime] of known) if (isSame(pid, startTime)) members.add(pid);
  // Unless somebody else has come to the number meanwhile.
  const holdsNumber = (byPid.get(target)?.startTime ?? since) >= since;
  const ofTarget = ({ pid, sid, pgid, startTime }: ProcessFacts): boolean =>
    startTime >= since && (pid === target || sid === target || pgid === target);
  for (const facts of all) if (holdsNumber && ofTarget(facts)) members.add(facts.pid);

  for (let before = -1; before !== members.size;) {
    before = members.size;
    for (const { pid } of listDescendants(all, members)) members.add(pid);
    const sessions = new Set<number>();
    for (const pid of members) sessions.add(byPid.get(pid)?.sid ?? 0);
    sessions.delete(ownSession);
    sessions.delete(0);
    for (const { pid, sid } of all) if (sessions.has(sid)) members.add(pid);
  }
  return all.filter(({ pid, alive }) => alive && members.has(pid) && !free.has(pid));
}

/**
 * SIGKILL to all that `list` gives, by pidfd, until it gives nothing. All are stopped first: a parent
 * that is killed at once leaves a child of the last moment that nothing ties to it.
 *
 * @param time milliseconds after which what is still there counts as what cannot be ended
 * @param done called once, perhaps at once
 */
export function killAll(
  list: () => ProcessFacts[],
  time: number,
  timers: Timers,
  done: (found: Killed) => void,
): void {
  stopAll(list, timers, () => {
    const until = performance.now() + time;
    const killed = new Set<number>();
    // Twice nothing: a process that was forked during a look may have been passed over.
    let empty = 0;
    const look = (pause: number): void => {
      const left = unlessShort(list);
      if (left === undefined) {
        timers.after(LONGEST_PAUSE, () => {
          look(pause);
        });
        return;
      }
      empty = left.length === 0 ? empty + 1 : 0;
      for (const { pid } of signalAll(left, SIGKILL)) killed.add(pid);
      // Waiting does not help against another user's.
      const isHopeless = left.length > 0 && left.every(isForbidden);
      if (empty === 2 || isHopeless || performance.now() > until) {
        done({ killed: killed.size, left });
      } else {
        timers.after(pause, () => {
          look(Math.min(pause * 2, LONGEST_PAUSE));
        });
      }
    };
    look(FIRST_PAUSE);
  });
}

export interface Killed {
  /** How many were sent SIGKILL. */
  readonly killed: number;
  readonly left: ProcessFacts[];
}

/** Until none runs that may be stopped, or for as long as is worth while. */
function stopAll(list: () => ProcessFacts[], timers: Timers, done: () => void): void {
  const until = performance.now() + STOPPING;
  const look = (): void => {
    const running = (unlessShort(list) ?? []).filter(({ state }) => !'TtZX'.includes(state));
    const isOver = signalAll(running, SIGSTOP).length === 0 || performance.now() > until;
    if (isOver) done();
    else timers.after(FIRST_PAUSE, look);
  };
  look();
}

function signalAll(processes: readonly ProcessFacts[], signal: number): ProcessFacts[] {
  return processes.filter((each) => signalProcess(each, signal) === 0);
}

function isForbidden(process: ProcessFacts): boolean {
  return signalProcess(process, 0) === constants.errno.EPERM;
}

export function describeSurvivors(left: readonly ProcessFacts[]): Survivor[] {
  return left.map(({ pid, state }) => ({ pid, executable: readExecutable(pid), state }));
}
