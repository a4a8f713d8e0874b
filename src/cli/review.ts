// `sallyport review` and `sallyport profile`: compares a launch with what was approved; starts nothing.
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isatty } from 'node:tty';

import { clean, cleanJson } from '../clean-text.js';
import { pinExecutable, planLaunch, type LaunchPlan } from '../index.js';
import {
  formatReview,
  gatherEvidence,
  parseProfile,
  profileFrom,
  profileJsonSchema,
  readProfile,
  review,
  type Profile,
  type ReviewEvidence,
} from '../review.js';
import { playEach } from '../review/cards.js';
import { findUnstated } from '../review/draft.js';
import { formatCards, formatGates } from '../review/print.js';
import { UsageError } from './failure.js';
import { printJson } from './json-output.js';
import { complain, print } from './output.js';
import { askByProfile, optionsOfDraft } from './profile-options.js';
import type { RunFlags } from './run-options.js';
import { containmentFor } from './supervision.js';
import { complainLines, printLines } from './wrap.js';

export interface ReviewFlags extends RunFlags {
  cards?: boolean;
}

/** 0 accepted, 1 held, 2 rejected. Of cards: 0, or 1 where one was not decided as it says. */
const CODES = { accept: 0, hold: 1, reject: 2 } as const;

export async function reviewLaunch(
  file: string | undefined,
  args: readonly string[],
  flags: ReviewFlags,
): Promise<number> {
  if (flags.profile === undefined) {
    if (flags.cards === true && file === undefined) return playOnExample(flags);
    throw new UsageError('review: no profile given: write --profile FILE');
  }
  const approved = readProfile(flags.profile);
  return await judge(approved, file, args, flags);
}

async function judge(
  approved: Profile,
  file: string | undefined,
  args: readonly string[],
  flags: ReviewFlags,
): Promise<number> {
  const asked = askByProfile(approved, file, args, flags);
  const { sha256, path } = approved.executable;
  // As a run would.
  const pinned = sha256 === undefined ? undefined : await pinExecutable(path);
  const options =
    pinned === undefined || asked.file !== path ? asked.options : { ...asked.options, pinned };
  let plan: LaunchPlan;
  try {
    plan = planLaunch(asked.file, asked.args, options);
  } finally {
    pinned?.[Symbol.dispose]();
  }
  return flags.cards === true ? play(plan, approved, flags) : decide(plan, approved, flags);
}

/** Of the plan, as `sallyport run` would launch it. */
function evidenceOf(plan: LaunchPlan): ReviewEvidence {
  const containment = containmentFor(plan.session, isatty(0));
  return { ...gatherEvidence(plan), containment };
}

function decide(plan: LaunchPlan, approved: Profile, flags: ReviewFlags): number {
  const reviewed = review(plan, { approved, evidence: evidenceOf(plan) });
  if (flags.json === true) printJson('review', reviewed);
  else printLines(formatReview(reviewed));
  return CODES[reviewed.decision];
}

function play(plan: LaunchPlan, approved: Profile, flags: ReviewFlags): number {
  const played = playEach({ plan, approved, evidence: evidenceOf(plan) });
  if (flags.json === true) {
    const cards = played.map(({ card, review: { decision, gates }, asExpected }) => ({
      id: card.id,
      condition: card.condition,
      decision,
      gate: card.gate,
      asExpected,
      gates,
    }));
    printJson('review-cards', cards);
  } else {
    printLines(formatCards(played));
    for (const { card, gate, asExpected } of played) {
      if (asExpected) continue;
      complain(`${card.id}: ${card.decision} by ${card.gate} was expected`);
      complainLines(`${formatGates([gate]).join('\n')}\n`);
    }
  }
  return played.every(({ asExpected }) => asExpected) ? 0 : 1;
}

/** Beside dist/, in a clone and in an installed package. */
const EXAMPLE = join(__dirname, '../../examples/text-summary');

function playOnExample(flags: ReviewFlags): number {
  const approved = readProfile(join(EXAMPLE, 'profile.json'));
  const input = openSync(join(EXAMPLE, 'notes.txt'), 'r');
  try {
    const { file, args, options } = askByProfile(approved, undefined, [], flags);
    const plan = planLaunch(file, args, { ...options, stdio: [input, 'pipe', 'pipe'] });
    return play(plan, approved, flags);
  } finally {
    closeSync(input);
  }
}

export function draft(file: string, args: readonly string[], flags: RunFlags): number {
  const profile = parseProfile(profileFrom(planLaunch(file, args, optionsOfDraft(flags))));
  print(`${cleanJson(profile, 2)}\n`);
  return 0;
}

export function check(path: string): number {
  const profile = readProfile(path);
  const { name, executable, descriptors } = profile;
  const count = descriptors === undefined ? 'not stated' : String(descriptors.length);
  const called = name === undefined ? '' : ` (${name})`;
  const told = `${path}: a profile${called} of ${executable.path}; further descriptors: ${count}`;
  print(`${clean(told)}\n`);
  const unstated = findUnstated(profile);
  if (unstated.length > 0) print(`still to be stated: ${clean(unstated.join(', '))}\n`);
  return 0;
}

export function printSchema(path: string | undefined): number {
  const text = `${JSON.stringify(profileJsonSchema(), null, 2)}\n`;
  if (path === undefined) print(text);
  else writeFileSync(path, text);
  return 0;
}
