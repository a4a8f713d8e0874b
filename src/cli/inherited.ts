// Tells descriptors that were handed to this process from those that Node opened for itself.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export function isOpen(fd: number): boolean {
  return readTarget('self', String(fd)) !== null;
}

/**
 * Node holds some fifteen descriptors before the first line of ours runs, at the low numbers that
 * people use: `--pass 9` without `9<file` would hand over one of its eventfds. They are event
 * descriptors, and pipes of which both ends are here and neither is in the parent.
 */
export function belongsToNode(fd: number): boolean {
  if (fd < 3) return false;
  const target = readTarget('self', String(fd));
  if (target === null) return false;
  if (/^anon_inode:\[(eventpoll|eventfd|io_uring)\]$/.test(target)) return true;
  return target.startsWith('pipe:') && hasOtherEnd(fd, target) && !isHeldByParent(target);
}

function hasOtherEnd(fd: number, pipe: string): boolean {
  const access = readAccess(fd);
  return listNumbers('self').some(
    (number) => readTarget('self', number) === pipe && readAccess(Number(number)) !== access,
  );
}

// make's jobserver passes both ends of a pipe, which it holds as well.
function isHeldByParent(pipe: string): boolean {
  const parent = String(process.ppid);
  return listNumbers(parent).some((number) => readTarget(parent, number) === pipe);
}

function listNumbers(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return [];
  }
}

function readTarget(pid: string, fd: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return null;
  }
}

/** O_ACCMODE of the open file. */
function readAccess(fd: number): number {
  const info = readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1');
  return Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? '0', 8) & 3;
}
