// Starts a child before it returns.
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { isRecord } from '../own-properties.js';
import { takeOptions, type PlanOptions, type SpawnOptions } from '../plan/options.js';
import type { LaunchPlan } from '../plan/plan.js';
import { adopt, takeOver } from './adopt.js';
import { abortError } from './cancellation.js';
import type { Child } from './child.js';
import type { ChildWith } from './child-streams.js';
import { listenForEvents } from './events.js';
import { toLaunched } from './outcomes.js';
import { keepEvidence } from './evidence.js';
import { launchError } from './failure.js';
import { withRequest } from './request.js';
import { takeSupervision } from './supervision.js';

/**
 * The launch plan of a call, looked up and checked as `spawn` would, with no child started and nothing
 * left open. (The first lane may be, which says whether there can be lanes.)
 *
 * @throws {SallyportTypeError | SallyportError} whatever `spawn` would refuse before starting
 */
export function planLaunch(file: string, options: PlanOptions): LaunchPlan;
export function planLaunch(
  file: string,
  args?: readonly string[],
  options?: PlanOptions,
): LaunchPlan;
export function planLaunch(
  file: string,
  argsOrOptions?: readonly string[] | PlanOptions,
  options?: PlanOptions,
): LaunchPlan {
  const [args, given] = splitArguments(argsOrOptions, options);
  return withRequest('spawn', file, args, takeOptions(given), (plan) => plan);
}

/**
 * Starts a program with exactly what is named: descriptors 0, 1, 2 and the pass list, the given
 * environment, a new session. Everything that is handed over is taken before this returns.
 *
 * @typeParam Stdio what `stdio` says, by which the child's streams are known
 * @throws {SallyportTypeError} a mistake in the arguments
 * @throws {SallyportError} a refusal by the system: ENOENT, EACCES, E2BIG, EMFILE, EAGAIN, …, with
 *   the stage that failed. Nothing is left behind: no descriptor, no process, no event.
 */
export function spawn<const Stdio extends SpawnOptions['stdio'] = undefined>(
  file: string,
  options: SpawnOptions & { stdio?: Stdio },
): ChildWith<Stdio>;
export function spawn<const Stdio extends SpawnOptions['stdio'] = undefined>(
  file: string,
  args?: readonly string[],
  options?: SpawnOptions & { stdio?: Stdio },
): ChildWith<Stdio>;
export function spawn(file: string, options: SpawnOptions): Child;
export function spawn(file: string, args?: readonly string[], options?: SpawnOptions): Child;
export function spawn(
  file: string,
  argsOrOptions?: readonly string[] | SpawnOptions,
  options?: SpawnOptions,
): Child {
  const [args, given] = splitArguments(argsOrOptions, options);
  const raw = takeOptions(given);
  const supervision = takeSupervision(raw);
  return withRequest('spawn', file, args, raw, (plan, request) => {
    if (supervision.signal?.aborted === true) throw abortError(supervision.signal);
    listenForEvents();
    const byLane = plan.route.kind !== 'direct';
    const result = native().spawn(...request(), byLane, plan.noNewPrivileges);
    if (isFailure(result)) throw launchError(plan, result);
    const launched = toLaunched(result);
    keepEvidence(plan, launched.evidence);
    return takeOver(launched, () => adopt(plan, launched, supervision));
  });
}

/** `(file, options)` is `(file, [], options)`, as in Node. */
export function splitArguments(
  argsOrOptions: readonly string[] | SpawnOptions | undefined,
  options: SpawnOptions | undefined,
): [args: unknown, options: unknown] {
  const isOptions = options === undefined && isRecord(argsOrOptions);
  return isOptions ? [undefined, argsOrOptions] : [argsOrOptions, options];
}
