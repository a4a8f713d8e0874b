// The child's working directory.
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { invalid, systemError } from '../errors.js';
import { takeString } from './options.js';

/**
 * A relative path is put behind this process's own directory. `..` stays as it is: only the kernel
 * knows where it leads through a symlink.
 *
 * @returns absolute path
 * @throws {SallyportError} stage `cwd` where it is needed and our own directory no longer exists
 */
export function resolveCwd(cwd: unknown, file: string, option = 'cwd'): string {
  const given = cwd instanceof URL ? toPath(cwd, option) : cwd;
  const path = given === undefined ? null : takeString(given, option);
  if (path === '') {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      option,
      option === 'cwd'
        ? 'is empty; leave it out for the current directory'
        : "is empty; write '.' for the current directory",
    );
  }
  if (path === null) return requireOwnDirectory(file);
  return path.startsWith('/') ? tidyPath(path) : joinPath(requireOwnDirectory(file), path);
}

function toPath(url: URL, option: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      option,
      'must be a path or a file: URL without a host',
    );
  }
}

/**
 * Unlike path.join this leaves `..` to the kernel.
 *
 * @param directory absolute path
 */
export function joinPath(directory: string, name: string): string {
  return tidyPath(`${directory}/${name}`);
}

/** `//`, `/./`, or a `/` at the end. */
const UNTIDY = /\/\.?(\/|$)/;

function tidyPath(path: string): string {
  if (path === '/' || !UNTIDY.test(path)) return path;
  return path.split('/').includes('..') ? path : resolve(path);
}

/** This process's own directory; null where it has been removed. */
export function ownDirectory(): string | null {
  try {
    return process.cwd();
  } catch {
    return null;
  }
}

function requireOwnDirectory(file: string): string {
  const own = ownDirectory();
  if (own !== null) return own;
  const advice = "this process's own directory is gone: give an absolute cwd";
  throw systemError(constants.errno.ENOENT, 'getcwd', advice, {
    syscall: `spawn ${file}`,
    path: file,
    stage: 'cwd',
    stageSource: 'reported',
  });
}
