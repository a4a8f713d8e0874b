// Watches over the init of a run; what is done where it is stopped, or killed, or can do no more.
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

import type { InitEnd } from '../launch/init-link.js';
import type { Timers } from '../launch/timers.js';
import type { SentSignal, TreeEnd } from './containment.js';
import { findHolders } from './holders.js';
import { listDescendants, listProcesses, readProcess, type ProcessFacts } from './processes.js';
import type { RunCgroup } from './run-cgroup.js';
import { unlessShort, withSpares } from './spare.js';
import { describeSurvivors, killAll, listMembers } from './walk.js';

/** Milliseconds between two looks at the init: whether it goes on, and whom it has adopted. */
const LOOK_INTERVAL = 250;
/** The same while it ends the run. */
const HASTY_INTERVAL = 50;
/** An init that was found stopped for so long, however often it was continued, is given up. */
const STOPPED_PATIENCE = 2_000;
/** How long an init may take over killing before it is looked at what it cannot kill. */
const KILLING_PATIENCE = 5_000;
/** How long after SIGKILL a process counts as one that cannot be ended. */
const UNKILLABLE_AFTER = 2_000;
/** Of more adopted processes than this, those that have ended are forgotten. */
const MOST_KNOWN = 4_096;
/** Clock ticks a second in /proc, and how far its clock and ours may be apart, in ticks. */
const TICKS = 100;
const TOLERANCE = 3;

/** What can be told to an init. */
export interface InitControl {
  end(grace: number): void;
  kill(): void;
  release(pid: number): void;
  /** A program may stop its own init, having the same user. */
  wake(): void;
  /** SIGKILL to the init itself. */
  abandon(): void;
}

/** A run below an init. */
export interface InitRunFacts {
  readonly init: InitControl;
  readonly initPid: number;
  /** Pid of the program. */
  readonly target: number;
  /** Before anything of the run was started, by performance.now(). */
  readonly begun: number;
  /** The control group that the program was born in. */
  readonly group: RunCgroup | undefined;
  /** st_ino of the pipes from the run that are still open here. */
  readonly pipes: () => readonly bigint[];
}

export class InitWatch {
  readonly #run: InitRunFacts;
  readonly #timers: Timers;
  readonly #over: (end: TreeEnd) => void;
  /** pid → start time: children of the init, as they were seen. */
  readonly #known = new Map<number, number>();
  readonly #released = new Map<number, number>();
  #callOff: (() => void) | undefined;
  #stoppedSince: number | undefined;
  /** When SIGKILL is due, by performance.now(). */
  #killAt = Infinity;
  #isOver = false;
  #isGivenUp = false;
  #killed = 0;
  #unkillable: ProcessFacts[] = [];
  /** While what is below it is killed from outside: what is to be done then. */
  #afterKilling: (() => void) | undefined;

  /** @param over called once, when nothing of the run is left, or what is left cannot be ended */
  constructor(run: InitRunFacts, timers: Timers, over: (end: TreeEnd) => void) {
    this.#run = run;
    this.#timers = timers;
    this.#over = over;
    this.#lookLater(LOOK_INTERVAL);
  }

  end(grace: number): void {
    if (this.#isOver || this.#killAt !== Infinity) return;
    this.#killAt = performance.now() + grace;
    this.#run.init.end(grace);
    this.#lookLater(HASTY_INTERVAL);
  }

  kill(): void {
    if (this.#isOver) return;
    this.#killAt = Math.min(this.#killAt, performance.now());
    this.#run.init.kill();
    this.#lookLater(HASTY_INTERVAL);
  }

  release(pid: number): void {
    if (this.#isOver || this.#released.has(pid)) return;
    const member = this.#listBelow().find((process) => process.pid === pid);
    if (member === undefined) return;
    this.#released.set(pid, member.startTime);
    this.#run.init.release(pid);
    this.#run.group?.release(pid);
  }

  #lookLater(interval: number): void {
    this.#callOff?.();
    this.#callOff = this.#timers.after(interval, () => {
      this.#look();
    });
  }

