// What a process should have open, from a plan or in a few words, and what it has beyond that.
import { invalid } from '../errors.js';
import { findDifference, takeExpectation, type Expectation } from '../objects/expectation.js';
import type { DescriptorObject } from '../objects/object.js';
import { itemsOf, takeOwn } from '../own-properties.js';
import type { DescriptorPlan } from '../plan/descriptors.js';
import type { DescriptorRecord, ProcessAudit, Verdict } from './record.js';

/** What may be open, and nothing else: numbers, or numbers with what must be behind them. */
export interface DescriptorExpectations {
  /** Numbers, or `{ fd, expect }` with an expectation. */
  descriptors: ReadonlyArray<number | { fd: number; expect?: Expectation | undefined }>;
  /**
   * Descriptors that the process opened itself: `leak` (the default), or `allow` for those that its
   * parent is known not to have. A parent that closed its own copy looks the same.
   */
  openedLater?: 'leak' | 'allow' | undefined;
}

/** A `LaunchPlan`, or its description: what is compared is its table. */
export interface PlannedDescriptors {
  /** Version of launch plans. */
  readonly version: 1;
  /** As in a plan: the object at each number, or what channel stands there. */
  readonly descriptors: readonly DescriptorPlan[];
}

type Check = (record: DescriptorRecord) => boolean;

export interface Comparison {
  allowed: ReadonlyMap<number, Check>;
  openedLater: 'leak' | 'allow';
}

/** @throws {SallyportTypeError} */
export function takeAgainst(value: unknown): Comparison {
  if (isPlan(value)) return { allowed: fromPlan(value), openedLater: 'leak' };
  const { descriptors, openedLater } = takeOwn(value, 'against', ['descriptors', 'openedLater']);
  if (!Array.isArray(descriptors)) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'against.descriptors',
      'must be an array of numbers and { fd, expect }; or give a launch plan',
    );
  }
  if (openedLater !== undefined && openedLater !== 'leak' && openedLater !== 'allow') {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'against.openedLater',
      "must be 'leak' or 'allow'",
    );
  }
  const allowed = new Map<number, Check>();
  itemsOf(descriptors).forEach((entry, index) => {
    const [fd, check] = takeEntry(entry, `against.descriptors[${index}]`);
    allowed.set(fd, check);
  });
  return { allowed, openedLater: openedLater ?? 'leak' };
}

function isPlan(value: unknown): value is PlannedDescriptors {
  if (typeof value !== 'object' || value === null || !('version' in value)) return false;
  const { version, descriptors } = value as { version: unknown; descriptors?: unknown };
  if (version === 1 && Array.isArray(descriptors) && descriptors.every(isDescriptorPlan)) {
    return true;
  }
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'against', 'is no launch plan of version 1');
}

function isDescriptorPlan(value: unknown): value is DescriptorPlan {
  if (typeof value !== 'object' || value === null) return false;
  const { target, channel, object } = value as Record<string, unknown>;
  return (
    Number.isSafeInteger(target) &&
    ['null', 'pipe', 'inherit', 'descriptor'].includes(channel as string) &&
    (object === null || typeof object === 'object')
  );
}

function takeEntry(entry: unknown, option: string): [number, Check] {
  const { fd, expect } =
    typeof entry === 'number' ? { fd: entry } : takeOwn(entry, option, ['fd', 'expect']);
  if (typeof fd !== 'number' || !Number.isSafeInteger(fd) || fd < 0) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, 'must have a descriptor number');
  }
  if (expect === undefined) return [fd, () => true];
  const expected = takeExpectation(expect, `${option}.expect`);
  return [fd, (record) => findDifference(record, expected) === null];
}

function fromPlan({ descriptors }: PlannedDescriptors): Map<number, Check> {
  return new Map(
    descriptors.map(({ target, channel, object }) => [target, plannedAs(channel, object)]),
  );
}

/** What stands at a planned number must be what the plan put there. */
function plannedAs(channel: DescriptorPlan['channel'], object: DescriptorObject | null): Check {
  if (object !== null) {
    return ({ dev, inode, kind, access }) =>
      dev === object.dev &&
      inode === object.inode &&
      kind === object.kind &&
      access === object.access;
  }
  if (channel === 'pipe') return ({ kind }) => kind === 'pipe';
  return ({ target }) => target === '/dev/null';
}

/** A thread's own table was planned by nobody. */
export const isNamed = (record: DescriptorRecord, { allowed }: Comparison): boolean =>
  record.thread === undefined && allowed.get(record.fd)?.(record) === true;

/** Unreadable is never clean. */
export function compare(
  { descriptors, unreadable }: ProcessAudit,
  against: Comparison,
): { verdict: Verdict; leaks: DescriptorRecord[] } {
  const leaks = descriptors.filter(
    (record) =>
      !isNamed(record, against) &&
      (against.openedLater === 'leak' || record.origin?.inherited !== false),
  );
  if (leaks.length > 0) return { verdict: 'leaks', leaks };
  return { verdict: unreadable === undefined ? 'clean' : 'unknown', leaks };
}
