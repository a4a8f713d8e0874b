// The ledger of a plan: everything that crosses into a child, in five categories.
import { phraseObject } from '../objects/object.js';
import { phraseCount } from '../phrase-count.js';
import { describePlan, type PlanDescription } from '../plan/describe.js';
import type { DescriptorPlan } from '../plan/descriptors.js';
import type { LaunchPlan } from '../plan/plan.js';
import type { Profile } from './profile.js';

/** What kind of thing crosses. */
export type LedgerCategory =
  'job-input' | 'parent-objects' | 'stdin' | 'stdout-stderr' | 'cwd-environment';

/** One thing that crosses. */
export interface LedgerEntry {
  /** What kind of thing it is. */
  readonly category: LedgerCategory;
  /** Number in the child, or null. */
  readonly target: number | null;
  /** What it is. */
  readonly object: string;
  /** `read`, `write`, `both`, `listen`, `none`; of what is no descriptor: how it is given. */
  readonly operation: string;
  /** dev:inode, where it is an object of this process. */
  readonly identity: string | null;
  /** What else is to be known of it. */
  readonly note: string;
}

/** Everything that crosses into a child by a plan. */
export interface Ledger {
  /** The described plan. */
  readonly plan: PlanDescription;
  /** Each thing, by category. */
  readonly entries: readonly LedgerEntry[];
  /** What nobody looked at, in words. */
  readonly notTested: readonly string[];
}

export const CATEGORIES: Readonly<Record<LedgerCategory, string>> = {
  'job-input': "the job's input",
  'parent-objects': 'other objects of the parent',
  stdin: 'stdin',
  'stdout-stderr': 'stdout and stderr',
  'cwd-environment': 'directory and environment',
};

/**
 * Everything that crosses into a child by a plan, in five categories.
 *
 * @param approved a profile that says what the further descriptors are for; without one they are
 *   objects of the parent that nobody has spoken for
 */
export function ledger(
  plan: LaunchPlan | PlanDescription,
  { approved }: { readonly approved?: Profile | undefined } = {},
): Ledger {
  const description = 'argv' in plan ? describePlan(plan) : plan;
  const { descriptors } = description;
  const beyond = descriptors.filter(({ target }) => target > 2);
  const entries: LedgerEntry[] = [
    ...argumentEntries(description),
    ...beyond.map((each) => beyondEntry(each, approved)),
    ...descriptors.filter(({ target }) => target <= 2).map(standardEntry),
    other(description.cwd, 'start in it', 'confines nothing'),
    variablesEntry(description.environment),
    ...environmentEntries(description.environment),
  ];
  const order = Object.keys(CATEGORIES);
  entries.sort((a, b) => order.indexOf(a.category) - order.indexOf(b.category));
  return {
    plan: description,
    entries,
    notTested: [
      'nothing was started: what the child holds at its exec is seen only there',
      'what the program may open by the rights of its user',
      'captured output stays untrusted: it may be read, and no more follows from it',
    ],
  };
}

function argumentEntries({ arguments: { count, bytes } }: PlanDescription): LedgerEntry[] {
  return [
    {
      category: 'job-input',
      target: null,
      object: 'arguments',
      operation: 'argv',
      identity: null,
      note: `${count} of ${bytes.join(', ')} bytes (with the program's name)`,
    },
  ];
}

/** The names are the note, which may be long: the other columns stay narrow. */
function variablesEntry({ names, source }: PlanDescription['environment']): LedgerEntry {
  const count = phraseCount(names.length, 'variable');
  return other(count, source, [...names, '(values are never shown)'].join(' '));
}

/** Where each variable comes from and why; of those that were just given, what is known of the name. */
function environmentEntries({
  grants,
  caches,
  absent,
}: PlanDescription['environment']): LedgerEntry[] {
  return [
    ...grants
      .filter(({ origin, flag }) => origin !== 'given' || flag !== undefined)
      .map(({ name, origin, reason, flag }) =>
        other(name, origin, flag === undefined ? reason : `${reason} (${flag.kind}: ${flag.why})`),
      ),
    ...caches.map(({ name, path, reason }) => other(path, 'read', `cache ${name}: ${reason}`)),
    ...absent.map((name) => other(name, 'allowed', 'not set here')),
  ];
}

function beyondEntry(descriptor: DescriptorPlan, approved: Profile | undefined): LedgerEntry {
  const known = approved?.descriptors?.find(({ target }) => target === descriptor.target);
  const isInput = known?.role === 'job-input';
  const note =
    known === undefined ? 'nobody says what it is for' : `${known.role}: ${known.reason}`;
  return entry(isInput ? 'job-input' : 'parent-objects', descriptor, note);
}

const CHANNEL_NOTES: Readonly<Record<DescriptorPlan['channel'], string>> = {
  null: '/dev/null',
  pipe: 'a pipe to the launching program',
  stdout: 'the pipe of stdout',
  inherit: 'inherited by choice: an object of the parent',
  descriptor: 'an object of the parent',
  listener: 'a socket that accepts, handed over',
};

function standardEntry(descriptor: DescriptorPlan): LedgerEntry {
  const category = descriptor.target === 0 ? 'stdin' : 'stdout-stderr';
  return entry(category, descriptor, CHANNEL_NOTES[descriptor.channel]);
}

function entry(category: LedgerCategory, descriptor: DescriptorPlan, note: string): LedgerEntry {
  const { target, channel, object, source } = descriptor;
  const from = source === null || source === target ? '' : `; number ${source} here`;
  if (object === null) {
    const operation = channel === 'null' ? 'both' : target === 0 ? 'read' : 'write';
    return { category, target, object: channel, operation, identity: null, note: note + from };
  }
  const operation = object.kind === 'listener' ? 'listen' : object.access;
  return {
    category,
    target,
    // The operation has a column of its own.
    object: phraseObject(object).replace(/ \([a-z]+\)$/, ''),
    operation,
    identity: `${object.dev}:${object.inode}`,
    note: note + from,
  };
}

function other(object: string, operation: string, note: string): LedgerEntry {
  return { category: 'cwd-environment', target: null, object, operation, identity: null, note };
}
