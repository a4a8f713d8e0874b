// Containment by an init of the run's own; and what is done where that init is stopped or killed.
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

import type { Child } from '../launch/child.js';
import { launchTree, type InitEnd, type Tree } from '../launch/tree.js';
import type { Contain, Contained, SentSignal, TreeEnd } from './containment.js';
import { findHolders } from './holders.js';
import { pipeInode } from './pour.js';
import { listDescendants, listProcesses, readProcess, type ProcessFacts } from './processes.js';
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

export const containByInit: Contain = async (file, args, options, takeover) => {
  const begun = performance.now();
  return new InitRun(await launchTree(file, args, options, takeover), begun);
};

class InitRun implements Contained {
  readonly method = 'init';
  readonly child: Child;
  readonly ended: Promise<TreeEnd>;

  readonly #tree: Tree;
  /** Before anything of the run was started, by performance.now(). */
  readonly #begun: number;
  /** pid → start time: children of the init, as they were seen. */
  readonly #known = new Map<number, number>();
  readonly #released = new Map<number, number>();
  #timer: NodeJS.Timeout | undefined;
  #stoppedSince: number | undefined;
  /** When SIGKILL is due, by performance.now(). */
  #killAt = Infinity;
  #isOver = false;
  #isGivenUp = false;
  #killed = 0;
  #unkillable: ProcessFacts[] = [];

  constructor(tree: Tree, begun: number) {
    this.#tree = tree;
    this.#begun = begun;
    this.child = tree.child;
    this.ended = tree.ended.then((end) => this.#conclude(end));
    this.#lookLater(LOOK_INTERVAL);
  }

  end(grace: number): void {
    if (this.#isOver || this.#killAt !== Infinity) return;
    this.#killAt = performance.now() + grace;
    this.#tree.end(grace);
    this.#lookLater(HASTY_INTERVAL);
  }

  kill(): void {
    if (this.#isOver) return;
    this.#killAt = Math.min(this.#killAt, performance.now());
    this.#tree.kill();
    this.#lookLater(HASTY_INTERVAL);
  }

  release(pid: number): void {
    if (this.#isOver || this.#released.has(pid)) return;
    const member = this.#listBelow().find((process) => process.pid === pid);
    if (member === undefined) return;
    this.#released.set(pid, member.startTime);
    this.#tree.release(pid);
  }

  #lookLater(interval: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#look();
    }, interval);
    this.#timer.unref();
  }

  #look(): void {
    if (this.#isOver || this.#isGivenUp) return;
    const now = performance.now();
    const state = readProcess(this.#tree.initPid)?.state;
    this.#noteAdopted();
    // Whoever may signal the program's init, or trace it, has its user: the program itself.
    if (state === 'T' || state === 't') this.#stoppedSince ??= now;
    else this.#stoppedSince = undefined;
    const stopped = now - (this.#stoppedSince ?? now);
    if (stopped > STOPPED_PATIENCE || now - this.#killAt > KILLING_PATIENCE) {
      void this.#giveUp();
      return;
    }
    if (this.#stoppedSince !== undefined) this.#tree.wake();
    const isUrgent = this.#killAt !== Infinity || this.#stoppedSince !== undefined;
    this.#lookLater(isUrgent ? HASTY_INTERVAL : LOOK_INTERVAL);
  }

  /**
   * A process whose parents have ended can be told from a stranger's as long as the init is there. Who
   * was passed over while others ended, proc_tid_children(5), is found by a later look.
   */
  #noteAdopted(): void {
    if (this.#known.size > MOST_KNOWN) this.#forgetEnded();
    for (const pid of readChildren(this.#tree.initPid)) {
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
  async #giveUp(): Promise<void> {
    this.#isGivenUp = true;
    const { killed, left } = await killAll(() => this.#listBelow(), UNKILLABLE_AFTER);
    this.#killed += killed;
    this.#unkillable = left;
    this.#tree.abandon();
  }

  #listBelow(): ProcessFacts[] {
    const all = listProcesses();
    const free = new Set(this.#released.keys());
    for (const { pid } of listDescendants(all, free)) free.add(pid);
    const below = listDescendants(all, new Set([this.#tree.initPid]));
    return below.filter(({ pid, alive }) => alive && !free.has(pid));
  }

  async #conclude(end: InitEnd): Promise<TreeEnd> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    const signalled = end.signalled.filter(({ processes }) => processes > 0).map(toSent);
    const released = [...end.released];
    let left: ProcessFacts[] = [];
    if (!end.empty) {
      for (const { pid, startTime } of this.#unkillable) this.#known.set(pid, startTime);
      const found = await killAll(() => this.#listLost(), UNKILLABLE_AFTER);
      this.#killed += found.killed;
      left = found.left;
    }
    if (this.#killed > 0)
      signalled.push({ signal: 'SIGKILL', at: 'kill', processes: this.#killed });
    // An init that did all it could, and was given up for what it cannot kill, has lost nothing.
    const lost = this.#isGivenUp ? this.#stoppedSince !== undefined : !end.empty;
    const survivors = describeSurvivors(left);
    return { signalled, survivors, released, lost, treeUsage: end.usage };
  }

  #listLost(): ProcessFacts[] {
    const traces = {
      target: this.child.pid,
      since: toTicks(this.#begun),
      known: this.#known,
      released: this.#released,
    };
    const members = listMembers(traces);
    if (members.length > 0) return members;
    // Whoever can write to a pipe of the run, and was not there before it, has it from the run.
    const inodes = [pipeInode(this.child.stdout), pipeInode(this.child.stderr)];
    const { holders } = findHolders(inodes.filter((inode) => inode !== undefined));
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
export function readChildren(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
