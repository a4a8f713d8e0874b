// A plan for people and records: redacted, and its digest.
import { invalid } from '../errors.js';
import { isRecord } from '../own-properties.js';
import type { DescriptorPlan } from './descriptors.js';
import { recordEnvironment } from './environment.js';
import type { EnvironmentRecord } from './environment-record.js';
import type { LaunchPlan } from './plan.js';

/** What `describePlan` gives: names and sizes, never a value of a variable or argument. */
export interface PlanDescription {
  /** Version of launch plans. */
  readonly version: 1;
  /** `sha256:` and 64 hexadecimal digits, over what the child gets: see `planDigest`. */
  readonly digest: string;
  /** As in the plan. */
  readonly file: string;
  /** As in the plan. */
  readonly executable: string;
  /** `count`, and `bytes` of each, `argv[0]` first. */
  readonly arguments: {
    /** How many there are, `argv[0]` included. */
    readonly count: number;
    /** of each, argv[0] first */ readonly bytes: readonly number[];
  };
  /** `names` are all of them, sorted. */
  readonly environment: EnvironmentRecord & {
    /** Where they come from, as `environmentSource` of the plan. */
    readonly source: LaunchPlan['environmentSource'];
    /** Names of all variables, sorted; no value. */
    readonly names: readonly string[];
  };
  /** As in the plan. */
  readonly cwd: string;
  /** As in the plan. */
  readonly descriptors: readonly DescriptorPlan[];
  /** As in the plan. */
  readonly session: LaunchPlan['session'];
  /** As in the plan. */
  readonly foreground: number | null;
  /** As in the plan. */
  readonly noNewPrivileges: boolean;
  /** As in the plan. */
  readonly pipeSize: number | null;
  /** As in the plan. */
  readonly attributes: LaunchPlan['attributes'];
  /** As in the plan. */
  readonly warnings: readonly string[];
  /** As in the plan. */
  readonly verify: LaunchPlan['verify'];
  /** As in the plan. */
  readonly pinned: LaunchPlan['pinned'];
  /** As in the plan. */
  readonly route: LaunchPlan['route'];
}

/**
 * A plan without a value: of the arguments their lengths, of the environment its names and where they
 * come from. Plain data, for logs and reports.
 *
 * @throws {SallyportTypeError} for anything but a launch plan
 */
export function describePlan(plan: LaunchPlan): PlanDescription {
  requirePlan(plan);
  return {
    version: plan.version,
    digest: planDigest(plan),
    file: plan.file,
    executable: plan.executable,
    arguments: {
      count: plan.argv.length,
      bytes: plan.argv.map((argument) => Buffer.byteLength(argument)),
    },
    environment: {
      source: plan.environmentSource,
      names: Object.keys(plan.environment).sort(),
      ...recordEnvironment(plan.environment, plan.environmentSource, plan.environmentRecord),
    },
    cwd: plan.cwd,
    descriptors: plan.descriptors,
    session: plan.session,
    foreground: plan.foreground,
    noNewPrivileges: plan.noNewPrivileges,
    pipeSize: plan.pipeSize,
    attributes: plan.attributes,
    warnings: plan.warnings,
    verify: plan.verify,
    pinned: plan.pinned,
    route: plan.route,
  };
}

/**
 * SHA-256 over all that decides what the child is given: executable, argv, environment, cwd, the
 * table with its objects, session. Not over numbers in this process, which are accidents, nor over
 * the route, which gives the same child.
 *
 * @returns `sha256:` and 64 hexadecimal digits
 */
export function planDigest(plan: LaunchPlan): string {
  requirePlan(plan);
  const identity = {
    version: plan.version,
    executable: plan.executable,
    argv: plan.argv,
    environment: Object.entries(plan.environment).sort(([a], [b]) => (a < b ? -1 : 1)),
    cwd: plan.cwd,
    descriptors: plan.descriptors.map(({ target, channel, object }) => [
      target,
      channel,
      object === null ? null : [object.kind, object.access, object.dev, object.inode],
    ]),
    session: plan.session,
    foreground: plan.foreground,
    noNewPrivileges: plan.noNewPrivileges,
    // Undefined is left out: where nobody asked, digests stay what they were before there was this.
    pipeSize: plan.pipeSize ?? undefined,
    attributes: plan.attributes,
    pinned: plan.pinned?.sha256,
  };
  // Loaded with the first digest: importing this package must cost next to nothing.
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous and late
  const { createHash } = require('node:crypto') as typeof import('node:crypto');
  return `sha256:${createHash('sha256').update(JSON.stringify(identity)).digest('hex')}`;
}

/** A record of one, too, that was read from JSON: so far that what is taken of it is there. */
function requirePlan(plan: unknown): void {
  const { version, argv, environment, descriptors } = (isRecord(plan) ? plan : {}) as Partial<
    Record<keyof LaunchPlan, unknown>
  >;
  if (
    version === 1 &&
    Array.isArray(argv) &&
    argv.every((argument) => typeof argument === 'string') &&
    isRecord(environment) &&
    Array.isArray(descriptors) &&
    descriptors.every(isRecord)
  ) {
    return;
  }
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'plan', 'is no launch plan of version 1');
}
