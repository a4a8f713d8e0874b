// Waits without the event loop: for descriptors, for times, for what becomes of launches and children.
import { systemError } from '../errors.js';
import { adviseLimit } from '../limits.js';
import {
  EVENT_EXIT,
  EVENT_REPORT,
  isFailure,
  type NativeLaunchEvent,
  type NativeFailure,
  type SyncEvents,
} from '../native-binding.js';
import { native } from '../native.js';
import { withoutPrototype } from '../own-properties.js';
import type { ExitReceiver, ReportReceiver } from './events.js';
import { toExitStatus, toInitReport, toOutcome, type Launched } from './outcomes.js';
import { keepEvidence } from './evidence.js';
import { launchError } from './failure.js';
import { withRequest } from './request.js';
import type { RawOptions } from '../plan/options.js';
import type { LaunchPlan } from '../plan/plan.js';
import type { Call } from '../plan/route.js';
import type { Timers } from './timers.js';

/** poll(2) on Linux. POLLERR and POLLHUP are told without being asked for. */
export const POLLIN = 1;
export const POLLOUT = 4;

/** A Worker that is being terminated ends when a native call returns: so long at most, in ms. */
const LONGEST_WAIT = 1_000;

/** How long is waited for what became of a launch that was taken back, in milliseconds. */
const TAKEN_BACK_WITHIN = 500;

interface Watched {
  readonly events: number;
  readonly call: (events: number) => void;
}

interface Timer {
  readonly due: number;
  readonly call: () => void;
}

/** A program that runs, started without the event loop. */
export interface SyncStarted {
  readonly plan: LaunchPlan;
  readonly launched: Launched;
}

export interface SyncLaunchOptions {
  /** Asked meanwhile: true takes the launch back. */
  readonly isWithdrawn: () => boolean;
  /** Once it has ended it stays a zombie until `releaseZombie`. */
  readonly keepsZombie?: boolean;
  /** Absolute path of a cgroup v2 that the program is born in; '' is our own. */
  readonly cgroup?: string;
}

/**
 * One wait, with what it waits for. Everything is called from within `turn` and `until`, in this
 * thread; signals and whatever else the event loop would bring have to wait until it is over.
 */
export class SyncWait implements Timers {
  /** Where what is started for this wait tells of its end. */
  readonly events: SyncEvents;
  readonly #ready: number;
  readonly #watched = new Map<number, Watched>();
  readonly #timers = new Set<Timer>();
  readonly #launches = new Map<number, (outcome: Launched | NativeFailure) => void>();
  readonly #exits = new Map<number, ExitReceiver>();
  readonly #reports = new Map<number, ReportReceiver>();
  /** What came before somebody expected it, by id. */
  readonly #early = new Map<number, NativeLaunchEvent[]>();

  private constructor(events: SyncEvents, ready: number) {
    this.events = events;
    this.#ready = ready;
  }

  static open(): SyncWait | NativeFailure {
    const opened = native().openSyncEvents();
    return isFailure(opened) ? opened : new SyncWait(...opened);
  }

  /** @throws {SallyportError} stage `descriptor` */
  static openFor(file: string): SyncWait {
    const opened = SyncWait.open();
    if (!isFailure(opened)) return opened;
    throw systemError(opened.errno, 'eventfd', adviseLimit(opened.errno), {
      syscall: `spawn ${file}`,
      path: file,
      stage: 'descriptor',
      stageSource: 'reported',
    });
  }

  /** What has not been heard of by now is taken back or ended. */
  close(): void {
    native().closeSyncEvents(this.events);
  }

