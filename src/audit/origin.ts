// Inherited, or opened later: compares a process's descriptors with those of its parent.
import { native } from '../native.js';
import type { DescriptorOrigin } from './record.js';
import { scan } from './scan.js';
import type { ScannedProcess } from './unpack.js';

/**
 * A parent that has closed its own copy since shows nothing: `inherited: false` means only that the
 * parent does not have this open file description now.
 */
export function addOrigins(process: ScannedProcess, parent: ScannedProcess | undefined): void {
  if (!canTell(process, parent)) return;
  const byObject = new Map<string, number[]>();
  for (const { fd, thread, dev, inode } of parent.descriptors) {
    if (thread !== undefined) continue;
    const key = `${dev}:${inode}`;
    const numbers = byObject.get(key);
    if (numbers === undefined) byObject.set(key, [fd]);
    else numbers.push(fd);
  }
  for (const record of process.descriptors) {
    if (record.thread !== undefined) continue;
    const candidates = byObject.get(`${record.dev}:${record.inode}`);
    record.origin =
      candidates === undefined
        ? OPENED_LATER
        : askKernel(process.pid, record.fd, parent.pid, candidates);
  }
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

function askKernel(
  pid: number,
  fd: number,
  parentPid: number,
  candidates: readonly number[],
): DescriptorOrigin {
  const pairs = Int32Array.from(candidates.flatMap((candidate) => [candidate, fd]));
  const answers = native().compareFiles(parentPid, pid, pairs);
  if (answers.includes(1)) return { inherited: true, by: 'kcmp' };
  // A refusal: kcmp(2) is not in this kernel, or not allowed; or a number was closed meanwhile.
  if (answers.some((answer) => answer < 0)) return { inherited: true, by: 'identity' };
  return { inherited: false, by: 'kcmp' };
}
