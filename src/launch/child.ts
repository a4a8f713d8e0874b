// A running child, in the shape that code written for child_process.ChildProcess expects.
import { EventEmitter, once } from 'node:events';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { inspect } from 'node:util';

import { systemError } from '../errors.js';
import type { LaunchPlan } from '../plan/plan.js';
import { drainUnread, openReadable, openWritable, type OutputOpener } from './channels.js';
import { inThisContext } from './context.js';
import { countReference, type ExitReceiver } from './events.js';
import type { ExitStatus } from './outcomes.js';
import type { ProcessLink } from './process-link.js';
import { signalNumber } from '../signals.js';
import { evidenceOf, type ExecEvidence } from './evidence.js';
import { publishExit, publishLaunch } from './diagnostics.js';

const { EINVAL, ESRCH } = constants.errno;

/** How long asyncDispose waits between `killSignal` and SIGKILL, in milliseconds. */
const DISPOSAL_GRACE = 2_000;

/** Events of a child, with what listeners are given. */
export interface ChildEvents {
  /** One turn of the event loop after `spawn` returned, or the promise of `launch` was resolved. */
  spawn: [];
  /** The child was reaped; with exit code and signal, one of them null. */
  exit: [code: number | null, signal: NodeJS.Signals | null];
  /** After `exit`, when all pipes are closed too; with the same. */
  close: [code: number | null, signal: NodeJS.Signals | null];
  /** `signal` was aborted, and somebody listens; see errors.md. */
  error: [error: Error];
}

/**
 * A child that was started. An `EventEmitter` with the members and events of Node's `ChildProcess`.
 */
export class Child extends EventEmitter<ChildEvents> {
  /** The plan that this child was started by. Frozen. */
  readonly plan: LaunchPlan;
  /**
   * Process id. It may name a stranger once the child has ended: `kill()` goes by pidfd and cannot.
   */
  readonly pid: number;
  /** Our end of the pipe that it reads, or null where stdin is no `'pipe'`. */
  readonly stdin: Writable | null;
  /** Our end of the pipe that it writes, or null where stdout is no `'pipe'`. */
  readonly stdout: Readable | null;
  /**
   * Our end of the pipe that it writes, or null where stderr is no `'pipe'`, or goes into stdout.
   */
  readonly stderr: Readable | null;
  /** `stdin`, `stdout` and `stderr`, in this order. */
  readonly stdio: readonly [Writable | null, Readable | null, Readable | null];
  /** The program as it was named. */
  readonly spawnfile: string;
  /** The program's arguments, `argv[0]` first. May hold secrets; in no error and no description. */
  readonly spawnargs: readonly string[];
  /** There is no IPC channel. */
  readonly connected = false;
  /** Resolves once the child has been reaped; never rejects. Output may still be in the pipes. */
  readonly exited: Promise<ExitStatus>;

  /** Exit status, 0 to 255; null while it runs, and where a signal ended it. */
  exitCode: number | null = null;
  /** Name of the signal that ended it; null while it runs, and where it exited. */
  signalCode: NodeJS.Signals | null = null;
  /** Whether a signal was sent by `kill`; not whether the child has ended. */
  killed = false;

  readonly #link: ProcessLink;
  readonly #killSignal: NodeJS.Signals | number;
  #resolveExited!: (status: ExitStatus) => void;
  #running = true;
  #announced = false;
  #referenced = true;
  /** The exit, and each pipe that has not closed yet. */
  #closing = 1;

  /** @internal */
  static of(
    plan: LaunchPlan,
    link: ProcessLink,
    pipes: readonly number[],
    killSignal: NodeJS.Signals | number,
    openOutput?: OutputOpener,
  ): Child {
    return new Child(plan, link, pipes, killSignal, openOutput);
  }

