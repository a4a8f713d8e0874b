// Brings exit statuses from the reaper to the children that they belong to.
import { native, type NativeExit } from '../native.js';
import { signalName } from './signals.js';

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
  readonly minorPageFault: number;
  readonly majorPageFault: number;
  /** Blocks of 512 bytes. */
  readonly fsRead: number;
  readonly fsWrite: number;
  readonly voluntaryContextSwitches: number;
  readonly involuntaryContextSwitches: number;
}

export interface ExitStatus {
  /** Exit status, or null where a signal ended the child. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly coreDumped: boolean;
  /** Somebody else in this process reaped the child: code and signal are unknown, both null. */
  readonly lost: boolean;
  /** All zero where somebody else reaped the child. */
  readonly resourceUsage: ResourceUsage;
}

export interface ExitReceiver {
  receiveExit(status: ExitStatus): void;
}

const waiting = new Map<number, ExitReceiver>();
let listening = false;
let referenced = 0;

/** Before the first launch of this environment. */
export function listenForExits(): void {
  if (listening) return;
  native().onExit(deliver);
  listening = true;
}

/** The map keeps the receiver alive until its child has ended. */
export function expectExit(id: number, receiver: ExitReceiver): void {
  waiting.set(id, receiver);
}

/** Referenced children keep the event loop running. */
export function countReference(change: 1 | -1): void {
  const before = referenced;
  referenced += change;
  if ((before === 0) !== (referenced === 0)) native().keepAlive(referenced > 0);
}

function deliver(exits: readonly NativeExit[]): void {
  for (const exit of exits) {
    const receiver = waiting.get(exit[0]);
    waiting.delete(exit[0]);
    try {
      receiver?.receiveExit(decode(exit));
    } catch (error) {
      // Thrown from here, a native callback, Node would only warn and go on. From the event loop it
      // is an uncaught exception as everywhere, and the other children have their exits.
      process.nextTick(() => {
        throw error;
      });
    }
  }
}

function decode([, code, signal, coreDumped, lost, ...usage]: NativeExit): ExitStatus {
  const at = (index: number): number => usage[index] ?? 0;
  return {
    code: code === -1 ? null : code,
    signal: signal === 0 ? null : signalName(signal),
    coreDumped: coreDumped === 1,
    lost: lost === 1,
    resourceUsage: {
      userCPUTime: at(0),
      systemCPUTime: at(1),
      maxRSS: at(2),
      minorPageFault: at(3),
      majorPageFault: at(4),
      fsRead: at(5),
      fsWrite: at(6),
      voluntaryContextSwitches: at(7),
      involuntaryContextSwitches: at(8),
    },
  };
}
