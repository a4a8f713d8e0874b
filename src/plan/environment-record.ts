// What is said of an environment in plans and reports: names, where each comes from and why. No value.
import { flagName, type NameFlag } from './flagged-names.js';

/**
 * `allowed`, `preset`: passed because it was named so. `cache`: leads to a cache that was granted.
 * `credentials`: made for the run. `set`: with a value of the caller's. `given`: of a record that is
 * the whole environment. `inherited`: by `env: 'inherit'`. `listeners`: announces sockets.
 */
export type GrantOrigin =
  'allowed' | 'preset' | 'cache' | 'credentials' | 'set' | 'given' | 'inherited' | 'listeners';

/** A variable that is there because somebody asked for it. */
export interface EnvironmentGrant {
  /** Name of the variable. */
  readonly name: string;
  /** Why it is there. */
  readonly origin: GrantOrigin;
  /** Why it is there, as given, or `no reason given`. */
  readonly reason: string;
  /** Where the name is known to do more than inform. */
  readonly flag?: NameFlag;
}

/** A directory outside of the workspace that a tool may read. */
export interface CacheGrant {
  /** Which cache. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Why it is granted, as given. */
  readonly reason: string;
}

/** What is in an environment and why. Names, and never a value. */
export interface EnvironmentRecord {
  /** Id of the run, or null. */
  readonly runId: string | null;
  /** Absolute path. */
  readonly workspace: string | null;
  /** Names with a value of ours: PATH, and those of the workspace. */
  readonly fixed: readonly string[];
  /** Names of `LANG`, `LC_ALL`, `TZ`, `TERM`, which grant nothing. */
  readonly passedThrough: readonly string[];
  /** What somebody asked for. */
  readonly grants: readonly EnvironmentGrant[];
  /** Caches that were granted. */
  readonly caches: readonly CacheGrant[];
  /** Absolute paths of files with credentials that were made for the run. */
  readonly files: readonly string[];
  /** Names that were allowed, and are not set in this process. */
  readonly absent: readonly string[];
}

export const NO_REASON = 'no reason given';

export function describeGrant(
  name: string,
  origin: GrantOrigin,
  reason: string = NO_REASON,
): EnvironmentGrant {
  const flag = flagName(name);
  return Object.freeze({ name, origin, reason, ...(flag === undefined ? {} : { flag }) });
}

/** Of an environment that was not made by `createEnvironment`. */
export function recordAll(names: readonly string[], origin: GrantOrigin): EnvironmentRecord {
  return freezeRecord({
    runId: null,
    workspace: null,
    fixed: [],
    passedThrough: [],
    grants: names.map((name) => describeGrant(name, origin)),
    caches: [],
    files: [],
    absent: [],
  });
}

export function freezeRecord(record: EnvironmentRecord): EnvironmentRecord {
  for (const list of Object.values(record)) Object.freeze(list);
  return Object.freeze(record);
}
