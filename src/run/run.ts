// Starts a program, watches over it, ends what is left of it, and gives a report.
import { SallyportError } from '../errors.js';
import type { Child } from '../launch/child.js';
import type { ExitStatus } from '../launch/events.js';
import { splitArguments } from '../launch/spawn.js';
import type { Admission } from './admission.js';
import { Channel } from './channel.js';
import type { Contained, TreeEnd } from './containment.js';
import { Ending } from './ending.js';
import { openFiles, type OpenFiles } from './files.js';
import { findHolders } from './holders.js';
import { Feeder } from './input.js';
import { takeRunOptions, type RunOptions, type RunWish } from './options.js';
import { openPoured, pipeInode } from './pour.js';
import { Patience, pollOnce } from './patience.js';
import { assembleReport, type RunReport } from './report.js';
import { watchForStall } from './stall.js';

/** How long a target that could not be ended is given to be heard of all the same, in milliseconds. */
const LAST_WORD = 100;

/** A run under way: a promise of its report. */
export interface Run extends Promise<RunReport> {
  /** Ends it, as the abort of `signal` does. */
  abort(): void;
  /** Takes a process out of the run on purpose: it is not ended with it, and the report lists it. */
  release(pid: number): void;
  /** Resolves with the target's pid once it runs; null where it was not started. Never rejects. */
  readonly started: Promise<number | null>;
}

export function run(file: string, options: RunOptions): Run;
export function run(file: string, args?: readonly string[], options?: RunOptions): Run;
/**
 * Starts a program as `launch` does and stays with it: until its end, until its output has been read,
 * until nothing of it is left. Whatever becomes of it, also that the system refuses to start it, is in
 * the report.
 *
 * @throws {SallyportTypeError | SallyportError} a mistake of the caller (`ERR_SALLYPORT_…`), as a
 *   rejection; what a listener for lines has thrown; a record that cannot be written
 */
export function run(
  file: string,
  argsOrOptions?: readonly string[] | RunOptions,
  options?: RunOptions,
): Run {
  const [args, given] = splitArguments(argsOrOptions, options);
  const handle = new Handle();
  return Object.assign(superviseRun(file, args, given, handle), {
    started: handle.started,
    abort: () => handle.ending?.begin('aborted'),
    release: (pid: number) => handle.contained?.release(pid),
  });
}

/** What the caller can reach of a run under way. */
class Handle {
  ending: Ending | null = null;
  contained: Contained | null = null;
  readonly started: Promise<number | null>;
  #tell!: (pid: number | null) => void;

