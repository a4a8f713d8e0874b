// A look at a program that has only just been started.
import { pause } from '../pause.js';
import type { DescriptorRecord } from './record.js';
import type { ScannedProcess } from './unpack.js';

// Milliseconds. A loader is done within one or two, unless processors or disks are busy.
const FIRST_PAUSE = 0.1;
const LONGEST_PAUSE = 4;
const PATIENCE = 100;

type Test = (record: DescriptorRecord) => boolean;

/**
 * Looks again while a program has files open as its loader and its C library have: to be read, and
 * closed again at once. (Not all close-on-exec: glibc's cache of character sets is not.) A program that
 * sleeps is not being loaded. What is still open after PATIENCE is told.
 */
export function settle(
  first: ScannedProcess,
  lookAgain: () => ScannedProcess,
  isPlanned: Test,
): ScannedProcess {
  let scanned = first;
  let next = FIRST_PAUSE;
  for (let waited = 0; waited < PATIENCE && isBeingLoaded(scanned, isPlanned); waited += next) {
    next = Math.min(2 * next, LONGEST_PAUSE);
    pause(next);
    scanned = lookAgain();
  }
  return scanned;
}

function isBeingLoaded({ state, descriptors }: ScannedProcess, isPlanned: Test): boolean {
  const isAwake = state === 'R' || state === 'D';
  return isAwake && descriptors.some((record) => isLoaders(record) && !isPlanned(record));
}

const isLoaders = ({ kind, access, thread }: DescriptorRecord): boolean =>
  access === 'read' && (kind === 'file' || kind === 'directory') && thread === undefined;
