// createEnvironment: from an empty record, what is ours, what says how to print, and what is named.
import { homedir } from 'node:os';

import { markAsOurs } from '../copies.js';
import { invalid } from '../errors.js';
import { isRecord, takeOwn } from '../own-properties.js';
import {
  isAdded,
  mergeCredentials,
  takeCredentials,
  type CredentialVariables,
  type MadeForRun,
} from './credential-variables.js';
import {
  describeGrant,
  freezeRecord,
  NO_REASON,
  type CacheGrant,
  type EnvironmentGrant,
  type EnvironmentRecord,
  type GrantOrigin,
} from './environment-record.js';
import { joinPath } from './directory.js';
import { CACHES, PRESETS, type CacheName, type PresetName } from './presets.js';
import {
  emptyRecord,
  malformed,
  ownVariable,
  takeEntries,
  takeList,
  takeName,
  takeReason,
  takeValue,
  type Variables,
} from './variables.js';
import {
  AWS_CREDENTIAL_NAMES,
  METADATA_HINT,
  takeRunId,
  takeWorkspace,
  workspaceVariables,
} from './workspace-layout.js';

/** PATH of a child that is given none. */
export const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Passed through where the parent has them: they say how to print, and grant nothing. */
export const PASSED_THROUGH = ['LANG', 'LC_ALL', 'TZ', 'TERM'] as const;

/** A name that passes where the parent has it, and why. */
export interface AllowEntry {
  /** Exact: there are no patterns. */
  name: string;
  /** For the record. Default: `no reason given`. */
  reason?: string | undefined;
}

/** A value of the caller's, and why. */
export interface SetEntry {
  /** Value of the variable. */
  value: string;
  /** For the record. Default: `no reason given`. */
  reason?: string | undefined;
}

/** A cache of a tool under the real HOME that the run may read, and why. */
export interface CacheEntry {
  /** Which cache. */
  name: CacheName;
  /** For the record. Default: `no reason given`. */
  reason?: string | undefined;
}

/** What `createEnvironment` takes. */
export interface EnvironmentRequest {
  /** Becomes AGENT_RUN_ID. Needed with `workspace`. */
  runId?: string | undefined;
  /** Directory in which the run has its HOME and its temporary files; and its default cwd. */
  workspace?: string | URL | undefined;
  /** Names that also pass where the parent has them. */
  allow?: ReadonlyArray<string | AllowEntry> | undefined;
  /** Variables with the values given here. They win over everything else. */
  set?: Readonly<Record<string, string | SetEntry | null | undefined>> | undefined;
  /** Lists of names that also pass where the parent has them. */
  presets?: readonly PresetName[] | undefined;
  /** Caches of tools under the real HOME that the run may read. */
  caches?: ReadonlyArray<CacheName | CacheEntry> | undefined;
  /** What was minted for the run. */
  credentials?: CredentialVariables | readonly CredentialVariables[] | undefined;
}

const NAMES = [
  'runId',
  'workspace',
  'allow',
  'set',
  'presets',
  'caches',
  'credentials',
] as const satisfies ReadonlyArray<keyof EnvironmentRequest>;

/** A complete environment, as `createEnvironment` made it. */
export class Environment {
  /** Frozen, without a prototype. */
  readonly variables: Variables;
  /** Where each name comes from and why. No value is in it. */
  readonly record: EnvironmentRecord;

  private constructor(variables: Variables, record: EnvironmentRecord) {
    this.variables = variables;
    this.record = record;
    Object.freeze(this);
  }

  /** @internal */
  static of(variables: Variables, record: EnvironmentRecord): Environment {
    return new Environment(variables, record);
  }
}
markAsOurs(Environment);

/**
 * The default environment plus what is named. Pure: reads `process.env` and changes nothing; the
 * directories of a workspace are made by `prepareWorkspace`.
 *
 * @throws {SallyportTypeError} `ERR_SALLYPORT_INVALID_ENVIRONMENT` for malformed names and values,
 *   `ERR_SALLYPORT_INVALID_ARGUMENT` for whatever else is wrong
 */
