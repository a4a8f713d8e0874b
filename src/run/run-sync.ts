// A run from its call to its report without the event loop: as `run`, in the order of run.ts.
import type { Readable, Writable } from 'node:stream';

import type { SallyportError } from '../errors.js';
import type { ExitStatus } from '../launch/outcomes.js';
import { findClosed } from '../launch/held.js';
import { splitArguments } from '../launch/spawn.js';
import { SyncWait } from '../launch/sync-wait.js';
import type { RawOptions } from '../plan/options.js';
import { unseenChannel } from './channel-report.js';
import { startClock, type Clock } from './clock.js';
import type { TreeEnd } from './containment.js';
import type { EndingKind } from './ending.js';
import { findHolders } from './holders.js';
import { takeRunOptions, type RunInput, type RunOptions, type RunWish } from './options.js';
import type { ChannelOptions, OutputOptions } from './output-options.js';
import { limitReading } from './reading-limit.js';
import { assembleReport, type Findings, type RunReport } from './report.js';
import { isRefusal, LAST_WORD } from './run.js';
import { dropSpares, keepSpares } from './spare.js';
import { watchForStall, type StallEvidence } from './stall.js';
import { SyncChannel } from './sync-channel.js';
import { containSync, type SyncContained } from './sync-containment.js';
import { SyncFileChannel } from './sync-file-channel.js';
import { openSyncFiles, requireSynchronous, type SyncFiles } from './sync-files.js';

/** What `run` takes, but for what only the event loop could serve. */
export interface RunSyncOptions extends Omit<
  RunOptions,
  'signal' | 'input' | 'output' | 'profile'
> {
  /** A string, bytes, or `{ file }`. */
  input?: Exclude<RunInput, Readable> | undefined;
  /**
   * What is kept of the output, and where else it goes. Without the event loop: no stream, no
   * promise.
   */
  output?: Omit<OutputOptions, 'stdout' | 'stderr'> & {
    /** Where stdout differs. */
    stdout?: SyncChannelOptions | undefined;
    /** Where stderr differs; not with `merge`. */
    stderr?: SyncChannelOptions | undefined;
  };
}

/** A function for each line must return nothing to wait for. */
export interface SyncChannelOptions extends Omit<ChannelOptions, 'to'> {
  /** A path, a `file:` URL, or a function that returns nothing to wait for. */
  to?: Exclude<ChannelOptions['to'], Writable | undefined> | undefined;
}

/**
 * As `run`, and the report when it is over. This thread does nothing else meanwhile: no timer of it
 * runs and no signal is heard.
 *
 * @throws {SallyportTypeError | SallyportError} a mistake of the caller (`ERR_SALLYPORT_…`); what a
 *   listener for lines has thrown; a record that cannot be written
 */
export function runSync(file: string, options: RunSyncOptions): RunReport;
export function runSync(
  file: string,
  args?: readonly string[],
  options?: RunSyncOptions,
): RunReport;
export function runSync(
  file: string,
  argsOrOptions?: readonly string[] | RunSyncOptions,
  options?: RunSyncOptions,
): RunReport {
  const [args, given] = splitArguments(argsOrOptions, options);
  const wish = takeRunOptions(given);
  requireSynchronous(wish);
  return new SyncRun(file, args, wish).supervise();
}

class SyncRun {
  readonly #file: string;
  readonly #args: unknown;
  readonly #wish: RunWish;
  readonly #clock: Clock = startClock();
  /** Why it is ended by us: the first reason. */
  #kind: EndingKind | undefined;
  #stall: StallEvidence | undefined;
  /** What a listener of the caller's has thrown. */
  #fault: Error | undefined;
  #contained: SyncContained | null = null;

  constructor(file: string, args: unknown, wish: RunWish) {
    this.#file = file;
    this.#args = args;
    this.#wish = wish;
  }

