// Matchers for users' own test suites, for whatever runner has vitest's and jest's `expect.extend`.
import { readFileSync } from 'node:fs';

import { auditProcess } from './audit/audit.js';
import type { DescriptorRecord } from './audit/record.js';
import { describeRefusal, scanFacts } from './audit/scan.js';
import { clean } from './clean-text.js';
import { phraseObject } from './objects/object.js';
import { itemsOf } from './own-properties.js';

/** A process id, or anything with one: a `Child`, Node's `ChildProcess`, a `ProcessAudit`. */
export type ProcessLike = number | { readonly pid?: number | undefined };

interface MatcherContext {
  readonly isNot?: boolean;
}

/** What a matcher gives to the runner of tests. */
export interface MatcherResult {
  /** Whether it is so. */
  pass: boolean;
  /** What to say where it is not; with `not`, where it is. */
  message: () => string;
}

function requireList(expected: unknown, of: 'number' | 'string'): void {
  const isList = Array.isArray(expected) && itemsOf(expected).every((item) => typeof item === of);
  if (!isList) throw new TypeError(`expected an array of ${of}s to compare with`);
}

function pidOf(received: unknown): number {
  const pid = typeof received === 'number' ? received : (received as { pid?: unknown } | null)?.pid;
  if (typeof pid === 'number') return pid;
  throw new TypeError('expected a process id, or an object that has one as `pid`');
}

/** What cannot be read neither has only these nor has others: it fails both ways. */
function unknown({ isNot }: MatcherContext, why: string): MatcherResult {
  return { pass: isNot === true, message: () => `it cannot be told what the process has: ${why}` };
}

/** Names of variables and files are other people's text. */
const list = (items: readonly string[]): string =>
  items.length === 0 ? 'none' : items.map(clean).join(', ');

function phrase({ fd, thread, ...object }: DescriptorRecord): string {
  return `${fd} ${phraseObject(object)}${thread === undefined ? '' : ` of thread ${thread}`}`;
}

/** The process has these descriptors open, all of them, and no other. */
export function toHaveOnlyDescriptors(
  this: MatcherContext,
  received: ProcessLike,
  expected: readonly number[],
): MatcherResult {
  const pid = pidOf(received);
  requireList(expected, 'number');
  const { descriptors, unreadable } = auditProcess(pid, {
    // Named, so that a program which is being loaded is waited for.
    against: { descriptors: expected },
    origins: false,
    otherEnds: false,
  });
  if (unreadable !== undefined) return unknown(this, unreadable);
  const open = new Set(descriptors.map(({ fd }) => fd));
  const beyond = descriptors.filter(
    ({ fd, thread }) => thread !== undefined || !expected.includes(fd),
  );
  const missing = expected.filter((fd) => !open.has(fd));
  return {
    pass: beyond.length === 0 && missing.length === 0,
    message: () =>
      this.isNot === true
        ? `expected process ${pid} to have other descriptors than ${list(expected.map(String))}`
        : `expected process ${pid} to have only the descriptors ${list(expected.map(String))}; open beyond them: ${list(beyond.map(phrase))}; not open: ${list(missing.map(String))}`,
  };
}

/** The environment that the process was started with has these variables, and no other. Names only. */
export function toHaveOnlyEnvironment(
  this: MatcherContext,
  received: ProcessLike,
  expected: readonly string[],
): MatcherResult {
  const pid = pidOf(received);
  requireList(expected, 'string');
  let names: string[];
  try {
    names = readNames(pid);
  } catch (error) {
    return unknown(this, (error as Error).message);
  }
  const beyond = names.filter((name) => !expected.includes(name));
  const missing = expected.filter((name) => !names.includes(name));
  return {
    pass: beyond.length === 0 && missing.length === 0,
    message: () =>
      this.isNot === true
        ? `expected process ${pid} to have other variables than ${list(expected)}`
        : `expected process ${pid} to have only the variables ${list(expected)}; beyond them: ${list(beyond)}; missing: ${list(missing)}`,
  };
}

function readNames(pid: number): string[] {
  // Of a process in the midst of its exec the environment reads as empty: a scan waits for the end.
  const [process] = scanFacts({ pids: [pid] });
  const refusal = process === undefined ? undefined : describeRefusal(process);
  if (refusal !== undefined) throw new Error(refusal);
  return readFileSync(`/proc/${pid}/environ`, 'latin1')
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => entry.split('=', 1)[0] ?? '');
}
