// Variables that were made for a run → into an environment, in the place of those that would win.
import { takeOwn } from '../own-properties.js';
import { describeGrant, freezeRecord, type EnvironmentRecord } from './environment-record.js';
import { takeString } from './options.js';
import {
  emptyRecord,
  takeList,
  takeName,
  takeReason,
  takeVariables,
  type Variables,
} from './variables.js';
import { METADATA_HINT } from './workspace-layout.js';

/** Variables that were made for this run, as a credential broker hands them over. */
export interface CredentialVariables {
  /** Variables with their values. */
  environment: Readonly<Record<string, string>>;
  /** Names that must not be there, since they would be used instead. */
  remove?: readonly string[] | undefined;
  /** Absolute paths of files that were made for the run: for the record. */
  files?: readonly string[] | undefined;
  /** Why they are given, for the record. Default: `no reason given`. */
  reason?: string | undefined;
}

/** The same, checked. */
export interface MadeForRun {
  readonly environment: Variables;
  readonly remove: readonly string[];
  readonly files: readonly string[];
  readonly reason: string | undefined;
}

/** @throws {SallyportTypeError} */
export function takeCredentials(value: unknown, position: string): MadeForRun {
  const own = takeOwn(value, position, ['environment', 'remove', 'files', 'reason']);
  return {
    environment: takeVariables(own.environment, `${position}.environment`),
    remove: takeList(own.remove, `${position}.remove`).map((name, at) =>
      takeName(name, `${position}.remove[${at}]`),
    ),
    files: takeList(own.files, `${position}.files`).map((file, at) =>
      takeString(file, `${position}.files[${at}]`),
    ),
    reason: takeReason(own.reason, `${position}.reason`).reason,
  };
}

const GIT_COUNT = 'GIT_CONFIG_COUNT';
const GIT_ENTRY = /^GIT_CONFIG_(KEY|VALUE)_(\d+)$/;

/** Names that stand in for nothing: configuration of git is added, and a hint that is there stays. */
export function isAdded(name: string): boolean {
  return name === GIT_COUNT || GIT_ENTRY.test(name) || name === METADATA_HINT;
}

/** The variables without those that would win, and with those of the run. */
export function mergeVariables(
  variables: Variables,
  { environment, remove }: MadeForRun,
): { readonly variables: Record<string, string>; readonly added: Variables } {
  const kept = Object.entries(variables).filter(([name]) => !remove.includes(name));
  const merged = emptyRecord();
  for (const [name, value] of kept) merged[name] = value;
  const added = addAfter(merged, environment);
  return { variables: Object.assign(merged, added), added };
}

/** Configuration that git is given already comes first; a hint that is there stays, as it was meant. */
function addAfter(there: Variables, environment: Variables): Variables {
  const count = there[GIT_COUNT] ?? '';
  const before = /^\d{1,9}$/.test(count) ? Number(count) : 0;
  const added = emptyRecord();
  for (const [name, value] of Object.entries(environment)) {
    if (name === METADATA_HINT && there[name] !== undefined) continue;
    const [, what, index] = GIT_ENTRY.exec(name) ?? [];
    if (what !== undefined) added[`GIT_CONFIG_${what}_${before + Number(index)}`] = value;
    else added[name] = name === GIT_COUNT ? String(before + Number(value)) : value;
  }
  return added;
}

/** The same with what is said of it. */
export function mergeCredentials(
  { variables, record }: { readonly variables: Variables; readonly record: EnvironmentRecord },
  made: MadeForRun,
): { readonly variables: Variables; readonly record: EnvironmentRecord } {
  const merged = mergeVariables(variables, made);
  const names = Object.keys(merged.added);
  const gone = new Set([...made.remove, ...names]);
  const stays = (name: string): boolean => !gone.has(name);
  return {
    variables: Object.freeze(merged.variables),
    record: freezeRecord({
      ...record,
      fixed: record.fixed.filter(stays),
      passedThrough: record.passedThrough.filter(stays),
      grants: [
        ...record.grants.filter(({ name }) => stays(name)),
        ...names.map((name) => describeGrant(name, 'credentials', made.reason)),
      ],
      files: [...record.files, ...made.files],
      absent: record.absent.filter((name) => !names.includes(name)),
    }),
  };
}
