// Descriptors that appear in a process and vanish from it, by looking again and again.
import { setTimeout as wait } from 'node:timers/promises';

import { invalid, systemError } from '../errors.js';
import { takeOwn } from '../own-properties.js';
import { scanOne, scanSame } from './audit.js';
import type { DescriptorRecord } from './record.js';
import { describeRefusal } from './scan.js';
import type { Refusal, ScannedProcess } from './unpack.js';

/** How often, and for how long, `watchProcess` looks. */
export interface WatchOptions {
  /** Milliseconds between two looks. Default 500. What comes and goes in between is not seen. */
  interval?: number | undefined;
  /** Ends the watch; the loop ends as if the process had. */
  signal?: AbortSignal | undefined;
}

/** What changed between two looks. */
export interface DescriptorChange {
  /** `appeared`, `vanished`, or `changed`: the number means another object now. */
  readonly type: 'appeared' | 'vanished' | 'changed';
  /** The descriptor. */
  readonly record: DescriptorRecord;
  /** What was there before, of `changed`: the number means another object now. */
  readonly before?: DescriptorRecord;
  /** When it was seen. */
  readonly at: Date;
}

const DEFAULT_INTERVAL = 500;

/**
 * /proc has no events for descriptors. Ends when the process does.
 *
 * @throws as auditProcess, when the loop begins; and where the process can be read no more
 */
export async function* watchProcess(
  pid: number,
  options?: WatchOptions,
): AsyncGenerator<DescriptorChange, void, undefined> {
  const { interval, signal } = takeWatchOptions(options);
  const first = scanOne(pid);
  let seen = byNumber(first);
  while (!isAborted(signal)) {
    try {
      await wait(interval, undefined, signal === undefined ? {} : { signal });
    } catch {
      return;
    }
    const now = lookAgain(first);
    const found = now === undefined ? new Map<string, DescriptorRecord>() : byNumber(now, seen);
    yield* differences(seen, found, new Date());
    if (now === undefined) return;
    seen = found;
  }
}

const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

function takeWatchOptions(options: unknown): { interval: number; signal: AbortSignal | undefined } {
  const { interval, signal } = takeOwn(options, 'options', ['interval', 'signal']);
  if (
    interval !== undefined &&
    !(typeof interval === 'number' && interval >= 1 && interval < 2 ** 31)
  ) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'interval', 'must be milliseconds, 1 or more');
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'signal', 'must be an AbortSignal');
  }
  return { interval: interval ?? DEFAULT_INTERVAL, signal };
}

/** Undefined where the process has ended, whoever has its pid by now. */
function lookAgain(first: ScannedProcess): ScannedProcess | undefined {
  try {
    const now = scanSame(first);
    return now.state === 'Z' ? undefined : now;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ESRCH') return undefined;
    throw error;
  }
}

const UNREADABLE: readonly Refusal[] = ['process', 'descriptors'];
// In the midst of an exec, or of its end: the next look tells.
const FOR_A_MOMENT: readonly Refusal[] = ['ended', 'executed', 'loading'];

/**
 * @param before what stands where this look saw nothing and the next one will
 * @throws {SallyportError} where nothing can be seen: that is not as if nothing were open
 */
function byNumber(
  scanned: ScannedProcess,
  before: ReadonlyMap<string, DescriptorRecord> = new Map(),
): ReadonlyMap<string, DescriptorRecord> {
  const { pid, refusal, errno, descriptors } = scanned;
  if (UNREADABLE.includes(refusal)) {
    throw systemError(errno, 'read', describeRefusal(scanned) ?? '', {
      syscall: `watch ${pid}`,
      stage: 'audit',
      stagePath: `/proc/${pid}/fd`,
      stageSource: 'reported',
    });
  }
  if (FOR_A_MOMENT.includes(refusal)) return before;
  return new Map(descriptors.map((record) => [`${record.thread ?? ''}:${record.fd}`, record]));
}

function* differences(
  before: ReadonlyMap<string, DescriptorRecord>,
  now: ReadonlyMap<string, DescriptorRecord>,
  at: Date,
): Generator<DescriptorChange> {
  for (const [key, record] of before) {
    if (!now.has(key)) yield { type: 'vanished', record, at };
  }
  for (const [key, record] of now) {
    const old = before.get(key);
    if (old === undefined) yield { type: 'appeared', record, at };
    else if (isAnother(old, record)) {
      yield { type: 'changed', record, before: old, at };
    }
  }
}

/** An epoll and an eventfd have the same inode, and are of two kinds. */
const isAnother = (old: DescriptorRecord, record: DescriptorRecord): boolean =>
  old.dev !== record.dev || old.inode !== record.inode || old.kind !== record.kind;
