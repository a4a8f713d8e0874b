// Appends a report to a file, as one line of JSON.
import { closeSync, constants, openSync, writeSync } from 'node:fs';

import { systemError, type SallyportError } from '../errors.js';
import type { RunReport } from './report.js';

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants;

/** Reports name programs, directories and variables: for the owner. */
const OWNER_ONLY = 0o600;

/** Before the start: a run whose record cannot be kept is not begun. */
export function openRecord(path: string | URL, program: unknown): number {
  return open(path, O_WRONLY | O_APPEND | O_CREAT, OWNER_ONLY, program);
}

export function openOutputFile(path: string | URL, program: unknown): number {
  return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o666, program);
}

export function openInputFile(path: string | URL, program: unknown): number {
  return open(path, O_RDONLY, 0, program);
}

/**
 * One write at the end of the file: lines of runs that end at the same time do not mix. Closes it.
 *
 * @throws {SallyportError} where the line was not written whole
 */
export function appendRecord(fd: number, report: RunReport, path: string | URL): void {
  try {
    const line = Buffer.from(`${JSON.stringify(report)}\n`);
    const written = writeSync(fd, line);
    if (written < line.length) throw Object.assign(new Error(), { errno: -28, code: 'ENOSPC' });
  } catch (error) {
    throw refusal(error, 'write', path, report.plan?.file ?? '');
  } finally {
    closeSync(fd);
  }
}

function open(path: string | URL, flags: number, mode: number, program: unknown): number {
  try {
    // Without waiting: a FIFO that nobody reads is a refusal.
    return openSync(path, flags | O_NONBLOCK, mode);
  } catch (error) {
    throw refusal(error, 'open', path, program);
  }
}

function refusal(
  error: unknown,
  step: string,
  path: string | URL,
  program: unknown,
): SallyportError | Error {
  const { errno } = error as NodeJS.ErrnoException;
  if (errno === undefined) return error as Error;
  return systemError(-errno, step, '', {
    syscall: `spawn ${String(program)}`,
    path: String(program),
    stage: 'descriptor',
    stagePath: String(path),
    stageSource: 'reported',
  });
}