  /**
   * Starts a program from a lane and waits until it runs.
   *
   * @returns null: it was taken back
   * @throws {SallyportTypeError | SallyportError} as `launch` does
   */
  launch(
    call: Call,
    file: unknown,
    args: unknown,
    raw: RawOptions,
    given: SyncLaunchOptions,
  ): SyncStarted | null {
    const { isWithdrawn, keepsZombie = false, cgroup = '' } = withoutPrototype(given);
    if (isWithdrawn()) return null;
    const [plan, job] = withRequest(
      call,
      file,
      args,
      raw,
      (made, request) => {
        const begun = native().launch(...request(), made.noNewPrivileges, this.events, keepsZombie);
        if (isFailure(begun)) throw launchError(made, begun);
        return [made, begun] as const;
      },
      cgroup,
    );
    let outcome: Launched | NativeFailure | undefined;
    this.#launches.set(job, (heard) => {
      outcome = heard;
    });
    this.until(() => outcome !== undefined || isWithdrawn());
    if (outcome === undefined) {
      native().cancelLaunch(job);
      // An exec may hang for ever where the file system does: then it is ended when the wait is closed.
      this.untilOr(() => outcome !== undefined, TAKEN_BACK_WITHIN);
    }
    if (outcome === undefined) return null;
    if (isFailure(outcome)) {
      if (isWithdrawn()) return null;
      throw launchError(plan, outcome);
    }
    keepEvidence(plan, outcome.evidence);
    return { plan, launched: outcome };
  }

  expectExit(id: number, receiver: ExitReceiver): void {
    this.#exits.set(id, receiver);
    this.#deliverEarly(id);
  }

  expectReports(id: number, receiver: ReportReceiver): void {
    this.#reports.set(id, receiver);
    this.#deliverEarly(id);
  }

  /** Calls whenever the descriptor is ready for one of `events`, or hung up, until `unwatch`. */
  watch(fd: number, events: number, call: (events: number) => void): void {
    this.#watched.set(fd, { events, call });
  }

  unwatch(fd: number): void {
    this.#watched.delete(fd);
  }

  /** Our end of a pipe that was there before: closed with the wait, as those are that a launch opens. */
  ownDescriptor(fd: number): void {
    native().ownSyncDescriptor(this.events, fd);
  }

  /**
   * Our end of a pipe, which came with a launch or is owned. Not by node:fs: a Worker warns of descriptors that it
   * did not open there, and loses them where it is terminated.
   */
  closeDescriptor(fd: number): void {
    this.#watched.delete(fd);
    native().closeSyncDescriptor(this.events, fd);
  }

  after(milliseconds: number, call: () => void): () => void {
    const timer = { due: performance.now() + milliseconds, call };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** Until it is so, for ever where it never is; asked after everything that happens. */
  until(isSo: () => boolean): void {
    while (!isSo()) this.turn();
  }

  /** @returns whether it came to be so within that time */
  untilOr(isSo: () => boolean, milliseconds: number): boolean {
    let isLate = false;
    const callOff = this.after(milliseconds, () => {
      isLate = true;
    });
    this.until(() => isLate || isSo());
    callOff();
    return isSo();
  }

  /** Waits for the next thing to happen, and handles all that has. */
  turn(): void {
    const watched = [...this.#watched];
    const entries = new Int32Array(3 * (watched.length + 1));
    entries.set([this.#ready, POLLIN]);
    for (const [index, [fd, { events }]] of watched.entries()) {
      entries.set([fd, events], 3 * (index + 1));
    }
    native().poll(entries, this.#timeLeft());
    if (entries[2] !== 0) {
      for (const event of native().takeSyncEvents(this.events)) this.#deliver(event);
    }
    for (const [index, [fd, entry]] of watched.entries()) {
      const seen = entries[3 * (index + 1) + 2] ?? 0;
      // Whoever was called before may have given it up.
      if (seen !== 0 && this.#watched.get(fd) === entry) entry.call(seen);
    }
    this.#callDue();
  }

  /** Rounded up: a poll that ends before the time would be repeated with 0. */
  #timeLeft(): number {
    let due = Infinity;
    for (const timer of this.#timers) due = Math.min(due, timer.due);
    return Math.max(0, Math.min(LONGEST_WAIT, Math.ceil(due - performance.now())));
  }

  #callDue(): void {
    const now = performance.now();
    for (const timer of [...this.#timers]) {
      if (timer.due <= now && this.#timers.delete(timer)) timer.call();
    }
  }

  #deliver(event: NativeLaunchEvent): void {
    if (event[0] === EVENT_EXIT) {
      const receiver = this.#exits.get(event[1]);
      this.#exits.delete(event[1]);
      if (receiver === undefined) this.#keepEarly(event);
      else receiver.receiveExit(toExitStatus(event));
    } else if (event[0] === EVENT_REPORT) {
      const receiver = this.#reports.get(event[1]);
      if (receiver === undefined) this.#keepEarly(event);
      else receiver.receiveReport(toInitReport(event));
    } else {
      const receive = this.#launches.get(event[1]);
      this.#launches.delete(event[1]);
      receive?.(toOutcome(event));
    }
  }

  #keepEarly(event: NativeLaunchEvent): void {
    const before = this.#early.get(event[1]);
    if (before === undefined) this.#early.set(event[1], [event]);
    else before.push(event);
  }

  #deliverEarly(id: number): void {
    const events = this.#early.get(id) ?? [];
    this.#early.delete(id);
    // What is not expected even now goes back to the others.
    for (const event of events) this.#deliver(event);
  }
}
