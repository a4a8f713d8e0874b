// Takes what the native side started over: makes a Child of it, or ends it where that fails.
import { native } from '../native.js';
import type { LaunchPlan } from '../plan/plan.js';
import { SOCKETS_TAKE_PIPES } from '../runtime.js';
import type { OutputOpener } from './channels.js';
import { Child } from './child.js';
import { endUnheld } from './discard.js';
import type { Launched } from './outcomes.js';
import { linkToReaper } from './process-link.js';
import { supervise, type Supervision } from './supervision.js';

/**
 * Where a Worker is terminated before `make` is done, the native side ends the child and closes what no
 * stream has.
 *
 * @param make hands our ends of its pipes to streams
 */
export function takeOver<T>({ id }: Launched, make: () => T): T {
  // Watched pipes are closed by the native side itself.
  if (!SOCKETS_TAKE_PIPES) native().takeOver(id);
  try {
    return make();
  } finally {
    native().takeOver(id);
  }
}

/** A child that nobody holds must not go on: it is killed before the error is thrown. */
export function adopt(
  plan: LaunchPlan,
  launched: Launched,
  supervision: Supervision,
  openOutput?: OutputOpener,
): Child {
  try {
    const link = linkToReaper(launched);
    const child = Child.of(plan, link, launched.ours, supervision.killSignal, openOutput);
    supervise(child, supervision);
    return child;
  } catch (error) {
    endUnheld(launched);
    throw error;
  }
}
