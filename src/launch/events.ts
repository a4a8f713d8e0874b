// Brings what happened on native threads to the launches and children that it belongs to.
import {
  EVENT_EXIT,
  EVENT_LAUNCH,
  EVENT_READY,
  EVENT_REPORT,
  EVENT_USER,
  type NativeBinding,
  type NativeChild,
  type NativeEvent,
  type NativeExit,
  type NativeFailure,
  type NativeLaunch,
  type NativeLaunchFailure,
  type NativeReport,
  type NativeUser,
} from '../native-binding.js';
import { native } from '../native.js';
import { signalName } from '../signals.js';
import { splitEvidence } from './evidence.js';

/** getrusage(2) of one child, with the names and units of process.resourceUsage(). */
export interface ResourceUsage {
  /** Microseconds. */
  readonly userCPUTime: number;
  /** Microseconds. */
  readonly systemCPUTime: number;
  /**
   * KiB. Not below what this process itself had at the launch: the kernel counts the memory that a
   * child shares with its parent until exec.
   */
  readonly maxRSS: number;
  /** Faults that needed no disk, ru_minflt of getrusage(2). */
  readonly minorPageFault: number;
  /** Faults that did, ru_majflt. */
  readonly majorPageFault: number;
  /** Blocks of 512 bytes. */
  readonly fsRead: number;
  /** Blocks of 512 bytes that were written, ru_oublock. */
  readonly fsWrite: number;
  /** Times that it waited for something, ru_nvcsw. */
  readonly voluntaryContextSwitches: number;
  /** Times that the processor was taken from it, ru_nivcsw. */
  readonly involuntaryContextSwitches: number;
}

/** How a child ended. */
export interface ExitStatus {
  /** Exit status, or null where a signal ended the child. */
  readonly code: number | null;
  /** Signal name, or null. Realtime signals without a name are `SIG34` and so on. */
  readonly signal: NodeJS.Signals | null;
  /** Whether it left a core. */
  readonly coreDumped: boolean;
  /** Somebody else in this process reaped the child: code and signal are unknown, both null. */
  readonly lost: boolean;
  /** All zero where somebody else reaped the child. */
  readonly resourceUsage: ResourceUsage;
}

export interface ExitReceiver {
  receiveExit(status: ExitStatus): void;
}

/** What the native side gave for one launch. */
export interface Launched {
  readonly id: number;
  readonly pid: number;
  /** Of an init: the pid of the program that it started. */
  readonly program: number;
  /** Our ends of the pipes, in the order of the plan's channels. */
  readonly ours: readonly number[];
  /** What a verification saw, for `keepEvidence`; '' where there was none. */
  readonly evidence: string;
}

/** What an init says, native/launcher/instructions.h. */
export interface InitReport {
  /** REPORT_*; 0: no more comes. */
  readonly kind: number;
  readonly pid: number;
  readonly code: number;
  readonly status: number;
  /** In the order of NativeExit. */
  readonly usage: readonly number[];
}

export interface ReportReceiver {
  receiveReport(report: InitReport): void;
}

export interface LaunchReceiver {
  receiveLaunch(outcome: Launched | NativeFailure): void;
}

export interface UserReceiver {
  receiveUser(outcome: NativeUser): void;
}

// The maps keep receivers alive until they have heard.
const children = new Map<number, ExitReceiver>();
const launches = new Map<number, LaunchReceiver>();
const inits = new Map<number, ReportReceiver>();
const pipes = new Map<number, () => void>();
const users = new Map<number, UserReceiver>();
// Children whose launch was delivered in this turn of the event loop, and what else is heard of them:
// whoever awaits a launch comes first, and can listen for the exit. Launches never wait, so that
// nothing can overtake the launch of its child.
const fresh = new Set<number>();
let early: NativeEvent[] = [];
// Exits that came before the launch of their child, by id: where each child is watched by a thread
// of its own, without pidfds.
const premature = new Map<number, NativeExit>();
let referenced = 0;

/** What is done once in an environment, where the addon has one callback. */
interface EventDesk {
  expectExit(id: number, receiver: ExitReceiver): void;
  ignoreExit(id: number): void;
  expectReports(init: number, receiver: ReportReceiver): void;
  expectLaunch(job: number, receiver: LaunchReceiver): void;
  expectReadiness(pipe: number, call: () => void): void;
  ignoreReadiness(pipe: number): void;
  expectUser(lookup: number, receiver: UserReceiver): void;
  countReference(change: 1 | -1): void;
}

// Of the copy of this module that came first: the package may be loaded twice in one environment,
// bundled and from its sources, say, with one addon.
const DESK = Symbol.for('sallyport.events');
let desk: EventDesk | undefined;

function openDesk(): EventDesk {
  if (desk !== undefined) return desk;
  const binding = native() as NativeBinding & { [DESK]?: EventDesk };
  desk = binding[DESK];
  if (desk === undefined) {
    binding.onEvents(deliver);
    desk = {
      expectExit: addChild,
      ignoreExit: ignoreChild,
      expectReports: addInit,
      expectLaunch: addLaunch,
      expectReadiness: (pipe, call) => pipes.set(pipe, call),
      ignoreReadiness: (pipe) => pipes.delete(pipe),
      expectUser: (lookup, receiver) => users.set(lookup, receiver),
      countReference: addReferences,
    };
    binding[DESK] = desk;
  }
  return desk;
}

