// Starts a child without holding up the caller.
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { withoutPrototype } from '../own-properties.js';
import { takeOptions, type RawOptions, type SpawnOptions } from '../plan/options.js';
import { adopt } from './adopt.js';
import { awaitLaunch } from './await-launch.js';
import { abortError, type Cancellation } from './cancellation.js';
import type { OutputOpener } from './channels.js';
import type { Child } from './child.js';
import type { ChildWith } from './child-streams.js';
import { listenForEvents } from './events.js';
import { launchError } from './failure.js';
import { withPinnedRequest } from './request.js';
import { splitArguments } from './spawn.js';
import { takeSupervision } from './supervision.js';

/**
 * As `spawn`, from a spawner lane and without waiting for it: the caller is held up for some
 * microseconds, whatever its heap and however many descriptors it has open. Everything that is handed
 * over is taken before this returns, not when the lane gets to it. Launches start in the order of
 * their calls; an abort takes one back that has not started yet.
 *
 * @typeParam Stdio what `stdio` says, by which the child's streams are known
 * @returns the child, once it has reached its program
 * @throws {SallyportTypeError | SallyportError} as `spawn` does, as a rejection; `AbortError`
 */
export function launch<const Stdio extends SpawnOptions['stdio'] = undefined>(
  file: string,
  options: SpawnOptions & { stdio?: Stdio },
): Promise<ChildWith<Stdio>>;
export function launch<const Stdio extends SpawnOptions['stdio'] = undefined>(
  file: string,
  args?: readonly string[],
  options?: SpawnOptions & { stdio?: Stdio },
): Promise<ChildWith<Stdio>>;
export function launch(file: string, options: SpawnOptions): Promise<Child>;
export function launch(
  file: string,
  args?: readonly string[],
  options?: SpawnOptions,
): Promise<Child>;
export async function launch(
  file: string,
  argsOrOptions?: readonly string[] | SpawnOptions,
  options?: SpawnOptions,
): Promise<Child> {
  const [args, given] = splitArguments(argsOrOptions, options);
  return launchChild(file, args, takeOptions(given));
}

/** How a child is to be taken over by whoever supervises it. */
export interface Takeover {
  /** What becomes of our end of a pipe from the child. */
  readonly openOutput?: OutputOpener;
  /** Once it has ended it stays a zombie until `releaseZombie`: nobody else comes to its number. */
  readonly keepsZombie?: boolean;
  /** Takes the launch back, and nothing after that. */
  readonly cancellation?: Cancellation;
}

/** @internal `launch` with more say. */
export async function launchChild(
  file: unknown,
  args: unknown,
  raw: RawOptions,
  takeover: Takeover = {},
): Promise<Child> {
  const { openOutput, keepsZombie = false, cancellation } = withoutPrototype(takeover);
  const supervision = takeSupervision(raw);
  return withPinnedRequest('launch', file, args, raw, (plan, request) => {
    const signal = cancellation ?? supervision.signal;
    if (signal?.aborted === true) throw abortError(signal);
    listenForEvents();
    const job = native().launch(...request(), plan.noNewPrivileges, undefined, keepsZombie);
    if (isFailure(job)) throw launchError(plan, job);
    return awaitLaunch(job, plan, signal, (launched) =>
      adopt(plan, launched, supervision, openOutput),
    );
  });
}
