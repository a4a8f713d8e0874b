// Containment by an init for a run without the event loop; and what is done where that init is lost.
import { fstatSync } from 'node:fs';
import { constants, uptime } from 'node:os';

import { publishExit, publishLaunch } from '../launch/diagnostics.js';
import { toResourceUsage, type ExitStatus, type InitReport } from '../launch/events.js';
import { COMMAND, decodeExit, REPORT } from '../launch/init-protocol.js';
import type { SyncStarted, SyncWait } from '../launch/sync-wait.js';
import { native } from '../native.js';
import type { LaunchPlan } from '../plan/plan.js';
import { signalName } from '../signals.js';
import type { SentSignal, TreeEnd } from './containment.js';
import { findHolders } from './holders.js';
import { readChildren } from './init.js';
import { listDescendants, listProcesses, readProcess, type ProcessFacts } from './processes.js';
import type { SyncContained } from './sync-containment.js';
import { describeSurvivors, listMembers } from './walk.js';

const { SIGCONT, SIGKILL } = constants.signals;

/** Milliseconds between two looks at the init: whether it goes on, and whom it has adopted. */
const LOOK_INTERVAL = 250;
/** The same while it ends the run, or while the run is ended in its place. */
const HASTY_INTERVAL = 50;
/** An init that was found stopped for so long, however often it was continued, is given up. */
const STOPPED_PATIENCE = 2_000;
/** How long an init may take over killing before it is looked at what it cannot kill. */
const KILLING_PATIENCE = 10_000;
/** How long after SIGKILL a process counts as one that cannot be ended. */
const UNKILLABLE_AFTER = 2_000;
/** Clock ticks a second in /proc, and how far its clock and ours may be apart, in ticks. */
const TICKS = 100;
const TOLERANCE = 3;

export class SyncInit implements SyncContained {
  readonly plan: LaunchPlan;
  readonly pid: number;
  readonly ours: readonly number[];
  status: ExitStatus | null = null;
  ended: TreeEnd | null = null;

  readonly #id: number;
  readonly #initPid: number;
  readonly #wait: SyncWait;
  /** Before anything of the run was started, by performance.now(). */
  readonly #begun: number;
  readonly #signalled: SentSignal[] = [];
  /** st_ino of each pipe from the run. */
  readonly #inodes: readonly bigint[];
  /** pid → start time: the children of the init when it was last looked at. */
  #known = new Map<number, number>();
  #programEnded = false;
  #empty: InitReport | null = null;
  #reaped = false;
  #silent = false;
  #killAt = Infinity;
  #stoppedSince: number | undefined;
  #isGivenUp = false;
  #callOff: (() => void) | undefined;

  constructor({ plan, launched }: SyncStarted, wait: SyncWait, begun: number) {
    this.plan = plan;
    this.pid = launched.program;
    this.ours = launched.ours;
    this.#id = launched.id;
    this.#initPid = launched.pid;
    this.#wait = wait;
    this.#begun = begun;
    this.#inodes = launched.ours.map((fd) => fstatSync(fd, { bigint: true }).ino);
    publishLaunch(this);
    this.#lookLater(LOOK_INTERVAL);
    wait.expectReports(launched.id, {
      receiveReport: (report) => {
        this.#receive(report);
      },
    });
    wait.expectExit(launched.id, {
      receiveExit: () => {
        this.#reaped = true;
        this.#finish();
      },
    });
  }

