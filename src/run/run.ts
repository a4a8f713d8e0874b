// Starts a program, watches over it, ends what is left of it, and gives a report.
import { SallyportError } from '../errors.js';
import type { ExitStatus } from '../launch/outcomes.js';
import { findClosed } from '../launch/held.js';
import { splitArguments } from '../launch/spawn.js';
import { loopTimers } from '../launch/timers.js';
import { describePlan } from '../plan/describe.js';
import type { RawOptions } from '../plan/options.js';
import type { Admission } from './admission.js';
import { startClock, type Clock } from './clock.js';
import type { Contained, TreeEnd } from './containment.js';
import { Ending } from './ending.js';
import { openFiles, type OpenFiles } from './files.js';
import { Handle, type RunUnderWay } from './handle.js';
import { Feeder } from './input.js';
import { takeRunOptions, type RunOptions, type RunWish } from './options.js';
import { makeMasks } from './output-options.js';
import { Patience } from './patience.js';
import { openPoured } from './pour.js';
import {
  finishReading,
  isOpen,
  openChannels,
  reportChannels,
  stopReading,
  type Channels,
} from './reading.js';
import { assembleReport, type RunReport } from './report.js';
import { dropSpares, keepSpares } from './spare.js';
import { watchForStall } from './stall.js';

/** How long a target that could not be ended is given to be heard of all the same, in milliseconds. */
export const LAST_WORD = 100;

