// spawnSync: starts a program, feeds it, reads what it says, and waits for it, without the event loop.
import { constants } from 'node:os';

import { toExitStatus, type ExitStatus } from '../launch/events.js';
import {
  EVENT_EXIT,
  isFailure,
  native,
  type NativeEvent,
  type NativeFailure,
  type SyncEvents,
} from '../native.js';
import { openChannels } from './channels.js';
import type { NodeInternals, SyncCall, SyncResult } from './node-internals.js';
import { startProgram } from './program.js';
import { reportChild } from './report.js';
import { nodeSignalName } from './signal-name.js';
import { isExcepted, type Settings } from './settings.js';
import { InputPipe, OutputPipe } from './sync-pipes.js';

const { ENOBUFS, ESRCH, ETIMEDOUT } = constants.errno;
const { SIGKILL, SIGTERM } = constants.signals;

const POLLIN = 1;
const POLLOUT = 4;

/** The longest that poll(2) is asked to wait, in milliseconds: its argument is an int. */
const LONGEST_WAIT = 2 ** 31 - 1;

/** A function for the place of spawn in the binding `spawn_sync`. */
export function makeSyncSpawn(
  internals: NodeInternals,
  settings: Settings,
): (options: SyncCall) => SyncResult {
  return function spawn(call) {
    if (isExcepted(call.file, settings)) {
      return internals.sync.original.call(internals.sync.owner, call);
    }
    const mailbox = openMailbox();
    if (isFailure(mailbox)) return notStarted(mailbox.errno);
    const channels = openChannels(call.stdio, settings.pass);
    if (typeof channels === 'number') return notStarted(-channels);
    const started = startProgram(call, channels.table, settings, mailbox.events);
    if (isFailure(started)) {
      native().releaseDescriptors(Int32Array.from(channels.ours.values()));
      return notStarted(started.errno);
    }
    reportChild(call, started.pid, settings);
    return new SyncRun(call, started.id, started.pid, channels.ours, mailbox).wait();
  };
}

function notStarted(errno: number): SyncResult {
  return { error: -errno, status: null, signal: null, output: null, pid: 0 };
}

interface Mailbox {
  readonly events: SyncEvents;
  /** Readable while events wait. */
  readonly ready: number;
}

// One for the environment: a run is over before the next begins.
let mailbox: Mailbox | undefined;

function openMailbox(): Mailbox | NativeFailure {
  if (mailbox !== undefined) return mailbox;
  const opened = native().openSyncEvents();
  if (isFailure(opened)) return opened;
  mailbox = { events: opened[0], ready: opened[1] };
  return mailbox;
}

class SyncRun {
  readonly #call: SyncCall;
  readonly #id: number;
  readonly #pid: number;
  readonly #mailbox: Mailbox;
  readonly #inputs: InputPipe[] = [];
  readonly #outputs = new Map<number, OutputPipe>();
  readonly #deadline: number;
  #exit: ExitStatus | undefined;
  #killed = false;
  #error = 0;
  #pipeError = 0;
  #received = 0;

  constructor(
    call: SyncCall,
    id: number,
    pid: number,
    ours: ReadonlyMap<number, number>,
    opened: Mailbox,
  ) {
    this.#call = call;
    this.#id = id;
    this.#pid = pid;
    this.#mailbox = opened;
    const timeout = call.timeout ?? 0;
    this.#deadline = timeout > 0 ? performance.now() + timeout : Infinity;
    for (const [target, fd] of ours) {
      const { input, writable } = call.stdio[target] ?? {};
      if (writable !== true) this.#inputs.push(new InputPipe(fd, input ?? undefined));
      else this.#outputs.set(target, new OutputPipe(fd));
    }
  }

  wait(): SyncResult {
    try {
      while (this.#exit === undefined || this.#hasOpenPipe()) this.#waitOnce();
    } finally {
      // Something of ours threw: nobody would know of the child.
      if (this.#exit === undefined) native().signal(this.#id, SIGKILL);
      this.#closePipes();
    }
    return this.#result(this.#exit);
  }

  #hasOpenPipe(): boolean {
    return (
      this.#inputs.some(({ isOpen }) => isOpen) ||
      [...this.#outputs.values()].some(({ isOpen }) => isOpen)
    );
  }

  #waitOnce(): void {
    const inputs = this.#inputs.filter(({ isOpen }) => isOpen);
    const outputs = [...this.#outputs.values()].filter(({ isOpen }) => isOpen);
    const entries = Int32Array.from([
      ...[this.#mailbox.ready, POLLIN, 0],
      ...inputs.flatMap(({ fd }) => [fd, POLLOUT, 0]),
      ...outputs.flatMap(({ fd }) => [fd, POLLIN, 0]),
    ]);
    native().poll(entries, this.#timeLeft());
    const found = entries.filter((_, index) => index % 3 === 2);

    if (found[0] !== 0) this.#takeEvents(native().takeSyncEvents(this.#mailbox.events));
    for (const [index, pipe] of inputs.entries()) {
      if (found[1 + index] !== 0) this.#pipeError ||= pipe.write();
    }
    for (const [index, pipe] of outputs.entries()) {
      if (found[1 + inputs.length + index] !== 0) this.#read(pipe);
    }
    // Only now: what came together is read together, whichever of them was too much.
    if (this.#error === ENOBUFS) this.#kill();
    if (!this.#killed && performance.now() >= this.#deadline) {
      this.#error ||= ETIMEDOUT;
      this.#kill();
    }
  }

  /** Milliseconds, rounded up: a wait that ends too early would only be repeated. */
  #timeLeft(): number {
    if (this.#killed || this.#deadline === Infinity) return -1;
    return Math.min(LONGEST_WAIT, Math.max(0, Math.ceil(this.#deadline - performance.now())));
  }

  #takeEvents(events: readonly NativeEvent[]): void {
    for (const event of events) {
      if (event[0] === EVENT_EXIT && event[1] === this.#id) this.#exit = toExitStatus(event);
    }
  }

  #read(pipe: OutputPipe): void {
    const { count, errno } = pipe.read();
    this.#pipeError ||= errno;
    this.#received += count;
    const most = this.#call.maxBuffer ?? 0;
    if (most > 0 && this.#received > most) this.#error ||= ENOBUFS;
  }

  /** Once. What still holds the pipes is not waited for after that. */
  #kill(): void {
    if (this.#killed) return;
    this.#killed = true;
    if (this.#exit === undefined) {
      const killSignal = this.#call.killSignal ?? 0;
      const errno = native().signal(this.#id, killSignal > 0 ? killSignal : SIGTERM);
      if (errno !== 0 && errno !== ESRCH) {
        this.#error = errno;
        native().signal(this.#id, SIGKILL);
      }
    }
    this.#closePipes();
  }

  #closePipes(): void {
    for (const pipe of this.#inputs) pipe.close();
    for (const pipe of this.#outputs.values()) pipe.close();
  }

  #result(exit: ExitStatus | undefined): SyncResult {
    const error = this.#error || this.#pipeError;
    // In Node's order: the properties of an error of execSync come in it.
    return {
      ...(error === 0 ? undefined : { error: -error }),
      status: exit?.code ?? null,
      signal: exit === undefined || exit.signal === null ? null : nodeSignalName(exit.signal),
      output: this.#call.stdio.map((_, target) => this.#outputs.get(target)?.take() ?? null),
      pid: this.#pid,
    };
  }
}
