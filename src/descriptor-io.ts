// Reads, writes, closes and identifies descriptors that the addon opened. Not by node:fs: Deno's takes
// only numbers that it has opened itself, and Node's warns in a Worker of one that it closes.
import { constants } from 'node:os';

import { describeErrno } from './errors.js';
import { isFailure } from './native-binding.js';
import { native } from './native.js';

/**
 * @param position where to read, from the beginning; where the last read ended by default
 * @returns how many bytes; 0 at the end
 * @throws {Error} as readSync() of node:fs
 */
export function readOpened(fd: number, bytes: Uint8Array, position = -1): number {
  return requireCount(native().readDescriptor(fd, bytes, position), 'read');
}

/** @returns how many bytes were taken @throws {Error} as writeSync() of node:fs */
export function writeOpened(fd: number, bytes: Uint8Array): number {
  return requireCount(native().writeDescriptor(fd, bytes), 'write');
}

export function closeOpened(...fds: readonly number[]): void {
  native().releaseDescriptors(Int32Array.from(fds));
}

/** st_ino, stat(2). @throws {Error} as fstatSync() of node:fs */
export function inodeOf(fd: number): bigint {
  const object = native().describeDescriptor(fd);
  if (isFailure(object)) throw systemCallError(object.errno, 'fstat');
  return BigInt(object.inode);
}

/** In Node's form. @param errno positive, as in errno(3) */
export function systemCallError(errno: number, syscall: string): NodeJS.ErrnoException {
  const { name, text } = describeErrno(errno);
  return Object.assign(new Error(`${name}: ${text}, ${syscall}`), {
    errno: -errno,
    code: name,
    syscall,
  });
}

/** Of what was under way when its stream was destroyed. */
export function canceledError(syscall: string): NodeJS.ErrnoException {
  return systemCallError(constants.errno.ECANCELED, syscall);
}

/** @param count negative: an errno value */
function requireCount(count: number, syscall: string): number {
  if (count < 0) throw systemCallError(-count, syscall);
  return count;
}
