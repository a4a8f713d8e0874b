// Appends a report to a file, as one line of JSON.
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  statSync,
  writeSync,
  type Stats,
} from 'node:fs';
import { constants as osConstants } from 'node:os';
import { setTimeout } from 'node:timers/promises';

import { cleanJson } from '../clean-text.js';
import { systemError, type SallyportError } from '../errors.js';
import { native } from '../native.js';
import { withoutPrototype } from '../own-properties.js';
import { pause } from '../pause.js';
import { findEnd } from './chain.js';
import type { RunReport } from './report.js';

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = constants;
const { EINVAL, ENOENT, ENOSPC, EWOULDBLOCK } = osConstants.errno;

/** Reports name programs, directories and variables: for the owner. */
const OWNER_ONLY = 0o600;

/** Before the start: a run whose record cannot be kept is not begun. */
export function openRecord(path: string, program: unknown): number {
  return open(path, O_WRONLY | O_APPEND | O_CREAT, OWNER_ONLY, program);
}

export function openOutputFile(path: string, program: unknown): number {
  return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o666, program);
}

/**
 * Created or emptied, for reading as well.
 *
 * @throws {SallyportError} also EINVAL for what is no regular file: it has no size, and is read once
 */
export function openRegularFile(path: string, program: unknown): number {
  const fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o666, program);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw refusal({ errno: -EINVAL }, 'open', path, program, 'it is no regular file: give it as to');
}

export function openInputFile(path: string, program: unknown): number {
  return open(path, O_RDONLY, 0, program);
}

/** How long others may take to append to the same file, in milliseconds. */
const LOCK_PATIENCE = 1_000;
/** Between two looks whether they have. */
const LOCK_PAUSE = 5;

/**
 * One write at the end of the file: lines of runs that end at the same time do not mix. In a file each
 * record carries the digest of the one before. Closes it. Whoever holds its lock is waited for, and
 * nothing else is.
 *
 * @throws {SallyportError} where the line was not written whole
 */
export async function appendRecord(fd: number, report: RunReport, path: string): Promise<void> {
  try {
    for (let waited = 0; !lock(fd, waited); waited += LOCK_PAUSE) await setTimeout(LOCK_PAUSE);
    writeRecord(fd, report, path);
  } catch (error) {
    throw unwritten(error, report, path);
  } finally {
    closeSync(fd);
  }
}

/** The same without the event loop. */
export function appendRecordSync(fd: number, report: RunReport, path: string): void {
  try {
    for (let waited = 0; !lock(fd, waited); waited += LOCK_PAUSE) pause(LOCK_PAUSE);
    writeRecord(fd, report, path);
  } catch (error) {
    throw unwritten(error, report, path);
  } finally {
    closeSync(fd);
  }
}

const ADVICE: ReadonlyMap<number | undefined, string> = new Map([
  [-EWOULDBLOCK, 'another process has locked it: give each its own file'],
  [-ENOENT, 'it was removed during the run: keep it where the program cannot write'],
]);

/** With the report: the run has been, and nothing else tells of it. */
function unwritten(error: unknown, report: RunReport, path: string): Error {
  const advice = ADVICE.get((error as NodeJS.ErrnoException).errno) ?? '';
  const program = report.plan?.file ?? report.outcome.error?.path ?? '';
  const fault = refusal(error, 'write', path, program, advice);
  // A `get` on Object.prototype would be taken for one of this property.
  const descriptor = withoutPrototype({ value: report, enumerable: false });
  return Object.defineProperty(fault, 'report', descriptor);
}

/** False: somebody else has it, and may have it for a while. What is no file needs none. */
function lock(fd: number, waited: number): boolean {
  const errno = fstatSync(fd).isFile() ? native().tryLockFile(fd) : 0;
  if (errno === 0) return true;
  if (errno !== EWOULDBLOCK || waited >= LOCK_PATIENCE) throw refused(errno);
  return false;
}

function writeRecord(fd: number, report: RunReport, path: string): void {
  // By the descriptor: the name may be that of another file by now.
  const stats = fstatSync(fd);
  // Nobody would ever read it.
  if (stats.isFile() && stats.nlink === 0 && !isNameOf(path, stats)) throw refused(ENOENT);
  const { size } = stats;
  const { link, isCut } = findEnd(`/proc/self/fd/${fd}`, size);
  // On a line of its own: a record does not go the way of what somebody else began.
  const line = Buffer.from(`${isCut ? '\n' : ''}${cleanJson({ ...report, chain: link }, 0)}\n`);
  const written = writeSync(fd, line);
  if (written < line.length) throw refused(ENOSPC);
}

/** /proc/self/fd/N is one of a file that has no other, such as a memfd. */
function isNameOf(path: string, { dev, ino }: Stats): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.dev === dev && found.ino === ino;
}

const refused = (errno: number): Error => Object.assign(new Error(), { errno: -errno });

function open(path: string, flags: number, mode: number, program: unknown): number {
  try {
    // Without waiting: a FIFO that nobody reads is a refusal.
    return openSync(path, flags | O_NONBLOCK, mode);
  } catch (error) {
    throw refusal(error, 'open', path, program);
  }
}

export function refusal(
  error: unknown,
  step: string,
  path: string,
  program: unknown,
  advice = '',
): SallyportError | Error {
  const { errno } = error as NodeJS.ErrnoException;
  if (errno === undefined) return error as Error;
  return systemError(-errno, step, advice, {
    syscall: `spawn ${String(program)}`,
    path: String(program),
    stage: 'descriptor',
    stagePath: path,
    stageSource: 'reported',
  });
}
