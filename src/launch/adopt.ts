// Makes a Child of what the native side started, or ends it where that fails.
import type { LaunchPlan } from '../plan/plan.js';
import type { OutputOpener } from './channels.js';
import { Child } from './child.js';
import { endUnheld } from './discard.js';
import type { Launched } from './outcomes.js';
import { linkToReaper } from './process-link.js';
import { supervise, type Supervision } from './supervision.js';

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
