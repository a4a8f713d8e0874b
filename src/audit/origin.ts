// Inherited, or opened later: compares a process's descriptors with those of its parent.
import { compareFiles, isAnonymous } from './identity.js';
import type { DescriptorOrigin, DescriptorRecord } from './record.js';
import { scan } from './scan.js';
import type { ScannedProcess } from './unpack.js';

/**
 * A parent that has closed its own copy since shows nothing: `inherited: false` means only that the
 * parent does not have this open file description now.
 */
export function addOrigins(process: ScannedProcess, parent: ScannedProcess | undefined): void {
  if (!canTell(process, parent)) return;
  const byObject = new Map<string, Candidates>();
  for (const record of parent.descriptors) {
    if (record.thread !== undefined) continue;
    const candidates = byObject.get(keyOf(record));
    if (candidates === undefined) byObject.set(keyOf(record), { numbers: new Set([record.fd]) });
    else candidates.numbers.add(record.fd);
  }
  for (const record of process.descriptors) {
    if (record.thread !== undefined) continue;
    const candidates = byObject.get(keyOf(record));
    const origin =
      candidates === undefined
        ? OPENED_LATER
        : askKernel(process.pid, record, parent.pid, candidates);
    if (origin !== undefined) record.origin = origin;
  }
}

const keyOf = ({ dev, inode, kind }: DescriptorRecord): string => `${dev}:${inode}:${kind}`;

/** The parent's descriptors of one object. */
interface Candidates {
  readonly numbers: Set<number>;
  /** The same in the kernel's order, once that was asked for; null where it refuses to tell. */
  sorted?: readonly number[] | null;
}

// The parent has no descriptor of this object: the kernel could not say otherwise.
const OPENED_LATER: DescriptorOrigin = Object.freeze({ inherited: false, by: 'identity' });

export function scanParent({ parentPid }: ScannedProcess): ScannedProcess | undefined {
  return parentPid > 0 ? scan({ pids: [parentPid] }).processes[0] : undefined;
}

function canTell(
  { startTime }: ScannedProcess,
  parent: ScannedProcess | undefined,
): parent is ScannedProcess {
  // One that started later adopted it, or has the pid of one that is gone.
  return parent !== undefined && parent.refusal === 'none' && parent.startTime <= startTime;
}

// Few enough to be compared one by one, which costs less than to bring them into order.
const FEW = 16;

function askKernel(
  pid: number,
  { fd, target }: DescriptorRecord,
  parentPid: number,
  candidates: Candidates,
): DescriptorOrigin | undefined {
  const { numbers } = candidates;
  const compare = (number: number): number => compareFiles(parentPid, number, pid, fd);
  // What was inherited mostly has the number that it had.
  const answers = numbers.has(fd) ? [compare(fd)] : [];
  if (answers[0] !== 0) {
    if (numbers.size <= FEW) answers.push(...[...numbers].map(compare));
    else answers.push(searchSorted(parentPid, candidates, compare));
  }
  if (answers.includes(0)) return { inherited: true, by: 'kcmp' };
  if (answers.every((answer) => answer > 0)) return { inherited: false, by: 'kcmp' };
  // A refusal: kcmp(2) is not in this kernel, or not allowed; or a number was closed meanwhile. All
  // that has an anonymous inode has the same one, which tells nothing.
  return isAnonymous(target) ? undefined : { inherited: true, by: 'identity' };
}

/** 0 where one of them is the same, 1 where none is, negative where the kernel does not tell. */
function searchSorted(
  parentPid: number,
  candidates: Candidates,
  compare: (number: number) => number,
): number {
  // With each of the child's descriptors compared with each of the parent's, two processes with five
  // thousand eventfds each would take half a minute.
  candidates.sorted ??= sortByKernel(parentPid, candidates.numbers);
  if (candidates.sorted === null) return -1;
  let low = 0;
  let high = candidates.sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = compare(candidates.sorted[middle] as number);
    if (order <= 0) return order;
    if (order === 1) low = middle + 1;
    else high = middle;
  }
  return 1;
}

/** Null where one of the numbers was closed meanwhile, or the kernel does not tell. */
function sortByKernel(pid: number, numbers: Iterable<number>): number[] | null {
  let refused = false;
  const sorted = [...numbers].sort((left, right) => {
    const order = refused ? -1 : compareFiles(pid, left, pid, right);
    refused ||= order < 0;
    return order === 0 ? 0 : order === 1 ? -1 : 1;
  });
  return refused ? null : sorted;
}