  // Children come from `spawn` and `launch`.
  private constructor(
    plan: LaunchPlan,
    link: ProcessLink,
    pipes: readonly number[],
    killSignal: NodeJS.Signals | number,
    openOutput: OutputOpener = openReadable,
  ) {
    super();
    this.plan = plan;
    this.pid = link.pid;
    this.spawnfile = plan.file;
    this.spawnargs = plan.argv;
    this.#link = link;
    this.#killSignal = killSignal;
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });

    const ours = [...pipes];
    const pipeAt = (target: number): number | undefined =>
      plan.descriptors[target]?.channel === 'pipe' ? ours.shift() : undefined;
    const [input, output, errors] = [pipeAt(0), pipeAt(1), pipeAt(2)];
    this.stdin = input === undefined ? null : this.#watchClose(openWritable(input));
    this.stdout = output === undefined ? null : this.#watchClose(openOutput(output));
    this.stderr = errors === undefined ? null : this.#watchClose(openOutput(errors));
    this.stdio = [this.stdin, this.stdout, this.stderr];

    const receiver: ExitReceiver = {
      receiveExit: inThisContext((status) => {
        this.#receiveExit(status);
      }),
    };
    link.expectExit(receiver);
    countReference(1);
    publishLaunch(this);
    // Late enough for whoever awaits the launch to listen.
    setImmediate(() => {
      this.#announce();
    });
  }

  /**
   * Sends a signal, by pidfd: a process that has come to the same pid is never hit.
   *
   * @param signal default SIGTERM; 0 only asks whether the child has been reaped
   * @returns false once the child has been reaped
   * @throws {SallyportTypeError} for an unknown signal
   */
  kill(signal: NodeJS.Signals | number = 'SIGTERM'): boolean {
    const number = signalNumber(signal, 'signal');
    const sent = this.#running && this.#send('signal', number);
    if (sent && number !== 0) this.killed = true;
    return sent;
  }

  /**
   * Sends a signal to the child's process group. Only while the child has not been reaped: after
   * that its number may name a group of strangers. Descendants that left the group are not reached.
   *
   * @returns false once the child has been reaped
   * @throws {SallyportError} EINVAL where the child leads no group (session `inherit`)
   */
  killGroup(signal: NodeJS.Signals | number = 'SIGTERM'): boolean {
    const number = signalNumber(signal, 'signal');
    const sent = this.#send('signalGroup', number);
    if (sent && number !== 0) this.killed = true;
    return sent;
  }

  /** Keeps the event loop running until the child has ended (the default). */
  ref(): this {
    return this.#setReferenced(true);
  }

  /** Lets this process end before the child does. Open pipes keep it running on their own. */
  unref(): this {
    return this.#setReferenced(false);
  }

  /** Sends `killSignal`, once, and waits for nothing. */
  [Symbol.dispose](): void {
    if (this.#running && !this.killed) this.kill(this.#killSignal);
  }

  /** Ends the child, SIGKILL after 2 s of grace, and waits until it has been reaped. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#running) {
      this.kill(this.#killSignal);
      const escalate = setTimeout(() => this.kill('SIGKILL'), DISPOSAL_GRACE);
      await this.exited;
      clearTimeout(escalate);
    }
    for (const stream of this.stdio) stream?.destroy();
    if (this.#closing > 0) await once(this, 'close');
  }

  /** What was seen of it at its exec, or after; null without `verify`. */
  get evidence(): ExecEvidence | null {
    return evidenceOf(this.plan);
  }

  /** @internal Its number, and the group of that number, are not needed any longer. */
  releaseZombie(): void {
    this.#link.releaseZombie?.();
  }

  #send(how: 'signal' | 'signalGroup', signal: number): boolean {
    const errno = this.#link[how](signal);
    if (errno === 0) return true;
    if (errno === ESRCH) return false;
    const advice = how === 'signalGroup' ? 'it leads no group of its own: use kill()' : '';
    throw systemError(errno, 'signal', errno === EINVAL ? advice : '', {
      syscall: `kill ${this.plan.file}`,
      path: this.plan.file,
      stage: 'signal',
      stageSource: 'reported',
    });
  }

  #setReferenced(wanted: boolean): this {
    if (this.#running && this.#referenced !== wanted) {
      this.#referenced = wanted;
      countReference(wanted ? 1 : -1);
    }
    return this;
  }

  #watchClose<T extends Readable | Writable>(stream: T): T {
    this.#closing += 1;
    stream.once('close', () => {
      this.#countClosed();
    });
    return stream;
  }

  /** For console.log: argv and environment hold values that nobody means to print. */
  [inspect.custom](): object {
    const { pid, spawnfile, exitCode, signalCode, killed } = this;
    return { pid, spawnfile, exitCode, signalCode, killed };
  }

  #announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    this.emit('spawn');
  }

  #receiveExit(status: ExitStatus): void {
    try {
      this.#announce();
    } catch (error) {
      // What a listener of the start throws is uncaught; the exit is told all the same.
      process.nextTick(() => {
        throw error;
      });
    }
    this.#setReferenced(false);
    this.#running = false;
    this.exitCode = status.code;
    this.signalCode = status.signal;
    this.stdin?.destroy();
    publishExit(this, status);
    this.#resolveExited(status);
    try {
      this.emit('exit', status.code, status.signal);
    } finally {
      // Not at once: whoever awaits `exited` may begin to read only now.
      setImmediate(() => {
        if (this.stdout !== null) drainUnread(this.stdout);
        if (this.stderr !== null) drainUnread(this.stderr);
      });
      this.#countClosed();
    }
  }

  #countClosed(): void {
    this.#closing -= 1;
    if (this.#closing === 0) this.emit('close', this.exitCode, this.signalCode);
  }
}
