// Plan → running child, on the calling thread.
import { invalid } from '../errors.js';
import {
  isFailure,
  native,
  SESSION_MODES,
  TABLE_HELD,
  TABLE_NULL,
  TABLE_PIPE_FROM_CHILD,
  TABLE_PIPE_TO_CHILD,
} from '../native.js';
import { ownDirectory } from '../plan/attributes.js';
import {
  takeOptions,
  type PlanOptions,
  type RawOptions,
  type SpawnOptions,
} from '../plan/options.js';
import { draftPlan, type LaunchPlan } from '../plan/plan.js';
import { Child, type Launched } from './child.js';
import { listenForExits } from './exits.js';
import { launchError } from './failure.js';
import { HeldDescriptors } from './held.js';
import { signalNumber } from './signals.js';

/**
 * The launch plan of a call, looked up and checked as `spawn` would, with nothing started and nothing
 * left open.
 *
 * @throws {SallyportTypeError | SallyportError} whatever `spawn` would refuse before starting
 */
export function planLaunch(
  file: string,
  args?: readonly string[],
  options?: PlanOptions,
): LaunchPlan {
  const draft = draftPlan(file, args, takeOptions(options));
  const held = HeldDescriptors.take(draft);
  try {
    return held.finish(draft);
  } finally {
    held.release();
  }
}

export function spawn(file: string, options: SpawnOptions): Child;
export function spawn(file: string, args?: readonly string[], options?: SpawnOptions): Child;
/**
 * Starts a program with exactly what is named: descriptors 0, 1, 2 and the pass list, the given
 * environment, a new session. Everything that is handed over is taken before this returns.
 *
 * @throws {SallyportTypeError} a mistake in the arguments
 * @throws {SallyportError} a refusal by the system: ENOENT, EACCES, E2BIG, EMFILE, EAGAIN, …, with
 *   the stage that failed. Nothing is left behind: no descriptor, no process, no event.
 */
export function spawn(
  file: string,
  argsOrOptions?: readonly string[] | SpawnOptions,
  options?: SpawnOptions,
): Child {
  const [args, given] =
    options === undefined && typeof argsOrOptions === 'object' && !Array.isArray(argsOrOptions)
      ? [undefined, argsOrOptions]
      : [argsOrOptions, options];
  const raw = takeOptions(given);
  const supervision = takeSupervision(raw);
  const draft = draftPlan(file, args, raw);
  supervision.signal?.throwIfAborted();

  const held = HeldDescriptors.take(draft);
  let child: Child;
  try {
    const plan = held.finish(draft);
    child = new Child(plan, start(plan, held), supervision.killSignal);
  } finally {
    held.release();
  }
  supervise(child, supervision);
  return child;
}

function start(plan: LaunchPlan, held: HeldDescriptors): Launched {
  listenForExits();
  const result = native().spawn(
    plan.executable,
    encode(plan.argv),
    encode(Object.entries(plan.environment).map(([name, value]) => `${name}=${value}`)),
    // Where the child's directory is ours there is nothing to change.
    plan.cwd === ownDirectory() ? '' : plan.cwd,
    encodeTable(plan, held),
    SESSION_MODES[plan.session],
    plan.foreground ?? -1,
  );
  if (isFailure(result)) throw launchError(plan, result);
  const [id, pid, ...ours] = result;
  return { id, pid, ours };
}

function encode(strings: readonly string[]): string {
  return strings.length === 0 ? '' : `${strings.join('\0')}\0`;
}

function encodeTable(plan: LaunchPlan, held: HeldDescriptors): number[] {
  const table: number[] = [];
  for (const { target, channel, source } of plan.descriptors) {
    if (source !== null) table.push(target, TABLE_HELD, held.fdOf(source));
    else if (channel === 'null') table.push(target, TABLE_NULL, -1);
    else table.push(target, target === 0 ? TABLE_PIPE_TO_CHILD : TABLE_PIPE_FROM_CHILD, -1);
  }
  return table;
}

/** What happens to the child after its start. Not part of the plan: the child never sees it. */
interface Supervision {
  signal: AbortSignal | undefined;
  timeout: number;
  killSignal: NodeJS.Signals | number;
}

function takeSupervision({ signal, timeout, killSignal }: RawOptions): Supervision {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'signal',
      'must be an AbortSignal; write killSignal for a signal to send',
    );
  }
  if (
    timeout !== undefined &&
    (typeof timeout !== 'number' || !(timeout >= 0) || timeout > 0x7fffffff)
  ) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'timeout',
      'must be milliseconds from 0 to 2147483647',
    );
  }
  if (killSignal !== undefined) signalNumber(killSignal, 'killSignal');
  return {
    signal,
    timeout: timeout ?? 0,
    killSignal: (killSignal ?? 'SIGTERM') as NodeJS.Signals | number,
  };
}

function supervise(child: Child, { signal, timeout, killSignal }: Supervision): void {
  if (timeout > 0) {
    const timer = setTimeout(() => child.kill(killSignal), timeout);
    timer.unref();
    child.once('exit', () => {
      clearTimeout(timer);
    });
  }
  if (signal !== undefined) {
    const abort = (): void => {
      child.kill(killSignal);
      // As Node does, but only for those who listen: `exited` tells everybody else.
      if (child.listenerCount('error') > 0) child.emit('error', abortError(signal));
    };
    signal.addEventListener('abort', abort, { once: true });
    child.once('exit', () => {
      signal.removeEventListener('abort', abort);
    });
  }
}

function abortError(signal: AbortSignal): Error {
  const error = new Error('The operation was aborted', { cause: signal.reason });
  error.name = 'AbortError';
  return Object.assign(error, { code: 'ABORT_ERR' });
}
