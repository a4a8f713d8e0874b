// The child's environment: constructed from an empty record, never by deleting from ours.
import { invalid } from '../errors.js';
import { isRecord, takeOwn, typeName } from '../own-properties.js';

export type Variables = Readonly<Record<string, string>>;

/** PATH of a child that is given none. */
export const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Passed through where the parent has them: they say how to print, and grant nothing. */
export const PASSED_THROUGH = ['LANG', 'LC_ALL', 'TZ', 'TERM'] as const;

export interface EnvironmentRequest {
  /** Names that also pass where the parent has them. */
  allow?: readonly string[];
  /** Variables with the values given here. They win over everything else. */
  set?: Readonly<Record<string, string | null | undefined>>;
}

/** A complete environment, as `createEnvironment` made it. */
export class Environment {
  /** Frozen, without a prototype. */
  readonly variables: Variables;

  /** @internal */
  constructor(variables: Variables) {
    this.variables = variables;
    Object.freeze(this);
  }
}

/**
 * The default environment plus what is named. Pure: reads `process.env` and changes nothing.
 *
 * @throws {SallyportTypeError} `ERR_SALLYPORT_INVALID_ENVIRONMENT` for malformed names and values
 */
export function createEnvironment(request: EnvironmentRequest = {}): Environment {
  const variables = defaultVariables();
  const { allow, set } = takeOwn(request, 'createEnvironment', ['allow', 'set']);
  if (allow !== undefined && !Array.isArray(allow)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'allow', 'must be an array of names');
  }
  (allow ?? []).forEach((name: unknown, index: number) => {
    copyOwn(validateName(name, `allow[${index}]`), variables);
  });
  if (set !== undefined) Object.assign(variables, takeVariables(set, 'set'));
  return new Environment(Object.freeze(variables));
}

function defaultVariables(): Record<string, string> {
  const variables = emptyRecord();
  variables.PATH = DEFAULT_PATH;
  for (const name of PASSED_THROUGH) copyOwn(name, variables);
  return variables;
}

export interface ResolvedEnvironment {
  readonly variables: Variables;
  readonly source: 'default' | 'explicit' | 'inherit';
}

export function resolveEnvironment(env: unknown): ResolvedEnvironment {
  if (env === undefined || env === null) {
    return { variables: Object.freeze(defaultVariables()), source: 'default' };
  }
  if (env === 'inherit') {
    return { variables: Object.freeze(takeVariables(process.env, 'env')), source: 'inherit' };
  }
  if (env instanceof Environment) return { variables: env.variables, source: 'explicit' };
  return { variables: Object.freeze(takeVariables(env, 'env')), source: 'explicit' };
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
  return { variables: Object.freeze(variables), source: environment.source };
}

/**
 * Own enumerable strings; undefined and null mean absent. A polluted Object.prototype adds nothing.
 * Messages name positions and well-formed names, never values.
 */
function takeVariables(env: unknown, option: string): Record<string, string> {
  if (!isRecord(env)) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      option,
      `must be an object of variables, not ${typeName(env)}; for env also createEnvironment({ … }) or 'inherit'`,
    );
  }
  const variables = emptyRecord();
  Object.keys(env).forEach((key, index) => {
    const value: unknown = (env as Record<string, unknown>)[key];
    if (value === undefined || value === null) return;
    const name = validateName(key, `name ${index + 1} of ${option}`);
    if (typeof value !== 'string') {
      throw malformed(`${option}.${name}`, `must be a string, not ${typeName(value)}`);
    }
    const nul = value.indexOf('\0');
    if (nul !== -1) throw malformed(`${option}.${name}`, `has a NUL at position ${nul}`);
    variables[name] = value;
  });
  return variables;
}

/** A malformed name is not repeated: somebody who wrote `NAME=secret` put a value there. */
function validateName(name: unknown, position: string): string {
  if (typeof name !== 'string')
    throw malformed(position, `must be a string, not ${typeName(name)}`);
  if (name === '') throw malformed(position, 'is empty');
  if (name.includes('=')) throw malformed(position, "has a '='");
  if (name.includes('\0')) throw malformed(position, 'has a NUL');
  return name;
}

function malformed(position: string, message: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ENVIRONMENT', position, message);
}

function copyOwn(name: string, variables: Record<string, string>): void {
  const value = process.env[name];
  // Own: a polluted Object.prototype shines through process.env as well.
  if (value !== undefined && Object.hasOwn(process.env, name)) variables[name] = value;
}

// Without a prototype, a variable called `__proto__` is one like any other.
function emptyRecord(): Record<string, string> {
  return Object.create(null) as Record<string, string>;
}