/** A run under way: a promise of its report. */
export interface Run extends Promise<RunReport> {
  /** Ends it, as the abort of `signal` does. */
  abort(): void;
  /** Takes a process out of the run on purpose: it is not ended with it, and the report lists it. */
  release(pid: number): void;
  /** Resolves with the target's pid once it runs; null where it was not started. Never rejects. */
  readonly started: Promise<number | null>;
  /** For `await using`: ends the run where it is not over, and waits until it is. Never rejects. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a program as `launch` does and stays with it: until its end, until its output has been read,
 * until nothing of it is left. Whatever becomes of it, also that the system refuses to start it, is in
 * the report.
 *
 * @throws {SallyportTypeError | SallyportError} a mistake of the caller (`ERR_SALLYPORT_…`), as a
 *   rejection; what a listener for lines has thrown; a record that cannot be written
 */
export function run(file: string, options: RunOptions): Run;
export function run(file: string, args?: readonly string[], options?: RunOptions): Run;
export function run(
  file: string,
  argsOrOptions?: readonly string[] | RunOptions,
  options?: RunOptions,
): Run {
  const [args, given] = splitArguments(argsOrOptions, options);
  return startRun(file, args, given, () => undefined);
}

/**
 * @internal `run` with a look at what is under way, as soon as the program runs.
 *
 * @param closed what `findClosed` gave, where descriptors have been opened since
 */
export function startRun(
  file: string,
  args: unknown,
  given: unknown,
  look: (running: RunUnderWay) => void,
  closed: Error | null = null,
): Run {
  const handle = new Handle(look);
  const report = superviseRun(file, args, given, handle, closed);
  const abort = (): void => handle.ending?.begin('aborted');
  return Object.assign(report, {
    started: handle.started,
    abort,
    release: (pid: number) => handle.contained?.release(pid),
    [Symbol.asyncDispose]: () => {
      abort();
      return settled(report);
    },
  });
}

/** When it is over, whatever it came to. */
export async function settled(report: Promise<unknown>): Promise<void> {
  await report.catch(() => undefined);
}

async function superviseRun(
  file: string,
  args: unknown,
  given: unknown,
  handle: Handle,
  closedBefore: Error | null,
): Promise<RunReport> {
  let files: OpenFiles | null = null;
  let admission: Admission | null = null;
  let areKept = false;
  try {
    const taken = takeRunOptions(given);
    admission = taken.admission;
    const closed = closedBefore ?? findClosed(file, taken.plan);
    keepSpares();
    areKept = true;
    // Before the start: where it throws nothing is left running.
    const wish = { ...taken, output: makeMasks(taken.output) };
    const clock = startClock();
    const ending = (handle.ending = new Ending(wish));
    const begin = { wish, clock, ending };
    let contained: Contained | null;
    try {
      files = openFiles(wish, file);
      if (closed !== null) throw closed;
      contained = await start(file, args, files.outputs.place(wish.plan), begin);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return await reportUnstarted(begin, files, error);
    }
    if (contained === null) return await reportUnstarted(begin, files, null);
    handle.start(contained);
    return await accompany(contained, begin, files, handle);
  } catch (error) {
    // Whatever has failed here, nothing of the run goes on.
    handle.contained?.kill();
    throw error;
  } finally {
    if (areKept) dropSpares();
    handle.close();
    files?.close();
    admission?.dispose();
  }
}

interface Beginning {
  readonly wish: RunWish;
  readonly clock: Clock;
  readonly ending: Ending;
}

/** null: it was to be ended before it had begun. */
async function start(
  file: string,
  args: unknown,
  options: RawOptions,
  { wish, ending }: Beginning,
): Promise<Contained | null> {
  if (ending.kind !== undefined) return null;
  const { admission } = wish;
  const plan = admission?.prepare(options) ?? options;
  const takeover = { openOutput: openPoured, cancellation: ending.launch };
  try {
    return await wish.containment.contain(file, args, plan, takeover);
  } catch (error) {
    if (ending.kind !== undefined && (error as Error).name === 'AbortError') return null;
    throw error;
  }
}

async function accompany(
  contained: Contained,
  { wish, clock, ending }: Beginning,
  files: OpenFiles,
  handle: Handle,
): Promise<RunReport> {
  const { child } = contained;
  const channels = openChannels(child, wish, ending, files);
  handle.look({ child, ...channels, end: (kind) => ending.begin(kind) });
  files.input.start(child.stdin);
  ending.attach(contained);
  watchStall(child.pid, wish, ending, channels);
  // While there is nothing to do but to wait.
  const description = describePlan(child.plan);

  await Promise.race([child.exited, contained.ended]);
  const durationMs = clock.elapsed();
  const unreadableBefore = await readOutput(channels, wish, ending);
  contained.end(wish.grace);
  const end = await contained.ended;
  const status = await takeStatus(contained, end);
  const unreadableAfter = await readRest(channels, wish);
  const input = files.input.stop();
  await files.flush(channels, ending.begun, wish.grace);
  const output = await reportChannels(channels, ending);
  ending.close();

  const report = assembleReport({
    startedAt: clock.startedAt,
    durationMs,
    plan: child.plan,
    description,
    admission: wish.admission,
    error: null,
    status,
    ending,
    output,
    input,
    method: wish.containment,
    end,
    unreadableHolders: Math.max(unreadableBefore, unreadableAfter),
  });
  await files.appendRecord(report);
  if (ending.fault !== undefined) throw ending.fault;
  return report;
}

/**
 * Once the target has ended by itself: what it wrote is read, and for others who hold its pipes there is
 * some patience. Where the run is being ended nothing is waited for but its end.
 *
 * @returns as `stopReading`
 */
async function readOutput(channels: Channels, wish: RunWish, ending: Ending): Promise<number> {
  if (ending.kind !== undefined) return 0;
  await finishReading(channels, wish.drain, ending.begun);
  return ending.kind === undefined ? stopReading(channels) : 0;
}

/** Whoever has a pipe open now is outside of the run, or cannot be ended. @returns as `stopReading` */
async function readRest(channels: Channels, { grace, drain }: RunWish): Promise<number> {
  if (!isOpen(channels)) return 0;
  const patience = new Patience(grace);
  await finishReading(channels, drain, patience.over);
  patience.cancel();
  return stopReading(channels);
}

function watchStall(
  target: number,
  { stall }: RunWish,
  ending: Ending,
  { stdout, stderr }: Channels,
): void {
  if (stall === undefined) return;
  const stopWatching = watchForStall(target, stall, [stdout, stderr], loopTimers, (evidence) => {
    if (ending.kind === undefined) ending.stall = evidence;
    ending.begin('stalled');
  });
  ending.onClose(stopWatching);
}

async function takeStatus({ child }: Contained, end: TreeEnd): Promise<ExitStatus | null> {
  if (end.survivors.length === 0 && !end.lost) return child.exited;
  // It may be among the survivors, and never be heard of again.
  const patience = new Patience(LAST_WORD);
  const status = await Promise.race([child.exited, patience.over]);
  patience.cancel();
  return status ?? null;
}

async function reportUnstarted(
  { wish, clock, ending }: Beginning,
  files: OpenFiles | null,
  error: SallyportError | null,
): Promise<RunReport> {
  const nothing = { stdout: null, stderr: null };
  const report = assembleReport({
    startedAt: clock.startedAt,
    durationMs: clock.elapsed(),
    plan: null,
    admission: wish.admission,
    error,
    status: null,
    ending,
    output: await reportChannels(openChannels(nothing, wish, ending, nothing), ending),
    input: new Feeder(undefined).stop(),
    method: wish.containment,
    end: { signalled: [], survivors: [], released: [], lost: false, treeUsage: null },
    unreadableHolders: 0,
  });
  await files?.appendRecord(report);
  return report;
}

export function isRefusal(error: unknown): error is SallyportError {
  if (!(error instanceof SallyportError)) return false;
  return (
    !error.code.startsWith('ERR_SALLYPORT_') ||
    error.stage === 'verify' ||
    error.code === 'ERR_SALLYPORT_NOT_ADMITTED'
  );
}