/** Before the first launch of this environment. */
export function listenForEvents(): void {
  openDesk();
}

export function expectExit(id: number, receiver: ExitReceiver): void {
  openDesk().expectExit(id, receiver);
}

/** Of a child that nobody holds. */
export function ignoreExit(id: number): void {
  openDesk().ignoreExit(id);
}

export function expectReports(init: number, receiver: ReportReceiver): void {
  openDesk().expectReports(init, receiver);
}

export function expectLaunch(job: number, receiver: LaunchReceiver): void {
  openDesk().expectLaunch(job, receiver);
}

/** @param call whenever a pipe of `watchPipe` may be tried again, until `ignoreReadiness` */
export function expectReadiness(pipe: number, call: () => void): void {
  openDesk().expectReadiness(pipe, call);
}

export function ignoreReadiness(pipe: number): void {
  openDesk().ignoreReadiness(pipe);
}

export function expectUser(lookup: number, receiver: UserReceiver): void {
  openDesk().expectUser(lookup, receiver);
}

/** Referenced children, and launches and lookups under way, keep the event loop running. */
export function countReference(change: 1 | -1): void {
  openDesk().countReference(change);
}

function addChild(id: number, receiver: ExitReceiver): void {
  children.set(id, receiver);
  const exit = premature.get(id);
  if (exit === undefined) return;
  premature.delete(id);
  early.push(exit);
}

function ignoreChild(id: number): void {
  if (!children.has(id)) addChild(id, { receiveExit: () => undefined });
}

function addInit(init: number, receiver: ReportReceiver): void {
  inits.set(init, receiver);
}

function addLaunch(job: number, receiver: LaunchReceiver): void {
  launches.set(job, receiver);
}

function addReferences(change: 1 | -1): void {
  const before = referenced;
  referenced += change;
  if ((before === 0) !== (referenced === 0)) native().keepAlive(referenced > 0);
}

function deliver(events: readonly NativeEvent[]): void {
  for (const event of events) {
    if ((event[0] === EVENT_EXIT || event[0] === EVENT_REPORT) && fresh.has(event[1])) {
      early.push(event);
      continue;
    }
    if (event[0] === EVENT_LAUNCH) {
      if (fresh.size === 0) setImmediate(deliverEarly);
      fresh.add(event[2]);
    }
    try {
      receive(event);
    } catch (error) {
      // Thrown from here, a native callback, Node would only warn and go on. From the event loop it
      // is an uncaught exception as everywhere, and the others have their events.
      process.nextTick(() => {
        throw error;
      });
    }
  }
}

function deliverEarly(): void {
  const events = early;
  early = [];
  fresh.clear();
  deliver(events);
}

function receive(event: NativeEvent): void {
  if (event[0] === EVENT_EXIT) {
    const receiver = children.get(event[1]);
    if (receiver === undefined) premature.set(event[1], event);
    children.delete(event[1]);
    receiver?.receiveExit(toExitStatus(event));
    return;
  }
  if (event[0] === EVENT_REPORT) {
    const [, init, kind] = event;
    const receiver = inits.get(init);
    if (kind === 0) inits.delete(init);
    receiver?.receiveReport(toInitReport(event));
    return;
  }
  if (event[0] === EVENT_READY) {
    pipes.get(event[1])?.();
    return;
  }
  if (event[0] === EVENT_USER) {
    const receiver = users.get(event[1]);
    users.delete(event[1]);
    receiver?.receiveUser(event);
    return;
  }
  const receiver = launches.get(event[1]);
  launches.delete(event[1]);
  receiver?.receiveLaunch(toOutcome(event));
}

/** @param usage in the order of NativeExit */
export function toResourceUsage(usage: readonly number[]): ResourceUsage {
  const at = (index: number): number => usage[index] ?? 0;
  return {
    userCPUTime: at(0),
    systemCPUTime: at(1),
    maxRSS: at(2),
    minorPageFault: at(3),
    majorPageFault: at(4),
    fsRead: at(5),
    fsWrite: at(6),
    voluntaryContextSwitches: at(7),
    involuntaryContextSwitches: at(8),
  };
}

/** Of a launch that was waited for, or that an event tells of. */
export function toLaunched([id, pid, program, ...rest]: NativeChild): Launched {
  return { id, pid, program, ...splitEvidence(rest) };
}

export function toOutcome(event: NativeLaunch | NativeLaunchFailure): Launched | NativeFailure {
  if (event[0] === EVENT_LAUNCH) {
    const [, , ...child] = event;
    return toLaunched(child);
  }
  const [, , errno, stage, path] = event;
  return { errno, stage, path };
}

export function toInitReport([, , kind, pid, code, status, ...usage]: NativeReport): InitReport {
  return { kind, pid, code, status, usage };
}

export function toExitStatus([
  ,
  ,
  code,
  signal,
  coreDumped,
  lost,
  ...usage
]: NativeExit): ExitStatus {
  return {
    code: code === -1 ? null : code,
    signal: signal === 0 ? null : signalName(signal),
    coreDumped: coreDumped === 1,
    lost: lost === 1,
    resourceUsage: toResourceUsage(usage),
  };
}
