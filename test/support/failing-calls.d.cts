// What failing-calls.cjs gives.
import type { SpawnOptions } from '../../src/index.js';
import type { Storm } from './storm.js';

type Failure =
  | 'plan: a TypeError'
  | 'plan: a wrong signal'
  | 'lookup: missing'
  | 'lookup: a missing path'
  | 'lookup: a missing path in cwd'
  | 'lookup: below a file'
  | 'lookup: a directory'
  | 'lookup: not executable'
  | 'cwd: missing'
  | 'cwd: not a directory'
  | 'descriptor: not open'
  | 'descriptor: above the limit'
  | 'descriptor: unexpected'
  | 'descriptor: EMFILE'
  | 'terminal: none'
  | 'exec: missing interpreter'
  | 'exec: no #!'
  | 'exec: too big'
  | 'exec: busy';

type Unprivileged = 'cwd: not permitted' | 'process: EAGAIN';

export type FailingCall = Failure | Unprivileged;

/** Each with the stage that its error names. */
export const FAILURES: Readonly<Record<Failure, string>>;

/** Those of a process that has no privileges. */
export const UNPRIVILEGED: Readonly<Record<Unprivileged, string>>;

export interface FailingTools {
  storm: Storm;
  /** A directory of the caller's own, once for each call. */
  scratch: string;
  /** An open descriptor, which `all` passes. */
  source: number;
  /** What stands in each call. */
  all: SpawnOptions;
}

export function prepareFailure(
  kind: FailingCall,
  tools: FailingTools,
): [file: string, args: string[], options: SpawnOptions];
