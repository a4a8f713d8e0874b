// Options → launch plan: everything that can be wrong with a launch is found here.
import { invalid } from '../errors.js';
import type { DescriptorObject } from '../objects/object.js';
import { native } from '../native.js';
import { resolveAttributes, type LaunchAttributes } from './attributes.js';
import { resolveCwd } from './directory.js';
import {
  buildTable,
  requireForeground,
  takePipeSize,
  resolveTable,
  takeListeners,
  type DescriptorPlan,
  type TableEntry,
} from './descriptors.js';
import { warnOfMissingDescriptors } from './descriptor-variables.js';
import type { EnvironmentRecord } from './environment-record.js';
import { announceListeners, resolveEnvironment, type ResolvedEnvironment } from './environment.js';
import { resolveExecutable } from './executable.js';
import { takeArguments, takeFlag, takeString, type RawOptions } from './options.js';
import { takePinned, type PinnedExecutable, type PinnedIdentity } from './pinned.js';
import { chooseRoute, type Call, type Route } from './route.js';
import { resolveSession, type Session } from './session.js';
import type { Variables } from './variables.js';

/** The complete, frozen description of one child. Plain data; JSON.stringify keeps all of it. */
export interface LaunchPlan {
  /** Version of launch plans. */
  readonly version: 1;
  /** The program as the caller named it. */
  readonly file: string;
  /** Absolute path of what is executed. */
  readonly executable: string;
  /** With argv[0]. */
  readonly argv: readonly string[];
  /** All variables of the child. Holds values: print `describePlan(plan)` instead. */
  readonly environment: Variables;
  /** `'default'`, `'explicit'` or `'inherit'`. */
  readonly environmentSource: ResolvedEnvironment['source'];
  /** Where each variable comes from and why, where `createEnvironment` was asked. No value is in it. */
  readonly environmentRecord: EnvironmentRecord | null;
  /** Absolute path. */
  readonly cwd: string;
  /** The child's whole descriptor table, by ascending number. */
  readonly descriptors: readonly DescriptorPlan[];
  /** `'new'`, `'group'` or `'inherit'`. */
  readonly session: Session;
  /** Number in the child's table of the terminal, or null. */
  readonly foreground: number | null;
  /** no_new_privs of the child, prctl(2): exec grants it nothing, setuid programs included. */
  readonly noNewPrivileges: boolean;
  /** Bytes that each pipe of the standard channels holds at least; null: the kernel's default. */
  readonly pipeSize: number | null;
  /** Limits, identity, priorities: only what was asked for. */
  readonly attributes: LaunchAttributes;
  /** What is planned as asked for, and will hardly work so. */
  readonly warnings: readonly string[];
  /** `'at-exec'`, `'after-exec'`, or null. */
  readonly verify: 'at-exec' | 'after-exec' | null;
  /** The program as a sealed copy; null: it is executed by its path. */
  readonly pinned: PinnedIdentity | null;
  /** How the child is started. */
  readonly route: Route;
}

/** A plan that lacks the objects behind its descriptors, and its route. */
export interface Draft {
  readonly call: Call;
  readonly table: readonly TableEntry[];
  readonly program: PinnedExecutable | null;
  readonly plan: Omit<LaunchPlan, 'descriptors' | 'route'>;
}

/**
 * Opens nothing.
 *
 * @param looks whether the path of a program is looked at, see `resolveExecutable`
 * @throws {SallyportTypeError | SallyportError}
 */
export function draftPlan(
  call: Call,
  file: unknown,
  args: unknown,
  options: RawOptions,
  looks: boolean,
): Draft {
  const name = takeString(file, 'file');
  if (name === '') throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'file', 'is empty');
  const argv0 = options.argv0 === undefined ? name : takeString(options.argv0, 'argv0');
  const argv = [argv0, ...takeArguments(args)];
  const listeners = takeListeners(options.listeners);
  const environment = announceListeners(resolveEnvironment(options.env), listeners);
  const session = resolveSession(options.session);
  const table = buildTable(
    options.stdio,
    options.pass,
    () => native().descriptorLimit(),
    listeners,
  );
  const foreground =
    options.foreground === undefined ? null : requireForeground(options.foreground, session, table);
  const noNewPrivileges = takeFlag(options.noNewPrivileges, 'noNewPrivileges', true);
  const pipeSize = takePipeSize(options.pipeSize, table);
  const attributes = resolveAttributes(options, session, table);
  const cwd = resolveCwd(options.cwd ?? environment.record?.workspace ?? undefined, name);
  const executable = resolveExecutable(name, cwd, environment.variables, looks);
  const program = takePinned(options.pinned, executable);
  const plan = {
    version: 1,
    file: name,
    executable,
    argv: Object.freeze(argv),
    environment: environment.variables,
    environmentSource: environment.source,
    environmentRecord: environment.record,
    cwd,
    session,
    foreground,
    noNewPrivileges,
    pipeSize,
    attributes,
    warnings: Object.freeze(
      warnOfMissingDescriptors(
        environment.variables,
        table.map(({ target }) => target),
      ),
    ),
    verify: takeVerify(options.verify),
    pinned: program?.identity ?? null,
  } as const;
  return { call, table, program, plan };
}

/** With a program that could be pinned only now; another one than is named is for a review to judge. */
export function pinDraft(draft: Draft, program: PinnedExecutable): Draft {
  const { plan } = draft;
  if (program.path !== plan.executable) return draft;
  return { ...draft, program, plan: { ...plan, pinned: program.identity } };
}

/**
 * Only now is the route chosen: that may start a lane, whose descriptors would come to stand at numbers
 * that the caller names and that are not open.
 *
 * @param describe what a number of this process refers to
 */
export function finishPlan(
  draft: Draft,
  describe: (source: number) => DescriptorObject,
): LaunchPlan {
  const { call, table, plan } = draft;
  const descriptors = resolveTable(table, describe);
  const route = chooseRoute(call, plan.noNewPrivileges, launcherReasons(draft), plan.file);
  return Object.freeze({ ...plan, descriptors, route });
}

function takeVerify(value: unknown): LaunchPlan['verify'] {
  if (value === undefined) return null;
  if (value === 'at-exec' || value === 'after-exec') return value;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'verify', "must be 'at-exec' or 'after-exec'");
}

/** Why the launcher is needed, by the names of the options that it serves. */
function launcherReasons({ plan, table }: Draft): string[] {
  const reasons = Object.keys(plan.attributes);
  if (table.some(({ channel }) => channel === 'listener')) reasons.push('listeners');
  if (plan.verify === 'at-exec') reasons.push('verify');
  if (plan.pinned !== null) reasons.push('pinned');
  return reasons;
}
