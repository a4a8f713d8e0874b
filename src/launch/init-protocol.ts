// The words between an init and us, native/launcher/instructions.h.
import type { InitReport } from './outcomes.js';

export const COMMAND = { end: 1, kill: 2, signal: 3, signalGroup: 4, release: 5 } as const;
export const REPORT = { silent: 0, started: 1, exited: 2, signalled: 3, empty: 4 } as const;

/** si_code, waitid(2) */
const CLD_EXITED = 1;
const CLD_DUMPED = 3;

/** Exit status, signal and core dump of an `exited` report. */
export function decodeExit({ code, status }: InitReport): {
  code: number | null;
  signal: number | null;
  coreDumped: boolean;
} {
  return code === CLD_EXITED
    ? { code: status, signal: null, coreDumped: false }
    : { code: null, signal: status, coreDumped: code === CLD_DUMPED };
}