  supervise(): RunReport {
    let wait: SyncWait | null = null;
    let files: SyncFiles | null = null;
    const closed = findClosed(this.#file, this.#wish.plan);
    keepSpares();
    try {
      try {
        wait = SyncWait.openFor(this.#file);
        files = openSyncFiles(this.#wish, this.#file, wait);
        if (closed !== null) throw closed;
        this.#contained = this.#start(wait, files.outputs.place(this.#wish.plan));
      } catch (error) {
        if (!isRefusal(error)) throw error;
        return this.#reportUnstarted(files, error);
      }
      if (this.#contained === null) return this.#reportUnstarted(files, null);
      return this.#accompany(this.#contained, wait, files);
    } finally {
      dropSpares();
      if (this.#contained !== null && this.#contained.ended === null) this.#contained.abandon();
      files?.close();
      wait?.close();
    }
  }

  #start(wait: SyncWait, options: RawOptions): SyncContained | null {
    const { deadline, containment } = this.#wish;
    if (deadline !== undefined) wait.after(deadline, () => this.#begin('deadline'));
    const launch = {
      file: this.#file,
      args: this.#args,
      options,
      isWithdrawn: () => this.#kind !== undefined,
    };
    return containSync(containment, launch, wait);
  }

  #begin(kind: EndingKind): void {
    if (this.#kind !== undefined) return;
    this.#kind = kind;
    this.#contained?.end(this.#wish.grace);
  }

  #accompany(contained: SyncContained, wait: SyncWait, files: SyncFiles): RunReport {
    const { grace, drain, deadline } = this.#wish;
    const channels = this.#openChannels(contained, wait, files);
    const stopWatching = this.#watchStall(contained.pid, channels, wait);
    const isEnding = (): boolean => this.#kind !== undefined;
    const hasEnded = (): boolean => contained.ended !== null;

    // The reason may have come before there was something to end.
    if (isEnding()) contained.end(grace);
    wait.until(() => contained.status !== null || hasEnded());
    const durationMs = this.#clock.elapsed();
    const unreadableBefore = this.#readOutput(channels, wait);
    contained.end(grace);
    wait.until(hasEnded);
    const status = takeStatus(contained, wait);
    // Whoever has a pipe open now is outside of the run, or cannot be ended.
    finishReading(channels, Math.min(drain, grace), () => false, wait);
    const unreadableAfter = stopReading(channels);
    const input = files.input.stop();
    const areDelivered = (): boolean => channels.every(({ isDelivered }) => isDelivered);
    wait.until(() => areDelivered() || isEnding());
    wait.untilOr(areDelivered, grace);
    for (const channel of channels) channel.finish();
    stopWatching();

    // Nothing else is looked at while a file is read.
    const isLate = (): boolean => {
      if (deadline !== undefined && this.#clock.elapsed() > deadline) this.#begin('deadline');
      return isEnding();
    };
    const report = this.#assemble({
      durationMs,
      plan: contained.plan,
      admission: null,
      error: null,
      status,
      output: reportChannels(channels, limitReading(isLate)),
      input,
      end: contained.ended ?? NOTHING_LEFT,
      unreadableHolders: Math.max(unreadableBefore, unreadableAfter),
    });
    files.appendRecord(report);
    if (this.#fault !== undefined) throw this.#fault;
    return report;
  }

  /** As `readOutput` of run.ts. */
  #readOutput(channels: Channels, wait: SyncWait): number {
    const isEnding = (): boolean => this.#kind !== undefined;
    if (isEnding()) return 0;
    finishReading(channels, this.#wish.drain, isEnding, wait);
    return isEnding() ? 0 : stopReading(channels);
  }

  #openChannels({ plan, ours }: SyncContained, wait: SyncWait, files: SyncFiles): Channels {
    const listener = {
      onExceeded: () => this.#begin('output-limit'),
      onFault: (error: Error) => {
        this.#fault ??= error;
        this.#begin('aborted');
      },
    };
    const pipes = [...ours];
    const pipeAt = (target: number): number | null =>
      plan.descriptors[target]?.channel === 'pipe' ? (pipes.shift() ?? null) : null;
    const [stdin, stdout, stderr] = [pipeAt(0), pipeAt(1), pipeAt(2)];
    const { output } = this.#wish;
    const open = (name: 'stdout' | 'stderr', fd: number | null): AnyChannel => {
      const file = files.outputs[name];
      return file === null
        ? new SyncChannel(fd, output[name], files[name], listener, wait)
        : new SyncFileChannel(file, output[name], listener.onExceeded, wait);
    };
    const channels = [open('stdout', stdout), open('stderr', stderr)] as const;
    files.input.start(stdin);
    return channels;
  }

  #watchStall(target: number, channels: Channels, wait: SyncWait): () => void {
    const { stall } = this.#wish;
    if (stall === undefined) return () => undefined;
    return watchForStall(target, stall, channels, wait, (evidence) => {
      if (this.#kind === undefined) this.#stall = evidence;
      this.#begin('stalled');
    });
  }

  #reportUnstarted(files: SyncFiles | null, error: SallyportError | null): RunReport {
    const report = this.#assemble({
      durationMs: this.#clock.elapsed(),
      plan: null,
      admission: null,
      error,
      status: null,
      output: { stdout: unseenChannel(), stderr: unseenChannel() },
      input: { bytesWritten: 0, error: null, sourceError: null },
      end: NOTHING_LEFT,
      unreadableHolders: 0,
    });
    files?.appendRecord(report);
    return report;
  }

  #assemble(found: Found): RunReport {
    return assembleReport({
      ...found,
      startedAt: this.#clock.startedAt,
      ending: { kind: this.#kind, stall: this.#stall },
      method: this.#wish.containment,
    });
  }
}

type Found = Omit<Findings, 'startedAt' | 'ending' | 'method'>;
type AnyChannel = SyncChannel | SyncFileChannel;
type Channels = readonly [stdout: AnyChannel, stderr: AnyChannel];

const NOTHING_LEFT: TreeEnd = {
  signalled: [],
  survivors: [],
  released: [],
  lost: false,
  treeUsage: null,
};

/** Until both have ended; or the time has passed and what is in the pipes by then has been read. */
function finishReading(
  channels: Channels,
  time: number,
  isInterrupted: () => boolean,
  wait: SyncWait,
): void {
  wait.untilOr(() => channels.every(({ isOpen }) => !isOpen) || isInterrupted(), time);
  for (const channel of channels) if (!isInterrupted()) channel.drain();
}

/** @returns how many processes could not be asked whether they hold a pipe */
function stopReading(channels: Channels): number {
  const open = channels.filter(({ isOpen }) => isOpen);
  if (open.length === 0) return 0;
  const inodes = open.map(({ inode }) => inode);
  const { holders, unreadable } = findHolders(inodes.filter((inode) => inode !== undefined));
  for (const [index, channel] of open.entries()) {
    // The holder may have let go just now.
    channel.drain();
    const heldBy = holders.get(inodes[index] ?? -1n) ?? [];
    channel.stop(heldBy.length > 0 || unreadable > 0 ? 'held' : 'cut', heldBy);
  }
  return unreadable;
}

function takeStatus(contained: SyncContained, wait: SyncWait): ExitStatus | null {
  // It may be among the survivors, and never be heard of again.
  wait.untilOr(() => contained.status !== null, LAST_WORD);
  return contained.status;
}

function reportChannels([stdout, stderr]: Channels, isTooLate: () => boolean): RunReport['output'] {
  return { stdout: stdout.report(isTooLate), stderr: stderr.report(isTooLate) };
}