export function createEnvironment(request: EnvironmentRequest = {}): Environment {
  const wish = takeOwn(request, 'createEnvironment', NAMES);
  const builder = new Builder();
  builder.begin(wish.workspace, wish.runId);
  for (const name of takeKnown(wish.presets, 'presets', PRESETS)) {
    for (const member of PRESETS[name.name]) {
      builder.pass(member, 'preset', `preset ${name.name}`, { optional: true });
    }
  }
  takeList(wish.allow, 'allow').forEach((entry, index) => {
    const { name, reason } = takeAllowed(entry, `allow[${index}]`);
    builder.pass(name, 'allowed', reason);
  });
  for (const { name, reason } of takeKnown(wish.caches, 'caches', CACHES)) {
    builder.grantCache(name, reason);
  }
  if (wish.set !== undefined) {
    for (const [name, value, reason] of takeSet(wish.set))
      builder.grant(name, value, 'set', reason);
  }
  return takeAllCredentials(wish.credentials).reduce(addCredentials, builder.finish());
}

/** Of a child that is given nothing. */
export function defaultEnvironment(): Environment {
  const builder = new Builder();
  builder.begin(undefined, undefined);
  return builder.finish();
}

class Builder {
  readonly #variables = emptyRecord();
  readonly #fixed: string[] = [];
  readonly #passedThrough: string[] = [];
  readonly #grants = new Map<string, EnvironmentGrant>();
  readonly #caches: CacheGrant[] = [];
  readonly #absent = new Set<string>();
  #runId: string | null = null;
  #workspace: string | null = null;

