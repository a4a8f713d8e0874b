// What failing-calls.cjs gives.
import type { SpawnOptions } from '../../src/index.js';
import type { Storm } from './storm.js';

export type FailingCall =
  | 'plan: a TypeError'
  | 'lookup: missing'
  | 'lookup: not executable'
  | 'cwd: missing'
  | 'cwd: not a directory'
  | 'cwd: not permitted'
  | 'descriptor: not open'
  | 'descriptor: above the limit'
  | 'descriptor: unexpected'
  | 'descriptor: EMFILE'
  | 'exec: missing interpreter'
  | 'exec: no #!'
  | 'exec: too big'
  | 'exec: busy'
  | 'process: EAGAIN';

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