  constructor() {
    this.started = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  start(contained: Contained): void {
    this.contained = contained;
    this.#tell(contained.child.pid);
  }

  close(): void {
    this.#tell(null);
    this.ending?.close();
  }
}

async function superviseRun(
  file: string,
  args: unknown,
  given: unknown,
  handle: Handle,
): Promise<RunReport> {
  let files: OpenFiles | null = null;
  let admission: Admission | null = null;
  try {
    const wish = takeRunOptions(given);
    admission = wish.admission;
    const clock = startClock();
    const ending = (handle.ending = new Ending(wish));
    const begin = { wish, clock, ending };
    let contained: Contained | null;
    try {
      files = openFiles(wish, file);
      contained = await start(file, args, wish, ending);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return await reportUnstarted(begin, files, error);
    }
    if (contained === null) return await reportUnstarted(begin, files, null);
    handle.start(contained);
    return await accompany(contained, begin, files);
  } finally {
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
  wish: RunWish,
  ending: Ending,
): Promise<Contained | null> {
  if (ending.kind !== undefined) return null;
  const plan = wish.admission === null ? wish.plan : await wish.admission.prepare(wish.plan);
  const options = { ...plan, signal: ending.launchSignal };
  try {
    return await wish.containment.contain(file, args, options, { openOutput: openPoured });
  } catch (error) {
    if (ending.kind !== undefined && (error as Error).name === 'AbortError') return null;
    throw error;
  }
}

async function accompany(
  contained: Contained,
  { wish, clock, ending }: Beginning,
  files: OpenFiles,
): Promise<RunReport> {
  const { child } = contained;
  const channels = openChannels(child, wish, ending, files);
  files.input.start(child.stdin);
  ending.attach(contained);
  watchStall(child.pid, wish, ending, channels);

  await Promise.race([child.exited, contained.ended]);
  const durationMs = clock.elapsed();
  let unreadable = 0;
  if (ending.kind === undefined) {
    // The target has ended by itself: what it wrote is read, and for others who hold its pipes there
    // is some patience. Where the run is being ended nothing is waited for but its end.
    await finishReading(channels, wish.drain, ending.begun);
    if (ending.kind === undefined) unreadable = await stopReading(channels);
  }
  contained.end(wish.grace);
  const end = await contained.ended;
  const status = await takeStatus(contained, end);
  // Whoever has a pipe open now is outside of the run, or cannot be ended.
  const patience = new Patience(wish.grace);
  await finishReading(channels, wish.drain, patience.over);
  patience.cancel();
  unreadable = Math.max(unreadable, await stopReading(channels));
  const input = files.input.stop();
  await files.flush(channels, ending.begun, wish.grace);
  ending.close();

  const report = assembleReport({
    startedAt: clock.startedAt,
    durationMs,
    plan: child.plan,
    admission: wish.admission,
    error: null,
    status,
    ending,
    output: await reportChannels(channels),
    input,
    method: wish.containment,
    end,
    unreadableHolders: unreadable,
  });
  files.appendRecord(report);
  if (ending.fault !== undefined) throw ending.fault;
  return report;
}

interface Channels {
  readonly stdout: Channel;
  readonly stderr: Channel;
}

function openChannels(
  { stdout, stderr }: Pick<Child, 'stdout' | 'stderr'>,
  { output }: RunWish,
  ending: Ending,
  sinks: Pick<OpenFiles, 'stdout' | 'stderr'>,
): Channels {
  const listener = {
    onExceeded: (): void => {
      ending.begin('output-limit');
    },
    onFault: (error: Error): void => {
      ending.fault ??= error;
      ending.begin('aborted');
    },
  };
  return {
    stdout: new Channel(stdout, output.stdout, sinks.stdout, listener),
    stderr: new Channel(stderr, output.stderr, sinks.stderr, listener),
  };
}

function watchStall(
  target: number,
  { stall }: RunWish,
  ending: Ending,
  { stdout, stderr }: Channels,
): void {
  if (stall === undefined) return;
  const stopWatching = watchForStall(target, stall, [stdout, stderr], (evidence) => {
    if (ending.kind === undefined) ending.stall = evidence;
    ending.begin('stalled');
  });
  ending.onClose(stopWatching);
}

/** Until both have ended; or the time has passed and what is in the pipes by then has been read. */
async function finishReading(
  { stdout, stderr }: Channels,
  time: number,
  interrupted: Promise<void>,
): Promise<void> {
  const closed = Promise.all([stdout.closed, stderr.closed]);
  const patience = new Patience(time);
  await Promise.race([closed, patience.over, interrupted]);
  patience.cancel();
  await Promise.race([Promise.all([stdout.drained(), stderr.drained()]), interrupted]);
}

/** @returns how many processes could not be asked whether they hold a pipe */
async function stopReading({ stdout, stderr }: Channels): Promise<number> {
  const open = [stdout, stderr].filter((channel) => channel.isOpen);
  if (open.length === 0) return 0;
  const inodes = open.map((channel) => pipeInode(channel.stream));
  const { holders, unreadable } = findHolders(inodes.filter((inode) => inode !== undefined));
  // The holder may have let go just now.
  await pollOnce();
  for (const [index, channel] of open.entries()) {
    const heldBy = holders.get(inodes[index] ?? -1n) ?? [];
    channel.stop(heldBy.length > 0 || unreadable > 0 ? 'held' : 'cut', heldBy);
  }
  return unreadable;
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
    output: await reportChannels(openChannels(nothing, wish, ending, nothing)),
    input: new Feeder(undefined).stop(),
    method: wish.containment,
    end: { signalled: [], survivors: [], released: [], lost: false, treeUsage: null },
    unreadableHolders: 0,
  });
  files?.appendRecord(report);
  return report;
}

async function reportChannels({ stdout, stderr }: Channels): Promise<RunReport['output']> {
  return { stdout: await stdout.report(), stderr: await stderr.report() };
}

function isRefusal(error: unknown): error is SallyportError {
  if (!(error instanceof SallyportError)) return false;
  return (
    !error.code.startsWith('ERR_SALLYPORT_') ||
    error.stage === 'verify' ||
    error.code === 'ERR_SALLYPORT_NOT_ADMITTED'
  );
}

interface Clock {
  readonly startedAt: string;
  /** Milliseconds. */
  elapsed(): number;
}

function startClock(): Clock {
  const start = performance.now();
  return {
    startedAt: new Date().toISOString(),
    elapsed: () => Math.round((performance.now() - start) * 1000) / 1000,
  };
}
