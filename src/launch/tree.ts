// Launches a program below an init that keeps all its descendants together, and ends them.
import { isFailure, type NativeRequest } from '../native-binding.js';
import { native } from '../native.js';
import { withoutPrototype } from '../own-properties.js';
import type { RawOptions } from '../plan/options.js';
import type { LaunchPlan } from '../plan/plan.js';
import { awaitLaunch } from './await-launch.js';
import type { OutputOpener } from './channels.js';
import { abortError, type Cancellation } from './cancellation.js';
import { Child } from './child.js';
import {
  countReference,
  expectExit,
  expectReports,
  listenForEvents,
  type ExitReceiver,
} from './events.js';
import type { Launched } from './outcomes.js';
import { launchError } from './failure.js';
import { InitLink, type InitEnd, type InitEvents } from './init-link.js';
import type { ProcessLink } from './process-link.js';
import { withPinnedRequest } from './request.js';
import { takeSupervision } from './supervision.js';

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
  given: TreeOptions = {},
): Promise<Tree> {
  const { openOutput, cancellation, cgroup = '' } = withoutPrototype(given);
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
  return withPinnedRequest('run', file, args, raw, start, cgroup);
}

class InitTree implements Tree {
  readonly child: Child;
  readonly initPid: number;
  readonly ended: Promise<InitEnd>;
  readonly #link: InitLink;
  #exitReceiver: ExitReceiver | null = null;

  constructor(
    plan: LaunchPlan,
    init: Launched,
    killSignal: NodeJS.Signals | number,
    openOutput: OutputOpener | undefined,
  ) {
    this.initPid = init.pid;
    let over!: (end: InitEnd) => void;
    this.ended = new Promise((resolve) => {
      over = resolve;
    });
    this.#link = new InitLink(init, {
      programExited: (status) => {
        this.#exitReceiver?.receiveExit(status);
      },
      ended: (end) => {
        countReference(-1);
        over(end);
      },
    });
    this.#link.listen(ofThisEnvironment);
    countReference(1);
    const link: ProcessLink = {
      pid: init.program,
      signal: (signal) => this.#link.signalProgram('signal', signal),
      signalGroup: (signal) => this.#link.signalProgram('signalGroup', signal),
      expectExit: (receiver) => {
        this.#exitReceiver = receiver;
      },
    };
    try {
      this.child = Child.of(plan, link, init.ours, killSignal, openOutput);
    } catch (error) {
      // A program that nobody holds must not go on.
      this.kill();
      throw error;
    }
  }

  end(grace: number): void {
    this.#link.end(grace);
  }

  kill(): void {
    this.#link.kill();
  }

  release(pid: number): void {
    this.#link.release(pid);
  }

  wake(): void {
    this.#link.wake();
  }

  abandon(): void {
    this.#link.abandon();
  }
}

const ofThisEnvironment: InitEvents = { expectExit, expectReports };