  end(grace: number): void {
    if (this.ended !== null || this.#killAt !== Infinity) return;
    this.#killAt = performance.now() + grace;
    native().commandInit(this.#id, COMMAND.end, grace);
    this.#lookLater(HASTY_INTERVAL);
  }

  abandon(): void {
    native().commandInit(this.#id, COMMAND.kill, 0);
  }

  #receive(report: InitReport): void {
    switch (report.kind) {
      case REPORT.exited:
        this.#tellExit(report);
        break;
      case REPORT.signalled:
        if (report.pid > 0) this.#signalled.push(toSent(report));
        break;
      case REPORT.empty:
        this.#empty = report;
        break;
      case REPORT.silent:
        this.#silent = true;
        this.#finish();
    }
  }

  /** @param report null: the init has gone and nobody knows how the program ended, or whether */
  #tellExit(report: InitReport | null): void {
    if (this.#programEnded) return;
    this.#programEnded = true;
    const { code, signal, coreDumped } =
      report === null ? { code: null, signal: null, coreDumped: false } : decodeExit(report);
    this.status = {
      code,
      signal: signal === null ? null : signalName(signal),
      coreDumped,
      lost: report === null,
      resourceUsage: toResourceUsage(report?.usage ?? []),
    };
    publishExit(this, this.status);
  }

  #lookLater(interval: number): void {
    this.#callOff?.();
    this.#callOff = this.#wait.after(interval, () => {
      this.#look();
    });
  }

  #look(): void {
    const now = performance.now();
    const state = readProcess(this.#initPid)?.state;
    // Whoever may signal the program's init, or trace it, has its user: the program itself.
    if (state === 'T' || state === 't') {
      this.#stoppedSince ??= now;
      native().signal(this.#id, SIGCONT);
    } else {
      this.#stoppedSince = undefined;
      this.#noteAdopted();
    }
    const stoppedFor = now - (this.#stoppedSince ?? now);
    if (stoppedFor > STOPPED_PATIENCE || now - this.#killAt > KILLING_PATIENCE) {
      this.#isGivenUp = true;
      // While it is there, stopped or not, nothing of the run can be anywhere but below it.
      this.#killAll(
        () => this.#listBelow(),
        (left) => {
          for (const { pid, startTime } of left) this.#known.set(pid, startTime);
          native().signal(this.#id, SIGKILL);
        },
      );
      return;
    }
    const isUrgent = this.#killAt !== Infinity || this.#stoppedSince !== undefined;
    this.#lookLater(isUrgent ? HASTY_INTERVAL : LOOK_INTERVAL);
  }

  /** A process whose parents have ended can be told from a stranger's as long as the init is there. */
  #noteAdopted(): void {
    const known = new Map<number, number>();
    for (const pid of readChildren(this.#initPid)) {
      const startTime = this.#known.get(pid) ?? readProcess(pid)?.startTime;
      if (startTime !== undefined) known.set(pid, startTime);
    }
    this.#known = known;
  }

  #listBelow(): ProcessFacts[] {
    const below = listDescendants(listProcesses(), new Set([this.#initPid]));
    return below.filter(({ alive }) => alive);
  }

  #finish(): void {
    if (!this.#reaped || !this.#silent) return;
    this.#callOff?.();
    this.#tellExit(null);
    if (this.#empty !== null) {
      this.#conclude([], false, toResourceUsage(this.#empty.usage));
      return;
    }
    // An init that did all it could has lost nothing.
    const lost = !this.#isGivenUp || this.#stoppedSince !== undefined;
    const elapsed = (performance.now() - this.#begun) / 1_000;
    const since = Math.floor((uptime() - elapsed) * TICKS) - TOLERANCE;
    const released = new Map<number, number>();
    this.#killAll(
      () => {
        this.#noteHolders(since);
        const traces = { target: this.pid, since, known: this.#known, released };
        const members = listMembers(traces);
        // Each that was seen once: what it forks before it is killed is found below it no more.
        for (const { pid, startTime } of members) this.#known.set(pid, startTime);
        return members;
      },
      (left) => {
        this.#conclude(left, lost, null);
      },
    );
  }

  /** Whoever can write to a pipe of the run, and was not there before it, has it from the run. */
  #noteHolders(since: number): void {
    for (const { pid } of [...findHolders(this.#inodes).holders.values()].flat()) {
      const facts = readProcess(pid);
      if (facts !== undefined && facts.startTime >= since) this.#known.set(pid, facts.startTime);
    }
  }

  #conclude(left: readonly ProcessFacts[], lost: boolean, treeUsage: TreeEnd['treeUsage']): void {
    const survivors = describeSurvivors(left);
    this.ended = { signalled: this.#signalled, survivors, released: [], lost, treeUsage };
  }

  /** As `killAll` of walk.ts, by the timers of the wait. */
  #killAll(list: () => ProcessFacts[], done: (left: readonly ProcessFacts[]) => void): void {
    const until = performance.now() + UNKILLABLE_AFTER;
    const killed = new Set<number>();
    let empty = 0;
    const look = (): void => {
      const left = list();
      // Twice nothing: a process that was forked during a look may have been passed over.
      empty = left.length === 0 ? empty + 1 : 0;
      if (empty === 2 || performance.now() > until) {
        const processes = killed.size;
        if (processes > 0) this.#signalled.push({ signal: 'SIGKILL', at: 'kill', processes });
        done(left);
        return;
      }
      for (const { pid, startTime } of left) {
        if (native().signalProcess(pid, startTime, SIGKILL) === 0) killed.add(pid);
      }
      this.#wait.after(HASTY_INTERVAL / 2, look);
    };
    look();
  }
}

function toSent({ status, pid }: InitReport): SentSignal {
  const signal = signalName(status);
  return { signal, at: signal === 'SIGKILL' ? 'kill' : 'end', processes: pid };
}
