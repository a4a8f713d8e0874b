// Waits for the outcome of a launch that a lane has been given.
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import type { LaunchPlan } from '../plan/plan.js';
import { takeOver } from './adopt.js';
import { abortError, listenForAbort, type Cancellation } from './cancellation.js';
import { inThisContext } from './context.js';
import { discard } from './discard.js';
import { countReference, expectLaunch } from './events.js';
import type { Launched } from './outcomes.js';
import { keepEvidence } from './evidence.js';
import { launchError } from './failure.js';

/**
 * @param adopt called as soon as the process runs and before anything else is heard of it; what it
 *   returns is what the launch resolves to
 * @param signal takes the launch back
 */
export function awaitLaunch<T>(
  job: number,
  plan: LaunchPlan,
  signal: AbortSignal | Cancellation | undefined,
  adopt: (launched: Launched) => T,
): Promise<T> {
  countReference(1);
  return new Promise((resolve, reject) => {
    let takenBack = false;
    const takeBack = (): void => {
      takenBack = true;
      native().cancelLaunch(job);
      reject(abortError(signal as AbortSignal | Cancellation));
    };
    const stopListening = signal === undefined ? undefined : listenForAbort(signal, takeBack);

    expectLaunch(job, {
      receiveLaunch: inThisContext((outcome) => {
        countReference(-1);
        stopListening?.();
        if (isFailure(outcome)) {
          // Of a launch that was taken back the caller has heard already.
          if (!takenBack) reject(launchError(plan, outcome));
          return;
        }
        if (takenBack) {
          // It was on its way when it was taken back.
          takeOver(outcome, () => {
            discard(outcome);
          });
        } else {
          keepEvidence(plan, outcome.evidence);
          try {
            resolve(takeOver(outcome, () => adopt(outcome)));
          } catch (error) {
            // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as it was thrown
            reject(error);
          }
        }
      }),
    });
  });
}
