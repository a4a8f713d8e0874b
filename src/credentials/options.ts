// What the caller may write for a broker.

import { invalid } from '../errors.js';
import { itemsOf, takeOwn, typeName } from '../own-properties.js';
import { takeRunId } from '../plan/workspace-layout.js';
import { takeDeliveries, type Delivery } from './delivery.js';
import type { Owner } from './files.js';
import type { CredentialSource } from './source.js';

/** What `createCredentialBroker` takes. */
export interface CredentialBrokerOptions {
  /** Letters, digits and `_+=,.@-`: it becomes part of session names. */
  readonly runId: string;
  /** Where its credentials come from; at least one. */
  readonly sources: readonly CredentialSource[];
  /**
   * Absolute path of a directory in which the files are made: the HOME of the run. Default: a new one
   * of ours below the temporary directory.
   */
  readonly home?: string | undefined;
  /** Whom the files belong to, where the run has another user than we. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
}

/** One source with its deliveries, checked. */
export interface Granted {
  readonly source: CredentialSource;
  readonly deliveries: readonly Delivery[];
}

export interface BrokerWish {
  readonly runId: string;
  readonly granted: readonly Granted[];
  readonly home: string | undefined;
  readonly owner: Owner | undefined;
}

const NAMES = ['runId', 'sources', 'home', 'owner'] as const;
const SOURCE_NAMES = [
  'name',
  'reason',
  'mint',
  'revoke',
  'delivery',
  'plain',
  'mintDeadline',
  'lead',
  'jitter',
] as const;

/** What setTimeout can wait for. */
const LONGEST = 0x7fffffff;

/** @throws {SallyportTypeError} */
export function takeBrokerOptions(options: unknown): BrokerWish {
  const { runId, sources, home, owner } = takeOwn(options, 'options', NAMES);
  const taken = takeRunId(runId);
  if (home !== undefined && (typeof home !== 'string' || !/^\/[^\0]*$/.test(home))) {
    throw wrong('home', 'must be an absolute path without NUL');
  }
  if (!Array.isArray(sources)) throw wrong('sources', 'must be an array');
  const granted = itemsOf(sources).map((source, index) => takeSource(source, `sources[${index}]`));
  const names = granted.map(({ source }) => source.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw wrong('sources', `two are called ${twice}`);
  return { runId: taken, granted, home, owner: takeOwner(owner) };
}

function takeSource(value: unknown, option: string): Granted {
  const own = takeOwn(value, option, SOURCE_NAMES);
  const { name, reason, mint, revoke, plain } = own;
  // It stands in paths of the endpoint.
  if (typeof name !== 'string' || !/^[\w.-]{1,64}$/.test(name)) {
    throw wrong(`${option}.name`, 'must be 1 to 64 letters, digits, ., _ and -');
  }
  if (typeof reason !== 'string' || reason.trim() === '') {
    throw wrong(`${option}.reason`, 'must say why the run is given it');
  }
  if (typeof mint !== 'function') {
    throw wrong(`${option}.mint`, `must be a function, not ${typeName(mint)}`);
  }
  if (revoke !== undefined && typeof revoke !== 'function') {
    throw wrong(`${option}.revoke`, `must be a function, not ${typeName(revoke)}`);
  }
  if (plain !== undefined && !(Array.isArray(plain) && itemsOf(plain).every(isString))) {
    throw wrong(`${option}.plain`, 'must be an array of names');
  }
  for (const time of ['mintDeadline', 'lead', 'jitter'] as const) {
    const milliseconds = own[time];
    const least = time === 'mintDeadline' ? 1 : 0;
    if (milliseconds === undefined) continue;
    if (typeof milliseconds === 'number' && milliseconds >= least && milliseconds <= LONGEST) {
      continue;
    }
    throw wrong(`${option}.${time}`, `must be milliseconds from ${least} to ${LONGEST}`);
  }
  return {
    source: own as unknown as CredentialSource,
    deliveries: takeDeliveries(own.delivery, `${option}.delivery`),
  };
}

function takeOwner(value: unknown): Owner | undefined {
  if (value === undefined) return undefined;
  const { uid, gid } = takeOwn(value, 'owner', ['uid', 'gid']);
  if (isId(uid) && isId(gid)) return { uid, gid };
  throw wrong('owner', 'must be { uid, gid }, both numbers');
}

const isString = (value: unknown): boolean => typeof value === 'string';

const isId = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 32 - 1;

function wrong(option: string, message: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, message);
}
