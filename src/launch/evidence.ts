// What the addon saw of a child at its exec, or after it: from its text to a record, kept by plan.
import type { Difference } from '../errors.js';
import type { ObjectAccess, ObjectKind } from '../objects/kind.js';
import type { LaunchPlan } from '../plan/plan.js';

/** A descriptor as the child had it. */
export interface SeenDescriptor {
  /** Number in the child. */
  readonly target: number;
  /** A socket that listens is a `socket` here: it was not asked itself. */
  readonly kind: ObjectKind;
  /** What it permits. */
  readonly access: ObjectAccess;
  /** Whether the exec closes it. */
  readonly closeOnExec: boolean;
  /** st_dev, stat(2). */
  readonly dev: number;
  /** In decimal. */
  readonly inode: string;
  /** Number of the mount that it is on, proc_pid_mountinfo(5). */
  readonly mount: number;
  /** What `/proc/<pid>/fd/N` linked to. */
  readonly link: string;
}

/** Of one child; held against its plan, object by object. */
export interface ExecEvidence {
  /** `after-exec` is a later look, when the program ran already: no proof of what it was given. */
  readonly when: 'at-exec' | 'after-exec';
  /** Process id of the program. */
  readonly pid: number;
  /** Each descriptor that the exec does not close. */
  readonly descriptors: readonly SeenDescriptor[];
  /** Of the environment that was about to be handed over; empty `after-exec`. */
  readonly environmentNames: readonly string[];
  /** Ids, session, directory and so on, as text. Empty `after-exec`, but for the directory. */
  readonly facts: Readonly<Record<string, string>>;
  /** Always empty `at-exec`: a child that differs never runs. */
  readonly differences: readonly Difference[];
  /** The file in /proc that could not be read, `after-exec`; null: all of it was. */
  readonly unread: string | null;
}

const byPlan = new WeakMap<LaunchPlan, ExecEvidence>();

/** @param text Evidence in native/core/verify_child.cc; '' where nobody looked */
export function keepEvidence(plan: LaunchPlan, text: string): void {
  if (text !== '') byPlan.set(plan, parseEvidence(text));
}

/** Null where nobody looked. Each launch has a plan of its own. */
export function evidenceOf(plan: LaunchPlan): ExecEvidence | null {
  return byPlan.get(plan) ?? null;
}

/** Takes what the addon appended to our ends of the pipes. */
export function splitEvidence(rest: ReadonlyArray<number | string>): {
  ours: number[];
  evidence: string;
} {
  const last = rest.at(-1);
  return {
    ours: rest.filter((entry) => typeof entry === 'number'),
    evidence: typeof last === 'string' ? last : '',
  };
}

export function parseEvidence(text: string): ExecEvidence {
  const fields = text.split('\0');
  const descriptors: SeenDescriptor[] = [];
  const environmentNames: string[] = [];
  const facts: Record<string, string> = Object.create(null) as Record<string, string>;
  const differences: Difference[] = [];
  let at = 0;
  const next = (): string => fields[at++] ?? '';
  // The text ends with a NUL, after which there is one empty field.
  while (at < fields.length - 1) {
    switch (next()) {
      case 'descriptor':
        descriptors.push(takeDescriptor(next));
        break;
      case 'variable':
        environmentNames.push(next());
        break;
      case 'difference':
        differences.push({ path: next(), planned: next(), seen: next() });
        break;
      default: {
        const name = next();
        facts[name] = next();
      }
    }
  }
  const { when, pid, unread, ...others } = facts;
  return Object.freeze({
    when: when === 'at-exec' ? when : 'after-exec',
    pid: Number(pid),
    descriptors,
    environmentNames: environmentNames.sort(),
    facts: others,
    differences,
    unread: unread ?? null,
  });
}

function takeDescriptor(next: () => string): SeenDescriptor {
  return {
    target: Number(next()),
    closeOnExec: next() === '1',
    kind: next() as ObjectKind,
    access: next() as ObjectAccess,
    dev: Number(next()),
    inode: next(),
    mount: Number(next()),
    link: next(),
  };
}
