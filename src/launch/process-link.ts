// What a Child needs of the process behind it, and the plain way to have it.
import { native } from '../native.js';
import { expectExit, type ExitReceiver } from './events.js';
import type { Launched } from './outcomes.js';

export interface ProcessLink {
  readonly pid: number;
  /** 0 or a positive errno; ESRCH once the process has been reaped. */
  signal(signal: number): number;
  signalGroup(signal: number): number;
  /** The receiver is kept until it has heard. */
  expectExit(receiver: ExitReceiver): void;
  /** Its number is not needed any longer, where it was launched with `keepsZombie`. */
  releaseZombie?(): void;
}

/** A process that the reaper watches. */
export function linkToReaper({ id, pid }: Launched): ProcessLink {
  return {
    pid,
    signal: (signal) => native().signal(id, signal),
    signalGroup: (signal) => native().signalGroup(id, signal),
    expectExit: (receiver) => {
      expectExit(id, receiver);
    },
    releaseZombie: () => {
      native().releaseZombie(id);
    },
  };
}
