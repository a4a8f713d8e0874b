// An init and us: what is told to it, and what its reports come to.
import { constants } from 'node:os';

import { native } from '../native.js';
import { signalName } from '../signals.js';
import { inThisContext } from './context.js';
import type { ExitReceiver, ReportReceiver } from './events.js';
import {
  toResourceUsage,
  type ExitStatus,
  type InitReport,
  type Launched,
  type ResourceUsage,
} from './outcomes.js';
import { COMMAND, decodeExit, REPORT } from './init-protocol.js';

const { ESRCH } = constants.errno;
const { SIGCONT, SIGKILL } = constants.signals;

/** A signal that was sent to what was left of a run. */
export interface SentSignal {
  /** Its name. */
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

/** Where what becomes of an init is heard: by the event loop, or by whoever waits without it. */
export interface InitEvents {
  expectExit(id: number, receiver: ExitReceiver): void;
  expectReports(id: number, receiver: ReportReceiver): void;
}

export interface InitListener {
  /** How the program ended; `lost` where the init has gone before it could say. Once, and first. */
  programExited(status: ExitStatus): void;
  /** The init has been reaped, and no more comes from it. Once. */
  ended(end: InitEnd): void;
}

const inits = new Set<number>();

/** It holds a socket to us and nothing else, and lets nobody look. */
export function isInitOfOurs(pid: number): boolean {
  return inits.has(pid);
}

export class InitLink {
  readonly #id: number;
  readonly #pid: number;
  readonly #listener: InitListener;
  readonly #signalled: SentSignal[] = [];
  readonly #released: number[] = [];
  #programEnded = false;
  #empty: InitReport | null = null;
  #reaped = false;
  #wasKilled = false;
  #silent = false;

  constructor({ id, pid }: Launched, listener: InitListener) {
    this.#id = id;
    this.#pid = pid;
    inits.add(pid);
    this.#listener = listener;
  }

  /** From now on, and perhaps at once, the listener is called. */
  listen(events: InitEvents): void {
    const id = this.#id;
    events.expectReports(id, {
      receiveReport: inThisContext((report) => {
        this.#receive(report);
      }),
    });
    events.expectExit(id, {
      receiveExit: inThisContext(({ signal }) => {
        this.#reaped = true;
        this.#wasKilled = signal !== null;
        this.#finish();
      }),
    });
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

  /** By the init, which alone knows that the number is still the program's. 0 or a positive errno. */
  signalProgram(how: 'signal' | 'signalGroup', signal: number): number {
    if (this.#programEnded || this.#reaped) return ESRCH;
    if (signal !== 0) this.#command(how, signal);
    return 0;
  }

  #command(command: keyof typeof COMMAND, argument = 0): void {
    native().commandInit(this.#id, COMMAND[command], argument);
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
    this.#listener.programExited({
      code,
      signal: signal === null ? null : signalName(signal),
      coreDumped,
      lost: report === null,
      resourceUsage: toResourceUsage(report?.usage ?? []),
    });
  }

  #finish(): void {
    if (this.#reaped) inits.delete(this.#pid);
    if (!this.#reaped || !this.#silent) return;
    this.#tellExit(null);
    this.#listener.ended({
      // Who says so exits then. With the right to trace it (root) another could say it, and kill it.
      empty: this.#empty !== null && !this.#wasKilled,
      signalled: this.#signalled,
      released: this.#released,
      usage: this.#empty === null ? null : toResourceUsage(this.#empty.usage),
    });
  }
}
