// Compares a launch plan with an approved profile: nine gates, each with a decision of its own.
import type { LaunchPlan } from '../plan/plan.js';
import { copyOwn, withoutPrototype } from '../own-properties.js';
import { planDigest } from '../plan/describe.js';
import type { ReviewEvidence } from './evidence.js';
import type { Case, Decision, Gate } from './gate.js';
import { reviewArguments } from './gates/arguments.js';
import { reviewChannels, reviewEvidence, reviewExtra } from './gates/descriptors.js';
import { reviewEnvironment } from './gates/environment.js';
import { reviewExecutable } from './gates/executable.js';
import { reviewLauncher } from './gates/launcher.js';
import { reviewCompletion, reviewRights } from './gates/outside.js';
import { parseProfile } from './parse.js';
import type { Profile } from './profile.js';

/** What a review came to. */
export interface Review {
  /** The most severe of the gates; `not-assessed` does not count. */
  readonly decision: Decision;
  /** All of them, in their order. */
  readonly gates: readonly Gate[];
  /** Digest of the plan that was reviewed, `sha256:` and 64 hexadecimal digits. */
  readonly planDigest: string;
  /** What no review of a plan can say. */
  readonly notTested: readonly string[];
}

/** What a review takes beside the plan. */
export interface ReviewOptions {
  /** What was approved. */
  readonly approved: Profile;
  /** Default none: what is not known holds. */
  readonly evidence?: ReviewEvidence | undefined;
  /** Milliseconds since 1970. Default: now. */
  readonly now?: number | undefined;
}

/** In the order in which they are printed. */
const GATES: ReadonlyArray<(each: Case) => Gate> = [
  reviewExecutable,
  reviewArguments,
  reviewEnvironment,
  reviewChannels,
  reviewExtra,
  reviewEvidence,
  reviewLauncher,
  reviewRights,
  reviewCompletion,
];

const SEVERITY: Readonly<Record<Gate['decision'], number>> = {
  'not-assessed': 0,
  accept: 0,
  hold: 1,
  reject: 2,
};

/**
 * Pure: looks at nothing but what it is given. `accept` says that the launch is the one that was
 * approved, and authorizes nothing.
 *
 * @throws {SallyportError} `ERR_SALLYPORT_INVALID_PROFILE`
 */
export function review(plan: LaunchPlan, options: ReviewOptions): Review {
  const { approved, evidence = {}, now = Date.now() } = withoutPrototype(options);
  return reviewParsed({ plan, approved: parseProfile(approved), evidence, now });
}

/** As `review`, of a profile that was checked. */
export function reviewParsed(given: Case): Review {
  const { approved, evidence } = given;
  // What a library added to Object.prototype nobody has approved, and nobody has seen.
  const each = { ...given, approved: copyOwn(approved), evidence: copyOwn(evidence) };
  const gates = GATES.map((compare) => compare(each));
  return {
    decision: decide(gates),
    gates,
    planDigest: planDigest(each.plan),
    notTested: [
      'what the program may open by the rights of its user',
      'what it does with what it is given',
      'whether its output is true, and whether it may be sent or published',
    ],
  };
}

export function decide(gates: ReadonlyArray<Pick<Gate, 'decision'>>): Decision {
  const worst = Math.max(0, ...gates.map(({ decision }) => SEVERITY[decision]));
  return (['accept', 'hold', 'reject'] as const)[worst] ?? 'reject';
}
