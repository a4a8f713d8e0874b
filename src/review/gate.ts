// A gate: one side of a launch, compared with what was approved, with a decision of its own.
import type { LaunchPlan } from '../plan/plan.js';
import type { ReviewEvidence } from './evidence.js';
import type { Profile } from './profile.js';

export const GATE_NAMES = [
  'executable',
  'arguments',
  'environment',
  'standard-channels',
  'extra-descriptors',
  'descriptor-evidence',
  'launcher',
  'os-rights',
  'completion',
] as const;

/** The gates, in their order. */
export type GateName = (typeof GATE_NAMES)[number];
/** What a review, or one gate of it, says. */
export type Decision = 'accept' | 'hold' | 'reject';

/** One thing that is not as it was approved. Holds no value of a variable or an argument. */
export interface GateDifference {
  /** `environment.CI`, `descriptors.5.access`, … */
  readonly path: string;
  /** Never the value of a variable or an argument. */
  readonly approved: string;
  /** Never the value of a variable or an argument. */
  readonly asked: string;
  /** `wider`: more than was approved. `narrower`: less. `unknown`: nobody can tell. */
  readonly effect: 'wider' | 'narrower' | 'unknown';
}

/** One question of a review, with its answer. */
export interface Gate {
  /** Which question. */
  readonly name: GateName;
  /** `not-assessed` is printed and does not count. */
  readonly decision: Decision | 'not-assessed';
  /** What the profile says, in words. */
  readonly approved: string;
  /** What the plan says, in words. */
  readonly asked: string;
  /** What the decision says. */
  readonly sentence: string;
  /** Each thing that is not as it was approved. */
  readonly differences: readonly GateDifference[];
}

/** What the gates compare. */
export interface Case {
  readonly plan: LaunchPlan;
  readonly approved: Profile;
  readonly evidence: ReviewEvidence;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Collects what differs, and decides by it: more than was approved is rejected, all else held. */
export class Comparison {
  readonly differences: GateDifference[] = [];

  wider(path: string, approved: string, asked: string): void {
    this.differences.push({ path, approved, asked, effect: 'wider' });
  }

  narrower(path: string, approved: string, asked: string): void {
    this.differences.push({ path, approved, asked, effect: 'narrower' });
  }

  unknown(path: string, approved: string, asked: string): void {
    this.differences.push({ path, approved, asked, effect: 'unknown' });
  }

  get decision(): Decision {
    if (this.differences.some(({ effect }) => effect === 'wider')) return 'reject';
    return this.differences.length > 0 ? 'hold' : 'accept';
  }

  /** @param sentences for each decision */
  gate(
    name: GateName,
    approved: string,
    asked: string,
    sentences: Readonly<Record<Decision, string>>,
  ): Gate {
    const { decision, differences } = this;
    return { name, decision, approved, asked, sentence: sentences[decision], differences };
  }
}

export function notAssessed(
  name: GateName,
  approved: string,
  asked: string,
  sentence: string,
): Gate {
  return { name, decision: 'not-assessed', approved, asked, sentence, differences: [] };
}
