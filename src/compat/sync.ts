// spawnSync: starts a program, feeds it, reads what it says, and waits for it, without the event loop.
import { constants } from 'node:os';

import type { ExitReceiver } from '../launch/events.js';
import type { ExitStatus } from '../launch/outcomes.js';
import { SyncWait } from '../launch/sync-wait.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { openChannels } from './channels.js';
import type { NodeInternals, SyncCall, SyncResult } from './node-internals.js';
import { startProgram, type StartedProgram } from './program.js';
import { reportChild } from './report.js';
import { nodeSignalName } from './signal-name.js';
import { isExcepted, type Settings } from './settings.js';
import { InputPipe, OutputPipe, type PipeListener } from './sync-pipes.js';

const { ENOBUFS, ESRCH, ETIMEDOUT } = constants.errno;
const { SIGKILL, SIGTERM } = constants.signals;

/** A function for the place of spawn in the binding `spawn_sync`. */
export function makeSyncSpawn(
  internals: NodeInternals,
  settings: Settings,
): (options: SyncCall) => SyncResult {
  return function spawn(call) {
    if (isExcepted(call.file, settings)) {
      return internals.sync.original.call(internals.sync.owner, call);
    }
    const wait = SyncWait.open();
    if (isFailure(wait)) return notStarted(wait.errno);
    try {
      return runProgram(call, settings, wait);
    } finally {
      wait.close();
    }
  };
}

function runProgram(call: SyncCall, settings: Settings, wait: SyncWait): SyncResult {
  const channels = openChannels(call.stdio, settings.pass);
  if (typeof channels === 'number') return notStarted(-channels);
  const started = startProgram(call, channels.table, settings, wait.events);
  if (isFailure(started)) {
    native().releaseDescriptors(Int32Array.from(channels.ours.values()));
    return notStarted(started.errno);
  }
  reportChild(call, started.pid, settings);
  return new SyncRun(call, started, channels.ours, wait).wait();
}

function notStarted(errno: number): SyncResult {
  return { error: -errno, status: null, signal: null, output: null, pid: 0 };
}

class SyncRun implements ExitReceiver, PipeListener {
  readonly #call: SyncCall;
  readonly #started: StartedProgram;
  readonly #wait: SyncWait;
  readonly #inputs: InputPipe[] = [];
  readonly #outputs = new Map<number, OutputPipe>();
  #exit: ExitStatus | undefined;
  #killed = false;
  /** Why it is ended by us: the first reason. */
  #error = 0;
  #pipeError = 0;
  #received = 0;

  /** @param ours our ends, which are closed with the wait at the latest */
  constructor(
    call: SyncCall,
    started: StartedProgram,
    ours: ReadonlyMap<number, number>,
    wait: SyncWait,
  ) {
    this.#call = call;
    this.#started = started;
    this.#wait = wait;
    const timeout = call.timeout ?? 0;
    if (timeout > 0) wait.after(timeout, () => (this.#error ||= ETIMEDOUT));
    wait.expectExit(started.id, this);
    for (const [target, fd] of ours) {
      const { input, writable } = call.stdio[target] ?? {};
      if (writable !== true) this.#inputs.push(new InputPipe(fd, input, wait, this));
      else this.#outputs.set(target, new OutputPipe(fd, wait, this));
    }
  }

  wait(): SyncResult {
    try {
      while (this.#exit === undefined || this.#hasOpenPipe()) {
        this.#wait.turn();
        // Only now: what came together is read together, whichever of them was too much.
        if (this.#error !== 0) this.#kill();
      }
    } finally {
      // Something of ours threw: nobody would know of the child.
      if (this.#exit === undefined) native().signal(this.#started.id, SIGKILL);
    }
    return this.#result(this.#exit);
  }

  receiveExit(status: ExitStatus): void {
    this.#exit = status;
  }

  onRead(count: number): void {
    this.#received += count;
    const most = this.#call.maxBuffer ?? 0;
    if (most > 0 && this.#received > most) this.#error ||= ENOBUFS;
  }

  onPipeError(errno: number): void {
    this.#pipeError ||= errno;
  }

  #hasOpenPipe(): boolean {
    return (
      this.#inputs.some(({ isOpen }) => isOpen) ||
      [...this.#outputs.values()].some(({ isOpen }) => isOpen)
    );
  }

  /** Once. What still holds the pipes is not waited for after that. */
  #kill(): void {
    if (this.#killed) return;
    this.#killed = true;
    if (this.#exit === undefined) {
      const killSignal = this.#call.killSignal ?? 0;
      const errno = native().signal(this.#started.id, killSignal > 0 ? killSignal : SIGTERM);
      if (errno !== 0 && errno !== ESRCH) {
        this.#error = errno;
        native().signal(this.#started.id, SIGKILL);
      }
    }
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
      pid: this.#started.pid,
    };
  }
}
