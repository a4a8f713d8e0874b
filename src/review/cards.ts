// Eight cards: each changes one condition of an approved launch, and a gate must answer for it.
import type { DescriptorObject } from '../objects/object.js';
import type { LaunchPlan } from '../plan/plan.js';
import { planDigest } from '../plan/describe.js';
import type { ReviewEvidence } from './evidence.js';
import type { Decision, Gate, GateName } from './gate.js';
import type { Profile } from './profile.js';
import { reviewParsed, type Review } from './review.js';

/** What a card is played on. */
export interface CardCase {
  readonly plan: LaunchPlan;
  readonly approved: Profile;
  readonly evidence: ReviewEvidence;
}

export interface Card {
  readonly id: 'S37' | 'S38' | 'S39' | 'S40' | 'S41' | 'S42' | 'S43' | 'S44';
  /** The one condition that it changes. */
  readonly condition: string;
  readonly decision: Decision;
  /** The gate that must say so. */
  readonly gate: GateName;
  /** What that gate must decide; `not-assessed` for what no review can tell. */
  readonly gateDecision: Gate['decision'];
  play(given: CardCase): CardCase;
}

/** Somebody else's: no launch of ours has it. */
const STRAY: DescriptorObject = Object.freeze({
  kind: 'socket',
  access: 'both',
  target: 'socket:[1]',
  dev: 9,
  inode: '1',
  flags: 2,
  socket: Object.freeze({
    family: 1,
    type: 1,
    protocol: 0,
    listening: false,
    local: '/run/somebody-elses.sock',
    remote: '',
  }),
});

/** Copies of another plan's descriptors say nothing of this one's. */
function withPlan(given: CardCase, plan: LaunchPlan): CardCase {
  const { descriptors } = given.evidence;
  if (descriptors?.kind !== 'held') return { ...given, plan };
  const held = { ...descriptors, planDigest: planDigest(plan) };
  return { ...given, plan, evidence: { ...given.evidence, descriptors: held } };
}

function freeTarget({ descriptors }: LaunchPlan): number {
  return Math.max(2, ...descriptors.map(({ target }) => target)) + 1;
}

export const CARDS: readonly Card[] = [
  {
    id: 'S37',
    condition: 'nothing: the launch is the one that was approved',
    decision: 'accept',
    gate: 'extra-descriptors',
    gateDecision: 'accept',
    play: (given) => given,
  },
  {
    id: 'S38',
    condition: 'arguments and environment were reviewed, the settings of descriptors were not',
    decision: 'hold',
    gate: 'extra-descriptors',
    gateDecision: 'hold',
    play: (given) => {
      const { channels: _channels, descriptors: _descriptors, ...approved } = given.approved;
      return { ...given, approved };
    },
  },
  {
    id: 'S39',
    condition: 'the pass list also names a descriptor that has nothing to do with the job',
    decision: 'reject',
    gate: 'extra-descriptors',
    gateDecision: 'reject',
    play: (given) => {
      const target = freeTarget(given.plan);
      const stray = { target, channel: 'descriptor', source: target, object: STRAY } as const;
      const descriptors = [...given.plan.descriptors, stray];
      return withPlan(given, { ...given.plan, descriptors });
    },
  },
  {
    id: 'S40',
    condition: 'stdin is a resource of the parent that has nothing to do with the job',
    decision: 'reject',
    gate: 'standard-channels',
    gateDecision: 'reject',
    play: (given) => {
      const [, ...others] = given.plan.descriptors;
      const stray = { target: 0, channel: 'inherit', source: 0, object: STRAY } as const;
      return withPlan(given, { ...given.plan, descriptors: [stray, ...others] });
    },
  },
  {
    id: 'S41',
    condition: 'the descriptors are known only by an earlier look at their flags',
    decision: 'hold',
    gate: 'descriptor-evidence',
    gateDecision: 'hold',
    play: (given) => {
      const takenAt = new Date(0).toISOString();
      return {
        ...given,
        evidence: { ...given.evidence, descriptors: { kind: 'snapshot', takenAt } },
      };
    },
  },
  {
    id: 'S42',
    condition: 'another program is put before it, which starts it',
    decision: 'hold',
    gate: 'launcher',
    gateDecision: 'hold',
    play: (given) => {
      const wrapper = '/usr/bin/env';
      const [, ...rest] = given.plan.argv;
      const argv = [wrapper, given.approved.executable.path, ...rest];
      return withPlan(given, { ...given.plan, file: wrapper, executable: wrapper, argv });
    },
  },
  {
    id: 'S43',
    condition: 'the program can open something else by the rights of its user',
    decision: 'accept',
    gate: 'os-rights',
    gateDecision: 'not-assessed',
    play: (given) => given,
  },
  {
    id: 'S44',
    condition: 'its output grows beyond what is kept, and where it ends is not known',
    decision: 'hold',
    gate: 'completion',
    gateDecision: 'hold',
    play: (given) => ({
      ...given,
      evidence: {
        ...given.evidence,
        report: {
          complete: false,
          outcome: { kind: 'output-limit' },
          output: { stdout: { end: 'truncated' }, stderr: { end: 'cut' } },
        },
      },
    }),
  },
];

export interface PlayedCard {
  readonly card: Card;
  readonly review: Review;
  /** Of the card. */
  readonly gate: Gate;
  /** Whether the review decided as the card says, by its gate. */
  readonly asExpected: boolean;
}

/** Several conditions changed at once, in this order. */
export function playCards(cards: readonly Card[], given: CardCase, now = Date.now()): Review {
  const changed = cards.reduce((each, card) => card.play(each), given);
  return reviewParsed({ ...changed, now });
}

/** All eight, each by itself. */
export function playEach(given: CardCase, now = Date.now()): PlayedCard[] {
  return CARDS.map((card) => {
    const review = playCards([card], given, now);
    const gate = review.gates.find(({ name }) => name === card.gate) as Gate;
    const asExpected = review.decision === card.decision && gate.decision === card.gateDecision;
    return { card, review, gate, asExpected };
  });
}
