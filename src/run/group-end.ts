// The end of a session and process group: asked to go, then killed, until nothing of it is left.
import { constants } from 'node:os';

import type { Timers } from '../launch/timers.js';
import type { SentSignal, Survivor, TreeEnd } from './containment.js';
import {
  listDescendants,
  listProcesses,
  readExecutable,
  signalProcess,
  type ProcessFacts,
} from './processes.js';
import { unlessShort } from './spare.js';

const { SIGTERM, SIGCONT, SIGKILL } = constants.signals;

/** Milliseconds between two looks at what is left, doubled each time. */
const FIRST_LOOK = 5;
const LONGEST_PAUSE = 80;

/** How long after SIGKILL a process counts as one that cannot be ended, in milliseconds. */
const UNKILLABLE_AFTER = 2_000;

/** The process that leads the group. It stays a zombie until the group is over. */
export interface Leader {
  readonly pid: number;
  /** Whether it leads a session as well. */
  readonly ownsSession: boolean;
  /** To all of its process group at once. */
  signalGroup(signal: number): void;
  releaseZombie(): void;
}

/**
 * The leader is not reaped before the run is over. So its number is taken, and whoever has it as
 * session or group is of this run, however late the look.
 */
export class GroupEnd {
  readonly #leader: Leader;
  readonly #timers: Timers;
  readonly #over: (end: TreeEnd) => void;
  readonly #signalled: SentSignal[] = [];
  /** pid → start time. */
  readonly #released = new Map<number, number>();
  #exited = false;
  #isOver = false;
  /** When SIGKILL is due, by performance.now(). */
  #killAt = Infinity;
  #killedAt = Infinity;
  #pause = FIRST_LOOK;
  #callOff: (() => void) | undefined;

  /** @param over called once, when nothing of it is left, or what is left cannot be ended */
  constructor(leader: Leader, timers: Timers, over: (end: TreeEnd) => void) {
    this.#leader = leader;
    this.#timers = timers;
    this.#over = over;
  }

  /** The leader has ended. */
  leaderExited(): void {
    this.#exited = true;
    this.#look();
  }

  /** SIGTERM and SIGCONT, SIGKILL after so many milliseconds. */
  end(grace: number): void {
    if (this.#isOver || this.#killAt !== Infinity) return;
    this.#killAt = performance.now() + grace;
    const processes = this.#signal(SIGTERM);
    // A stopped process gets nothing but SIGKILL and SIGCONT.
    this.#signal(SIGCONT);
    this.#signalled.push({ signal: 'SIGTERM', at: 'end', processes });
    this.#lookLater();
  }

  kill(): void {
    if (this.#isOver) return;
    this.#killAt = Math.min(this.#killAt, performance.now());
    this.#look();
  }

  release(pid: number): void {
    const member = this.#members().find((process) => process.pid === pid);
    if (member !== undefined) this.#released.set(pid, member.startTime);
  }

  #look(): void {
    if (this.#isOver) return;
    this.#callOff?.();
    const left = unlessShort(() => this.#members());
    if (left === undefined) {
      if (performance.now() >= this.#killAt) this.#signalGroup(SIGKILL);
      this.#lookLater();
      return;
    }
    if (this.#exited && left.length === 0) {
      this.#finish([]);
      return;
    }
    const now = performance.now();
    if (now >= this.#killAt) {
      if (this.#killedAt === Infinity) {
        this.#killedAt = now;
        this.#signalled.push({ signal: 'SIGKILL', at: 'kill', processes: left.length });
      }
      if (now - this.#killedAt > UNKILLABLE_AFTER) {
        this.#finish(left);
        return;
      }
      // Each time: what was forked between the listing and the signal is found by the next look.
      this.#signal(SIGKILL);
    }
    if (this.#killAt !== Infinity) this.#lookLater();
  }

  #lookLater(): void {
    const untilKill = Math.max(0, this.#killAt - performance.now());
    const pause = this.#killedAt === Infinity ? Math.min(this.#pause, untilKill) : this.#pause;
    this.#callOff?.();
    this.#callOff = this.#timers.after(pause, () => {
      this.#look();
    });
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }

  #members(): ProcessFacts[] {
    const { pid: leader, ownsSession } = this.#leader;
    const processes = listProcesses();
    const members = processes.filter(
      ({ pid, pgid, sid, alive }) =>
        alive &&
        (pgid === leader || (ownsSession && sid === leader)) &&
        !(this.#exited && pid === leader),
    );
    if (this.#released.size === 0) return members;
    const gone = processes.filter(({ pid, startTime }) => this.#released.get(pid) === startTime);
    const free = new Set(gone.map(({ pid }) => pid));
    for (const { pid } of listDescendants(processes, free)) free.add(pid);
    return members.filter(({ pid }) => !free.has(pid));
  }

  /** @returns how many there were to hear it */
  #signal(signal: number): number {
    const members = unlessShort(() => this.#members()) ?? [];
    // The group first: the kernel signals all of it at once, and no fork gets away. With somebody
    // released in it, one by one.
    const asGroup = this.#released.size === 0;
    if (asGroup) this.#signalGroup(signal);
    for (const member of members) {
      if (asGroup && member.pgid === this.#leader.pid) continue;
      signalProcess(member, signal);
    }
    return members.length;
  }

  #signalGroup(signal: number): void {
    try {
      this.#leader.signalGroup(signal);
    } catch {
      // All of the group run as somebody else by now (EPERM): they will be among the survivors.
    }
  }

  #finish(left: readonly ProcessFacts[]): void {
    this.#isOver = true;
    this.#leader.releaseZombie();
    const survivors: Survivor[] = left.map(({ pid, state }) => ({
      pid,
      executable: readExecutable(pid),
      state,
    }));
    const released = [...this.#released.keys()];
    this.#over({
      signalled: this.#signalled,
      survivors,
      released,
      lost: false,
      treeUsage: null,
    });
  }
}