  #look(): void {
    if (this.#isOver || this.#isGivenUp) return;
    const now = performance.now();
    const seen = unlessShort(() => {
      const init = readProcess(this.#run.initPid);
      this.#noteAdopted();
      return { state: init?.state };
    });
    if (seen === undefined) {
      this.#lookLater(LOOK_INTERVAL);
      return;
    }
    const { state } = seen;
    // Whoever may signal the program's init, or trace it, has its user: the program itself.
    if (state === 'T' || state === 't') this.#stoppedSince ??= now;
    else this.#stoppedSince = undefined;
    const stopped = now - (this.#stoppedSince ?? now);
    if (stopped > STOPPED_PATIENCE || now - this.#killAt > KILLING_PATIENCE) {
      this.#giveUp();
      return;
    }
    // One that /proc does not show (hidepid, proc(5): it is not dumpable) may be stopped as well.
    if (this.#stoppedSince !== undefined || state === undefined) this.#run.init.wake();
    const isUrgent = this.#killAt !== Infinity || this.#stoppedSince !== undefined;
    this.#lookLater(isUrgent ? HASTY_INTERVAL : LOOK_INTERVAL);
  }

  /**
   * A process whose parents have ended can be told from a stranger's as long as the init is there. Who
   * was passed over while others ended, proc_tid_children(5), is found by a later look.
   */
  #noteAdopted(): void {
    if (this.#known.size > MOST_KNOWN) this.#forgetEnded();
    for (const pid of readChildren(this.#run.initPid)) {
      if (this.#known.has(pid)) continue;
      const facts = readProcess(pid);
      if (facts?.alive === true) this.#known.set(pid, facts.startTime);
    }
  }

  #forgetEnded(): void {
    for (const [pid, startTime] of this.#known) {
      if (readProcess(pid)?.startTime !== startTime) this.#known.delete(pid);
    }
  }

  /** While the init is there, stopped or not, nothing of the run can be anywhere but below it. */
  #giveUp(): void {
    this.#isGivenUp = true;
    this.#afterKilling = () => {
      this.#run.init.abandon();
    };
    const list = (): ProcessFacts[] => this.#listBelow();
    killAll(list, UNKILLABLE_AFTER, this.#timers, ({ killed, left }) => {
      this.#killed += killed;
      this.#unkillable = left;
      const next = this.#afterKilling;
      this.#afterKilling = undefined;
      next?.();
    });
  }

  #listBelow(): ProcessFacts[] {
    const all = listProcesses();
    const free = new Set(this.#released.keys());
    for (const { pid } of listDescendants(all, free)) free.add(pid);
    const below = listDescendants(all, new Set([this.#run.initPid]));
    return below.filter(({ pid, alive }) => alive && !free.has(pid));
  }

  /** It has been reaped, whatever became of the run. */
  initEnded(end: InitEnd): void {
    this.#isOver = true;
    this.#callOff?.();
    if (this.#afterKilling === undefined) {
      this.#finish(end);
      return;
    }
    // It saw the last one go before we did, and how many were killed is not yet known.
    this.#afterKilling = () => {
      this.#finish(end);
    };
  }

  #finish(end: InitEnd): void {
    if (end.empty) {
      this.#emptyGroup(end, []);
      return;
    }
    for (const { pid, startTime } of this.#unkillable) this.#known.set(pid, startTime);
    const list = (): ProcessFacts[] => this.#listLost();
    killAll(list, UNKILLABLE_AFTER, this.#timers, ({ killed, left }) => {
      this.#killed += killed;
      this.#emptyGroup(end, left);
    });
  }

  #emptyGroup(end: InitEnd, left: readonly ProcessFacts[]): void {
    const { group } = this.#run;
    if (group === undefined) {
      this.#conclude(end, left, {});
      return;
    }
    group.finish(this.#timers, ({ killed, left: inGroup, peak }) => {
      this.#killed += killed;
      const pids = new Set(left.map(({ pid }) => pid));
      this.#conclude(end, [...left, ...inGroup.filter(({ pid }) => !pids.has(pid))], { peak });
    });
  }

  #conclude(end: InitEnd, left: readonly ProcessFacts[], peak: Pick<TreeEnd, 'peak'>): void {
    const signalled = end.signalled.filter(({ processes }) => processes > 0).map(toSent);
    if (this.#killed > 0) {
      signalled.push({ signal: 'SIGKILL', at: 'kill', processes: this.#killed });
    }
    this.#over({
      signalled,
      survivors: describeSurvivors(left),
      released: [...end.released],
      lost: this.#isLost(end, left),
      treeUsage: end.usage,
      ...peak,
    });
  }

  /** An init that did all it could, and was given up for what it cannot kill, has lost nothing. */
  #isLost({ empty }: InitEnd, left: readonly ProcessFacts[]): boolean {
    if (this.#isGivenUp && this.#stoppedSince !== undefined) return true;
    return !empty && !(this.#isGivenUp && left.length > 0);
  }

  #listLost(): ProcessFacts[] {
    const traces = {
      target: this.#run.target,
      since: toTicks(this.#run.begun),
      known: this.#known,
      released: this.#released,
    };
    for (const { pid, startTime } of this.#run.group?.listMembers() ?? []) {
      this.#known.set(pid, startTime);
    }
    const members = listMembers(traces);
    if (members.length > 0) return members;
    // Whoever can write to a pipe of the run, and was not there before it, has it from the run.
    const { holders } = findHolders(this.#run.pipes());
    for (const { pid } of [...holders.values()].flat()) {
      const facts = readProcess(pid);
      if (facts === undefined || facts.startTime < traces.since) continue;
      // Another child of ours may have it until its exec, where lanes share our table.
      if (facts.ppid === process.pid && process.pid !== 1) continue;
      this.#known.set(pid, facts.startTime);
    }
    return listMembers(traces);
  }
}

/** What /proc counts in, no later than that time of performance.now(). */
function toTicks(time: number): number {
  const ago = (performance.now() - time) / 1_000;
  return Math.floor((uptime() - ago) * TICKS) - TOLERANCE;
}

function toSent({ signal, processes }: { signal: string; processes: number }): SentSignal {
  return { signal, at: signal === 'SIGKILL' ? 'kill' : 'end', processes };
}

/** Empty on a kernel without CONFIG_PROC_CHILDREN. */
function readChildren(pid: number): number[] {
  try {
    const text = withSpares(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1'));
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
