// The child's environment: constructed from an empty record, never by deleting from ours.
import { isOurs } from '../copies.js';
import { invalid } from '../errors.js';
import { defaultEnvironment, Environment } from './create-environment.js';
import {
  describeGrant,
  freezeRecord,
  recordAll,
  type EnvironmentRecord,
} from './environment-record.js';
import { requirePermissions } from '../runtime.js';
import { emptyRecord, takeVariables, type Variables } from './variables.js';

export interface ResolvedEnvironment {
  readonly variables: Variables;
  readonly source: 'default' | 'explicit' | 'inherit';
  /** Null for a plain record and for 'inherit': made when somebody asks. */
  readonly record: EnvironmentRecord | null;
}

export function resolveEnvironment(env: unknown): ResolvedEnvironment {
  requirePermissions();
  if (env === undefined || env === null) return resolved(defaultEnvironment(), 'default');
  if (isOurs(env, Environment, 'env')) return resolved(env, 'explicit');
  const source = env === 'inherit' ? 'inherit' : 'explicit';
  const variables = takeVariables(env === 'inherit' ? process.env : env, 'env');
  return { variables: Object.freeze(variables), source, record: null };
}

function resolved(
  { variables, record }: Environment,
  source: ResolvedEnvironment['source'],
): ResolvedEnvironment {
  return { variables, source, record };
}

/** What is said of it. Not on the way of a launch: with many variables it takes longer than that. */
export function recordEnvironment(
  variables: Variables,
  source: ResolvedEnvironment['source'],
  record: EnvironmentRecord | null,
): EnvironmentRecord {
  return record ?? recordAll(Object.keys(variables), source === 'inherit' ? 'inherited' : 'given');
}

/** The variables by which a program learns of sockets that it was given, sd_listen_fds(3). */
const LISTEN_VARIABLES = ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES'];

/** LISTEN_PID is left to the launcher: nobody knows the pid before. */
export function announceListeners(
  environment: ResolvedEnvironment,
  listeners: readonly { readonly name: string }[],
): ResolvedEnvironment {
  if (listeners.length === 0) return environment;
  const taken = LISTEN_VARIABLES.find((name) => Object.hasOwn(environment.variables, name));
  if (taken !== undefined) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'listeners',
      `${taken} is in env as well; leave it out there`,
    );
  }
  const variables = Object.assign(emptyRecord(), environment.variables, {
    LISTEN_FDS: String(listeners.length),
    LISTEN_FDNAMES: listeners.map(({ name }) => name).join(':'),
  });
  const announced = LISTEN_VARIABLES.map((name) =>
    describeGrant(name, 'listeners', 'announces the sockets of listeners'),
  );
  const { source } = environment;
  const record = recordEnvironment(environment.variables, source, environment.record);
  return {
    variables: Object.freeze(variables),
    source,
    record: freezeRecord({ ...record, grants: [...record.grants, ...announced] }),
  };
}
