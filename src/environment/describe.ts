// What an environment would hand over to whoever inherits it, beside what a run receives.
import { isOurs } from '../copies.js';
import { createEnvironment, Environment } from '../plan/create-environment.js';
import type { EnvironmentRecord } from '../plan/environment-record.js';
import { flagName, type NameFlag } from '../plan/flagged-names.js';
import { takeVariables } from '../plan/variables.js';
import { invalid } from '../errors.js';
import { judgeName } from './grants-by-name.js';
import { judgeValues } from './grants-by-value.js';
import { maskValue } from './mask.js';

/** A variable that looks like a grant, or is known to do more than inform. */
export interface SuspectVariable {
  /** The variable. */
  readonly name: string;
  /** Never the whole value: four characters and `…` at most, or a URL without its user and path. */
  readonly shown: string;
  /** Why it looks like a credential; empty where it does not. */
  readonly because: readonly string[];
  /** Where the name is known to do more than inform. */
  readonly flag?: NameFlag;
  /** Whether the run has it with this value. */
  readonly received: boolean;
}

/** What a child that inherits would have, beside what a run has. */
export interface EnvironmentDescription {
  /** Version of this record. */
  readonly version: 1;
  /** What a child would have that inherits. */
  readonly inherited: {
    /** How many variables there are. */
    readonly count: number;
    /** How many look like a credential. */
    readonly grants: number;
    /** These, and those that do more than inform; by name. */
    readonly suspects: readonly SuspectVariable[];
  };
  /** What the run has. */
  readonly received: EnvironmentRecord & {
    /** How many variables the run has. */
    readonly count: number;
    /** Sorted. */
    readonly names: readonly string[];
  };
  /** What was not looked at. */
  readonly notTested: readonly string[];
}

/**
 * For people to see what inheriting would mean. A report and nothing else: no name or value decides
 * what a child gets, and this is no search for secrets.
 *
 * @param env the environment that would be inherited. Default: that of this process
 * @param run what the run receives. Default: `createEnvironment()`
 * @throws {SallyportTypeError}
 */
export async function describeEnvironment(
  env: Readonly<Record<string, string | null | undefined>> = process.env,
  run: Environment = createEnvironment(),
): Promise<EnvironmentDescription> {
  const variables = takeVariables(env, 'env');
  if (!isOurs(run, Environment, 'run')) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'run', 'must be what createEnvironment gives');
  }
  const entries = Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1));
  const values = await judgeValues(entries);
  const suspects = entries.flatMap(([name, value]): SuspectVariable[] => {
    const byName = judgeName(name);
    const because = [
      ...(byName === undefined ? [] : [`by its name: ${byName}`]),
      ...(values.found.get(name) ?? []).map((what) => `by its value: ${what}`),
    ];
    const flag = flagName(name);
    // Of those that everybody has, only the ones that lead somewhere else are worth a line.
    if (because.length === 0 && (flag === undefined || USUAL.has(name))) return [];
    const received = run.variables[name] === value;
    return [
      { name, shown: maskValue(value), because, ...(flag === undefined ? {} : { flag }), received },
    ];
  });
  return {
    version: 1,
    inherited: {
      count: entries.length,
      grants: suspects.filter(({ because }) => because.length > 0).length,
      suspects,
    },
    received: {
      count: Object.keys(run.variables).length,
      names: Object.keys(run.variables).sort(),
      ...run.record,
    },
    notTested: [
      'secrets: no search for them was made; names and shapes of values were looked at',
      ...(values.limited === null ? [] : [`shapes of values: only a few, since ${values.limited}`]),
      'other ways to credentials: files, sockets and services are looked for by reportGaps',
    ],
  };
}

const USUAL = new Set(['PATH', 'HOME', 'PAGER', 'EDITOR', 'VISUAL', 'LESSOPEN', 'LESSCLOSE']);
