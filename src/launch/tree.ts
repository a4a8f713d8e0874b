// Launches a program below an init that keeps all its descendants together, and ends them.
import { constants } from 'node:os';

import { isFailure, native, type NativeRequest } from '../native.js';
import type { RawOptions } from '../plan/options.js';
import type { LaunchPlan } from '../plan/plan.js';
import { signalName } from '../signals.js';
import { awaitLaunch } from './await-launch.js';
import type { OutputOpener } from './channels.js';
import { abortError, type Cancellation } from './cancellation.js';
import { Child } from './child.js';
import {
  countReference,
  expectExit,
  expectReports,
  listenForEvents,
  toResourceUsage,
  type ExitReceiver,
  type InitReport,
  type Launched,
  type ResourceUsage,
} from './events.js';
import { launchError } from './failure.js';
import { COMMAND, decodeExit, REPORT } from './init-protocol.js';
import type { ProcessLink } from './process-link.js';
import { withRequest } from './request.js';
import { takeSupervision } from './supervision.js';

const { ESRCH } = constants.errno;
const { SIGCONT, SIGKILL } = constants.signals;

export interface SentSignal {
  readonly signal: NodeJS.Signals;
  /** How many processes it was sent to. */
  readonly processes: number;
}

/** How a tree ended. */
export interface InitEnd {
  /** The init saw that no descendant is left. False: it was killed before it could. */
  readonly empty: boolean;
  readonly signalled: readonly SentSignal[];
  readonly released: readonly number[];
  /** Of all processes of the tree that were reaped; null where the init could not say. */
  readonly usage: ResourceUsage | null;
}

export interface Tree {
  /** The program itself. Its exit is not the end of the tree. */
  readonly child: Child;
  readonly initPid: number;
  /** Resolves when the init has been reaped; never rejects. */
  readonly ended: Promise<InitEnd>;
  /** SIGTERM and SIGCONT to every descendant, SIGKILL to what is left after `grace` milliseconds. */
  end(grace: number): void;
  /** SIGKILL to every descendant, until none is left. */
  kill(): void;
  /** This process leaves the tree on purpose: it is neither ended nor waited for. */
  release(pid: number): void;
  /** A program may stop its own init, having the same user. */
  wake(): void;
  /** SIGKILL to the init itself: whatever it held together goes its own way. */
  abandon(): void;
}

/** How the program is to be taken over, and where it is born. */
export interface TreeOptions {
  readonly openOutput?: OutputOpener | undefined;
  /** Takes the launch back, and nothing after that. */
  readonly cancellation?: Cancellation | undefined;
  /** Absolute path of a cgroup v2; '' is our own. */
  readonly cgroup?: string;
}

/**
 * As `launch`, below an init of its own. When this process ends, however it does, the init kills all
 * that is left.
 *
 * @throws {SallyportTypeError | SallyportError} as `launch` does
 */
export async function launchTree(
  file: unknown,
  args: unknown,
  raw: RawOptions,
  { openOutput, cancellation, cgroup = '' }: TreeOptions = {},
): Promise<Tree> {
  const supervision = takeSupervision(raw);
  const signal = cancellation ?? supervision.signal;
  const start = (plan: LaunchPlan, request: () => NativeRequest): Promise<Tree> => {
    if (signal?.aborted === true) throw abortError(signal);
    listenForEvents();
    const job = native().launch(...request(), plan.noNewPrivileges);
    if (isFailure(job)) throw launchError(plan, job);
    return awaitLaunch(
      job,
      plan,
      signal,
      (launched) => new InitTree(plan, launched, supervision.killSignal, openOutput),
    );
  };
  return withRequest('run', file, args, raw, start, cgroup);
}

class InitTree implements Tree {
  readonly child: Child;
  readonly initPid: number;
  readonly ended: Promise<InitEnd>;

  readonly #id: number;
  readonly #signalled: SentSignal[] = [];
  readonly #released: number[] = [];
  #resolveEnded!: (end: InitEnd) => void;
  #exitReceiver: ExitReceiver | null = null;
  #programEnded = false;
  #empty: InitReport | null = null;
  #reaped = false;
  #silent = false;

  constructor(
    plan: LaunchPlan,
    init: Launched,
    killSignal: NodeJS.Signals | number,
    openOutput: OutputOpener | undefined,
  ) {
    this.#id = init.id;
    this.initPid = init.pid;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    expectReports(init.id, {
      receiveReport: (report) => {
        this.#receive(report);
      },
    });
    expectExit(init.id, {
      receiveExit: () => {
        this.#reaped = true;
        this.#finish();
      },
    });
    countReference(1);
    const link: ProcessLink = {
      pid: init.program,
      signal: (signal) => this.#signal('signal', signal),
      signalGroup: (signal) => this.#signal('signalGroup', signal),
      expectExit: (receiver) => {
        this.#exitReceiver = receiver;
      },
    };
    try {
      this.child = new Child(plan, link, init.ours, killSignal, openOutput);
    } catch (error) {
      // A program that nobody holds must not go on.
      this.#command('kill');
      throw error;
    }
  }

  end(grace: number): void {
    this.#command('end', grace);
  }

  kill(): void {
    this.#command('kill');
  }

  release(pid: number): void {
    this.#released.push(pid);
    this.#command('release', pid);
  }

  wake(): void {
    native().signal(this.#id, SIGCONT);
  }

  abandon(): void {
    native().signal(this.#id, SIGKILL);
  }

  #command(command: keyof typeof COMMAND, argument = 0): void {
    native().commandInit(this.#id, COMMAND[command], argument);
  }

  /** By the init, which alone knows that the number is still the program's. */
  #signal(how: 'signal' | 'signalGroup', signal: number): number {
    if (this.#programEnded || this.#reaped) return ESRCH;
    if (signal !== 0) this.#command(how, signal);
    return 0;
  }

  #receive(report: InitReport): void {
    switch (report.kind) {
      case REPORT.exited:
        this.#tellExit(report);
        break;
      case REPORT.signalled:
        this.#signalled.push({ signal: signalName(report.status), processes: report.pid });
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
    this.#exitReceiver?.receiveExit({
      code,
      signal: signal === null ? null : signalName(signal),
      coreDumped,
      lost: report === null,
      resourceUsage: toResourceUsage(report?.usage ?? []),
    });
  }

  #finish(): void {
    if (!this.#reaped || !this.#silent) return;
    countReference(-1);
    this.#tellExit(null);
    this.#resolveEnded({
      empty: this.#empty !== null,
      signalled: this.#signalled,
      released: this.#released,
      usage: this.#empty === null ? null : toResourceUsage(this.#empty.usage),
    });
  }
}
