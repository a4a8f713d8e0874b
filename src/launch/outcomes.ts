// What the addon tells of launches and children, as records.
import {
  EVENT_LAUNCH,
  type NativeChild,
  type NativeExit,
  type NativeFailure,
  type NativeLaunch,
  type NativeLaunchFailure,
  type NativeReport,
} from '../native-binding.js';
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
