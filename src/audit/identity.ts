// Whether two descriptors are the same.
import { native } from '../native.js';

/** Of epolls, eventfds, timerfds and the like: one inode for all of them, on the whole machine. */
export const isAnonymous = (target: string): boolean => target.startsWith('anon_inode:');

/**
 * kcmp(2): 0 for the same open file description, 1 or 2 for another one that comes earlier or later in
 * an order of the kernel's own, negative where it does not tell.
 */
export function compareFiles(left: number, leftFd: number, right: number, rightFd: number): number {
  return native().compareFiles(left, right, Int32Array.of(leftFd, rightFd))[0] ?? -1;
}
