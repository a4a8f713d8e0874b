// The handle below a ChildProcess: starts it, tells of its end, signals it. All above is Node's own.
import { AsyncResource } from 'node:async_hooks';
import { constants } from 'node:os';

import {
  countReference,
  expectExit,
  listenForEvents,
  type ExitReceiver,
} from '../launch/events.js';
import type { ExitStatus } from '../launch/outcomes.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { openChannels } from './channels.js';
import type { NodeInternals, ProcessHandle } from './node-internals.js';
import { startProgram, type StartedProgram } from './program.js';
import { reportChild } from './report.js';
import { nodeSignalName } from './signal-name.js';
import { isExcepted, type Settings } from './settings.js';

const { ESRCH } = constants.errno;

/** A function for the place of ProcessWrap.prototype.spawn. */
export function makeHandleSpawn(
  internals: NodeInternals,
  settings: Settings,
): (this: ProcessHandle, ...words: unknown[]) => number {
  return function spawn(this: ProcessHandle, ...words) {
    const call = internals.readCall(words);
    if (isExcepted(call.file, settings)) return internals.handle.original.apply(this, words);
    listenForEvents();
    internals.initialise?.(this);
    const channels = openChannels(call.stdio, settings.pass);
    if (typeof channels === 'number') return channels;
    const started = startProgram(call, channels.table, settings);
    // Where it was refused as well: the other ends are closed, and Node's streams end.
    const unopened = openStreams(call.stdio, channels.ours);
    if (isFailure(started)) return -started.errno;
    this.pid = started.pid;
    new RunningProgram(this, started, internals.initialise !== undefined);
    reportChild(call, started.pid, settings);
    return unopened;
  };
}

/** @returns 0 or a negative errno */
function openStreams(
  stdio: ReturnType<NodeInternals['readCall']>['stdio'],
  ours: ReadonlyMap<number, number>,
): number {
  let refusal = 0;
  for (const [target, fd] of ours) {
    const result = stdio[target]?.handle?.open(fd) ?? 0;
    if (result === 0) continue;
    native().releaseDescriptors(Int32Array.of(fd));
    refusal = result;
  }
  return refusal;
}

class RunningProgram implements ExitReceiver {
  readonly #handle: ProcessHandle;
  readonly #id: number;
  /** For what goes on from here, as AsyncLocalStorage has it. */
  readonly #resource = new AsyncResource('PROCESSWRAP');
  /** Whether libuv knows the handle. */
  readonly #isKnown: boolean;
  #running = true;
  #referenced = true;

  constructor(handle: ProcessHandle, { id }: StartedProgram, isKnown: boolean) {
    this.#handle = handle;
    this.#isKnown = isKnown;
    this.#id = id;
    const prototype = Object.getPrototypeOf(handle) as ProcessHandle;
    // Not enumerable: people print a ChildProcess.
    Object.defineProperties(handle, {
      kill: hidden((signal: number) => this.#kill(signal)),
      ref: hidden(() => {
        prototype.ref.call(handle);
        this.#setReferenced(true);
      }),
      unref: hidden(() => {
        prototype.unref.call(handle);
        this.#setReferenced(false);
      }),
      ...(isKnown ? undefined : { hasRef: hidden(() => this.#running && this.#referenced) }),
    });
    expectExit(id, this);
    countReference(1);
  }

  receiveExit(status: ExitStatus): void {
    this.#setReferenced(false);
    this.#running = false;
    native().releaseZombie(this.#id);
    inTurn(() => {
      const { code, signal, lost } = status;
      const name = signal === null ? '' : nodeSignalName(signal);
      this.#resource.runInAsyncScope(
        this.#handle.onexit,
        this.#handle,
        lost ? null : (code ?? 0),
        name,
      );
      if (!this.#isKnown) this.#release();
    });
  }

  /** Node keeps a handle for ever that libuv does not know: let it keep nothing else. */
  #release(): void {
    const handle: object = this.#handle;
    for (const key of Reflect.ownKeys(handle)) Reflect.deleteProperty(handle, key);
  }

  #kill(signal: number): number {
    return this.#running ? -native().signal(this.#id, signal) : -ESRCH;
  }

  #setReferenced(wanted: boolean): void {
    if (!this.#running || this.#referenced === wanted) return;
    this.#referenced = wanted;
    countReference(wanted ? 1 : -1);
  }
}

function hidden(value: unknown): PropertyDescriptor {
  return { value, configurable: true, writable: true, enumerable: false };
}

function takeNext(): void {
  isBusy = false;
  const next = waiting.shift();
  if (next !== undefined) inTurn(next);
}

const waiting: Array<() => void> = [];
let isBusy = false;

/**
 * Exits come several at once. Between two of them Node lets the program go on with what the first has
 * caused: promises and process.nextTick.
 */
function inTurn(task: () => void): void {
  if (isBusy) {
    waiting.push(task);
    return;
  }
  isBusy = true;
  try {
    task();
  } finally {
    // Promises have their turn when no tick is left.
    process.nextTick(queueMicrotask, () => process.nextTick(takeNext));
  }
}
