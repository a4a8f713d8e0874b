// What is open in one process, in a tree of them, in all of them, and in this one.
import { readFileSync } from 'node:fs';

import { invalid, systemError } from '../errors.js';
import { takeOwn } from '../own-properties.js';
import {
  compare,
  isNamed,
  takeAgainst,
  type Comparison,
  type DescriptorExpectations,
  type PlannedDescriptors,
} from './against.js';
import { addOtherEnds } from './connections.js';
import { addOrigins, scanParent } from './origin.js';
import type { DescriptorRecord, ProcessAudit } from './record.js';
import { scan, scanFacts, toAudit } from './scan.js';
import { settle } from './settle.js';
import { findTree } from './tree.js';
import type { ScannedProcess } from './unpack.js';

/** How closely an audit looks. */
export interface AuditDetails {
  /** Whether each descriptor was inherited: one more look, at the parent. Default true. */
  origins?: boolean | undefined;
  /** Who has the other ends of pipes and Unix sockets: one more look, at every process. Default true. */
  otherEnds?: boolean | undefined;
}

/** What `auditProcess` takes. */
export interface AuditOptions extends AuditDetails {
  /** What the process should have open: a launch plan, or expectations. */
  against?: PlannedDescriptors | DescriptorExpectations | undefined;
}

const OPTION_NAMES = ['against', 'origins', 'otherEnds'] as const;

interface Taken {
  against: Comparison | undefined;
  origins: boolean;
  otherEnds: boolean;
}

function takeOptions(options: unknown): Taken {
  const taken = takeOwn(options, 'options', OPTION_NAMES);
  for (const name of ['origins', 'otherEnds'] as const) {
    if (taken[name] !== undefined && typeof taken[name] !== 'boolean') {
      throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', name, 'must be true or false');
    }
  }
  return {
    against: taken.against === undefined ? undefined : takeAgainst(taken.against),
    origins: taken.origins !== false,
    otherEnds: taken.otherEnds !== false,
  };
}

function requirePid(pid: unknown): number {
  if (typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 && pid < 2 ** 31) return pid;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'pid', 'must be a process id');
}

const ENOENT = 2;
const ESRCH = 3;

/** Where /proc hides other users' processes (hidepid), one that is there looks as if it were not. */
function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Reads /proc: a snapshot, and not at one instant. What could not be read is said in `unreadable`
 * and is never clean. With `against`, a program that is being loaded is waited for, 0.1 s at most.
 *
 * @throws {SallyportTypeError} for a wrong argument
 * @throws {SallyportError} `ESRCH`, stage `audit`: there is no such process
 */
export function auditProcess(pid: number, options?: AuditOptions): ProcessAudit {
  const number = requirePid(pid);
  const taken = takeOptions(options);
  const { against } = taken;
  const first = scanOne(number);
  if (against === undefined) return finish(first, taken);
  const again = (): ScannedProcess => scanSame(first);
  return finish(
    settle(first, again, (record) => isNamed(record, against)),
    taken,
  );
}

/** @throws as auditProcess */
export function scanOne(pid: unknown): ScannedProcess {
  const number = requirePid(pid);
  const [scanned] = scan({ pids: [number] }).processes;
  if (scanned === undefined || isMissing(scanned)) throw noSuchProcess(number);
  refuseThread(number);
  return scanned;
}

/** @throws as auditProcess: ESRCH also where another process has its pid by now */
export function scanSame({ pid, startTime }: ScannedProcess): ScannedProcess {
  const now = scanOne(pid);
  // It is there and cannot be read, EMFILE say: nothing is known of it, its start neither.
  if (now.refusal === 'process' || now.startTime === startTime) return now;
  throw noSuchProcess(pid);
}

/** /proc has an entry for each thread too, which it does not list: proc(5). */
function refuseThread(pid: number): void {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return; // What could be read is told all the same.
  }
  const leader = Number(/^Tgid:\s*(\d+)$/m.exec(text)?.[1] ?? pid);
  if (leader !== pid) throw noSuchProcess(pid, `it is a thread of ${leader}: audit that`);
}

function isMissing({ pid, refusal, errno }: ScannedProcess): boolean {
  return refusal === 'process' && (errno === ENOENT || errno === ESRCH) && !exists(pid);
}

function noSuchProcess(pid: number, advice = ''): Error {
  return systemError(ESRCH, 'open', advice, {
    syscall: `audit ${pid}`,
    stage: 'audit',
    stagePath: `/proc/${pid}`,
    stageSource: 'reported',
  });
}

function finish(scanned: ScannedProcess, { against, origins, otherEnds }: Taken): ProcessAudit {
  // Allowing what was opened later needs to know it.
  if (origins || against?.openedLater === 'allow') addOrigins(scanned, scanParent(scanned));
  if (otherEnds) addOtherEnds([scanned]);
  const audit = toAudit(scanned);
  return against === undefined ? audit : { ...audit, ...compare(audit, against) };
}

/**
 * The process, its descendants, and those of its sessions and process groups that were orphaned;
 * parents before their children.
 *
 * @throws as auditProcess
 */
export function auditTree(pid: number, options?: AuditDetails): ProcessAudit[] {
  const root = requirePid(pid);
  const taken = takeOptions(takeOwn(options, 'options', ['origins', 'otherEnds']));
  const members = findTree(root, scanFacts());
  if (members.length === 0 && !exists(root)) throw noSuchProcess(root);
  refuseThread(root);
  return finishAll(scan({ pids: members.length === 0 ? [root] : members }).processes, taken);
}

/**
 * Every process that /proc shows.
 *
 * @throws {SallyportTypeError} for a wrong option
 * @throws {SallyportError} stage `audit`: /proc cannot be listed (EMFILE, or it is not mounted)
 */
export function auditAll(options?: AuditDetails): ProcessAudit[] {
  const taken = takeOptions(takeOwn(options, 'options', ['origins', 'otherEnds']));
  const everybody = scan().processes;
  return finishAll(everybody, taken, everybody);
}

function finishAll(
  scanned: readonly ScannedProcess[],
  { origins, otherEnds }: Taken,
  everybody?: readonly ScannedProcess[],
): ProcessAudit[] {
  if (origins) {
    const byPid = new Map(scanned.map((process) => [process.pid, process]));
    for (const process of scanned) addOrigins(process, byPid.get(process.parentPid));
  }
  if (otherEnds) addOtherEnds(scanned, everybody);
  return scanned.map(toAudit);
}

/** An audit of this process. */
export interface SelfAudit extends ProcessAudit {
  /** What the next plain spawn would hand over: open without close-on-exec, beyond 0, 1 and 2. */
  readonly leaky: readonly DescriptorRecord[];
}

/**
 * This process, with what the next plain `child_process.spawn` would hand over.
 *
 * @throws {SallyportTypeError} for a wrong option
 * @throws {SallyportError} stage `audit`: /proc is not mounted
 */
export function auditSelf(options?: AuditOptions): SelfAudit {
  const audit = auditProcess(process.pid, options);
  const leaky = audit.descriptors.filter(
    ({ fd, closeOnExec, thread }) => fd > 2 && closeOnExec !== true && thread === undefined,
  );
  return { ...audit, leaky };
}
