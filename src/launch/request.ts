// From a caller's words to what the addon takes: the plan, and the request that says the same.
import {
  SESSION_MODES,
  TABLE_HELD,
  TABLE_NULL,
  TABLE_PINNED,
  TABLE_PIPE_FROM_CHILD,
  TABLE_PIPE_TO_CHILD,
  TABLE_SAME_AS,
  type NativeRequest,
} from '../native-binding.js';
import { launcherPath } from '../native.js';
import { withoutPrototype } from '../own-properties.js';
import { ownDirectory } from '../plan/directory.js';
import type { RawOptions } from '../plan/options.js';
import type { PinnedExecutable } from '../plan/pinned.js';
import { draftPlan, pinDraft, type Draft, type LaunchPlan } from '../plan/plan.js';
import type { Call } from '../plan/route.js';
import { orderSteps, type LauncherSteps } from '../plan/steps.js';
import { encodeVerification } from './expected.js';
import { HeldDescriptors } from './held.js';

/** Asked before anything starts, with the very plan that would; throws where it must not. */
export type Admit = (plan: LaunchPlan) => void;

/** Makes the copy of a program, which is launched where that is the one that is named. */
export type Pin = () => Promise<PinnedExecutable>;

/** Under these names among the options, which no caller from outside can write. */
export const ADMIT = Symbol('admit');
export const PIN = Symbol('pin');

export type LaunchOptions = RawOptions & { readonly [ADMIT]?: Admit; readonly [PIN]?: Pin };

/**
 * Plans a launch and hands it to `start`, with the plan's descriptors held from before they were
 * described. What `start` does not take over is released.
 *
 * @param cgroup absolute path of a cgroup v2 that the program is born in; '' is our own
 */
export function withRequest<T>(
  call: Call,
  file: unknown,
  args: unknown,
  options: LaunchOptions,
  start: (plan: LaunchPlan, request: () => NativeRequest) => T,
  cgroup = '',
): T {
  const draft = draftPlan(call, file, args, options, looksAtProgram(call, options));
  return startHeld(draft, HeldDescriptors.take(draft), options, start, cgroup);
}

/**
 * As `withRequest`, for whoever can wait: the program may be pinned only then. Everything else is taken
 * before, and nothing is waited for where there is nothing to pin.
 */
export async function withPinnedRequest<T>(
  call: Call,
  file: unknown,
  args: unknown,
  options: LaunchOptions,
  start: (plan: LaunchPlan, request: () => NativeRequest) => T | Promise<T>,
  cgroup = '',
): Promise<T> {
  const pin = options[PIN];
  if (pin === undefined) return withRequest(call, file, args, options, start, cgroup);
  const draft = draftPlan(call, file, args, options, true);
  const held = HeldDescriptors.take(draft);
  let pinned: Draft;
  try {
    pinned = pinDraft(draft, await pin());
    held.takeProgram(pinned);
  } catch (error) {
    held.release();
    throw error;
  }
  return startHeld(pinned, held, options, start, cgroup);
}

/**
 * A `spawn` waits for its program anyhow; the others do not, and may not wait for a mount that does not
 * answer. But what is to be that very file has to be looked at.
 */
function looksAtProgram(call: Call, options: LaunchOptions): boolean {
  const mustBeKnown = [options[ADMIT], options.pinned, options.verify];
  return call === 'spawn' || mustBeKnown.some((given) => given !== undefined);
}

function startHeld<T>(
  draft: Draft,
  held: HeldDescriptors,
  options: LaunchOptions,
  start: (plan: LaunchPlan, request: () => NativeRequest) => T,
  cgroup: string,
): T {
  try {
    const plan = held.finish(draft);
    options[ADMIT]?.(plan);
    return start(plan, () => {
      const request = encodeRequest(plan, held, cgroup);
      held.handOver();
      return request;
    });
  } finally {
    held.release();
  }
}

function encodeRequest(plan: LaunchPlan, held: HeldDescriptors, cgroup: string): NativeRequest {
  // Started by the calling thread at once, a child that keeps our directory has nothing to change.
  const isOwn = plan.cwd === ownDirectory();
  // A name that is not UTF-8 has no path that JavaScript could say.
  const keepsDirectory = isOwn && (plan.route.kind === 'direct' || plan.cwd.includes('\ufffd'));
  const environment = Object.keys(plan.environment).map(
    (name) => `${name}=${plan.environment[name] ?? ''}`,
  );
  const steps = plan.route.launcher ? launcherSteps(plan) : NO_STEPS;
  return [
    plan.executable,
    encodeStrings(plan.argv),
    encodeStrings(environment),
    keepsDirectory ? '' : plan.cwd,
    encodeTable(plan, held),
    SESSION_MODES[plan.session],
    plan.foreground ?? -1,
    plan.route.launcher ? launcherPath() : '',
    steps.numbers.length === 0 ? NO_NUMBERS : Float64Array.from(steps.numbers),
    plan.descriptors.some(({ channel }) => channel === 'listener'),
    steps.user,
    steps.group,
    plan.route.init,
    cgroup,
    encodeVerification(plan, held.program),
  ];
}

const NO_NUMBERS = new Float64Array(0);
const NO_STEPS: LauncherSteps = { numbers: [], user: '', group: '' };

function launcherSteps({ attributes, route }: LaunchPlan): LauncherSteps {
  if (!route.init) return orderSteps(attributes, process.pid);
  // An init ends the program, and all that it left, when this process ends: that is more.
  const { dieWithParent: _, ...others } = attributes;
  return orderSteps(withoutPrototype(others), process.pid);
}

function encodeStrings(strings: readonly string[]): string {
  return strings.length === 0 ? '' : `${strings.join('\0')}\0`;
}

function encodeTable(plan: LaunchPlan, held: HeldDescriptors): Int32Array {
  const table: number[] = [];
  for (const { target, channel, source } of plan.descriptors) {
    if (source !== null) table.push(target, TABLE_HELD, held.fdOf(source));
    else if (channel === 'stdout') table.push(target, TABLE_SAME_AS, 1);
    else if (channel === 'null') table.push(target, TABLE_NULL, -1);
    else {
      const kind = target === 0 ? TABLE_PIPE_TO_CHILD : TABLE_PIPE_FROM_CHILD;
      table.push(target, kind, plan.pipeSize ?? -1);
    }
  }
  if (held.program !== null) table.push(-1, TABLE_PINNED, held.program.fd);
  return Int32Array.from(table);
}
