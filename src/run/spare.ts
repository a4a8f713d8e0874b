// Descriptors kept back while a run is under way: a process that has come to its limit of open files can
// still see and signal what it has to end.
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';

const { EMFILE, ENFILE } = constants.errno;

/** What one look or signal needs at a time: a pidfd and a file of /proc. */
const KEPT = 2;

const spares: number[] = [];
let runs = 0;

/** A run begins. */
export function keepSpares(): void {
  runs += 1;
  fill();
}

/** It is over. */
export function dropSpares(): void {
  runs -= 1;
  if (runs === 0) empty();
}

/**
 * What `act` gives; where it comes to the limit, what it gives with the spares.
 *
 * @throws what it throws
 */
export function withSpares<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!isShort(error) || spares.length === 0) throw error;
  }
  empty();
  try {
    return act();
  } finally {
    fill();
  }
}

/** No more files may be opened, by this process or by all: that says nothing of what was to be opened. */
export function isShort(error: unknown): boolean {
  const { errno } = error as NodeJS.ErrnoException;
  return errno === -EMFILE || errno === -ENFILE;
}

/** undefined: no more files may be opened, and it cannot be told now. @throws what else `act` throws */
export function unlessShort<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (isShort(error)) return undefined;
    throw error;
  }
}

function fill(): void {
  try {
    while (spares.length < KEPT) spares.push(openAboveStandard());
  } catch {
    // Those that are there are of use; the next time perhaps more.
  }
}

/** A program that has closed its 0, 1 or 2 finds nothing of ours there, and hands nothing on. */
function openAboveStandard(): number {
  const fd = openSync('/dev/null', 'r');
  if (fd > 2) return fd;
  try {
    return openAboveStandard();
  } finally {
    closeSync(fd);
  }
}

function empty(): void {
  for (const fd of spares.splice(0)) closeSync(fd);
}
