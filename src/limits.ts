// What to tell somebody who has come to a limit of the system.
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';

import { isFailure } from './native-binding.js';
import { native } from './native.js';

const { EAGAIN, EMFILE, ENFILE, ENOMEM } = constants.errno;

/** '' for an errno that stands for no limit. @param errno positive, as in errno(3) */
export function adviseLimit(errno: number): string {
  if (errno === EMFILE) return openFiles();
  if (errno === ENFILE) return systemFiles();
  if (errno === EAGAIN) {
    return 'this user has as many processes and threads as it may (RLIMIT_NPROC, or pids.max of the cgroup)';
  }
  if (errno === ENOMEM) {
    const held = Math.round(process.memoryUsage.rss() / 2 ** 20);
    return `this process holds ${held} MiB; the system has no memory for another`;
  }
  return '';
}

function openFiles(): string {
  const open = native().listDescriptors();
  // At the limit even looking needs a descriptor that is not to be had.
  const used = isFailure(open) ? 'all' : String(open.length);
  return `${used} of ${native().descriptorLimit()} descriptors are open (soft RLIMIT_NOFILE): close some or raise the limit`;
}

/** Of all processes together, proc_sys_fs(5). */
function systemFiles(): string {
  let used = 'all files that it may have';
  try {
    // Open, free, and how many there may be. Who is not privileged cannot open even this at the limit.
    const [open, , most] = readFileSync('/proc/sys/fs/file-nr', 'latin1').trim().split(/\s+/);
    used = `${open} of ${most} files`;
  } catch {
    // It is at the limit.
  }
  return `this system has ${used} open (fs.file-max): end processes that hold many, or raise it`;
}