  begin(workspace: unknown, runId: unknown): void {
    this.#fix('PATH', DEFAULT_PATH);
    for (const name of PASSED_THROUGH) {
      const value = ownVariable(name);
      if (value === undefined) continue;
      this.#variables[name] = value;
      this.#passedThrough.push(name);
    }
    if (runId !== undefined) this.#runId = takeRunId(runId);
    if (workspace !== undefined) {
      if (this.#runId === null) throw wrong('runId', 'is needed with workspace');
      this.#workspace = takeWorkspace(workspace);
      for (const [name, value] of Object.entries(workspaceVariables(this.#workspace)))
        this.#fix(name, value);
    }
    if (this.#runId !== null) this.#fix('AGENT_RUN_ID', this.#runId);
  }

  #fix(name: string, value: string): void {
    this.#variables[name] = value;
    this.#fixed.push(name);
  }

  /** As the parent has it. `optional`: that it is not there need not be told. */
  pass(
    name: string,
    origin: GrantOrigin,
    reason: string | undefined,
    { optional = false } = {},
  ): void {
    const value = ownVariable(name);
    if (value !== undefined) this.grant(name, value, origin, reason);
    else if (!optional) this.#absent.add(name);
  }

  grant(name: string, value: string, origin: GrantOrigin, reason: string | undefined): void {
    this.#variables[name] = value;
    this.#grants.set(name, describeGrant(name, origin, reason));
    for (const list of [this.#fixed, this.#passedThrough]) {
      if (list.includes(name)) list.splice(list.indexOf(name), 1);
    }
    this.#absent.delete(name);
  }

  grantCache(name: CacheName, reason: string | undefined): void {
    const { directory, variable, still } = CACHES[name];
    // The parent may have moved it; only an absolute path means the same to the child.
    const moved = ownVariable(variable);
    const path = moved?.startsWith('/') === true ? moved : joinPath(realHome(), directory);
    this.#caches.push(Object.freeze({ name, path, reason: reason ?? NO_REASON }));
    this.grant(variable, path, 'cache', reason);
    for (const [quiet, value] of Object.entries(still)) {
      this.grant(quiet, value, 'cache', `keeps ${name} from writing to its cache`);
    }
  }

  finish(): Environment {
    // The last: what is named decides.
    const isNamed = [METADATA_HINT, ...AWS_CREDENTIAL_NAMES].some((name) =>
      Object.hasOwn(this.#variables, name),
    );
    if (this.#runId !== null && !isNamed) this.#fix(METADATA_HINT, 'true');
    const record = freezeRecord({
      runId: this.#runId,
      workspace: this.#workspace,
      fixed: this.#fixed,
      passedThrough: this.#passedThrough,
      grants: [...this.#grants.values()],
      caches: this.#caches,
      files: [],
      absent: [...this.#absent],
    });
    return Environment.of(Object.freeze(this.#variables), record);
  }
}

/** HOME as this process has it, or else by the user database. */
function realHome(): string {
  const home = ownVariable('HOME');
  return home?.startsWith('/') === true ? home : homedir();
}

function takeAllowed(entry: unknown, position: string): { name: string; reason?: string } {
  const { name, reason } = isRecord(entry)
    ? takeOwn(entry, position, ['name', 'reason'])
    : { name: entry };
  const taken = takeName(name, position);
  if (/[*?]/.test(taken)) {
    throw malformed(position, 'is a pattern: write each name, as it is');
  }
  return { name: taken, ...takeReason(reason, `${position}.reason`) };
}

function takeSet(set: unknown): Array<[name: string, value: string, reason: string | undefined]> {
  if (!isRecord(set)) throw wrong('set', 'must be an object of variables');
  return takeEntries(set, 'set').map(([name, entry]) => {
    const position = `set.${name}`;
    if (!isRecord(entry)) return [name, takeValue(entry, position), undefined];
    if (!Object.hasOwn(entry, 'value')) {
      throw malformed(position, 'must be a string, or an object with value and reason');
    }
    const { value, reason } = takeOwn(entry, position, ['value', 'reason']);
    return [name, takeValue(value, position), takeReason(reason, `${position}.reason`).reason];
  });
}

interface Known<Name> {
  readonly name: Name;
  readonly reason?: string;
}

/** Names of a table of ours, or objects with such a name and a reason. */
function takeKnown<Name extends string>(
  value: unknown,
  option: string,
  table: Readonly<Record<Name, unknown>>,
): Array<Known<Name>> {
  return takeList(value, option).map((entry, index) => {
    const position = `${option}[${index}]`;
    const { name, reason } = isRecord(entry)
      ? takeOwn(entry, position, ['name', 'reason'])
      : { name: entry };
    if (typeof name !== 'string' || !Object.hasOwn(table, name)) {
      throw wrong(position, `must be one of ${Object.keys(table).join(', ')}`);
    }
    return { name: name as Name, ...takeReason(reason, `${position}.reason`) };
  });
}

function takeAllCredentials(value: unknown): MadeForRun[] {
  if (isRecord(value)) return [takeCredentials(value, 'credentials')];
  return takeList(value, 'credentials').map((entry, index) =>
    takeCredentials(entry, `credentials[${index}]`),
  );
}

/** What the caller named as well would be taken away or be used instead, so that is a mistake. */
function addCredentials({ variables, record }: Environment, made: MadeForRun): Environment {
  for (const name of [...made.remove, ...Object.keys(made.environment)]) {
    const origin = record.grants.find((grant) => grant.name === name)?.origin;
    if (origin === undefined || isAdded(name)) continue;
    throw wrong(
      origin === 'set' ? `set.${name}` : origin === 'credentials' ? 'credentials' : 'allow',
      origin === 'credentials'
        ? `two of them give ${name}: leave one out`
        : `${name} would be used instead of the credentials of the run: leave it out`,
    );
  }
  const merged = mergeCredentials({ variables, record }, made);
  return Environment.of(merged.variables, merged.record);
}

function wrong(option: string, message: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, message);
}
