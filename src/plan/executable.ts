// Program lookup: from what the caller wrote to one absolute path, by a rule that can be told.
import { constants } from 'node:os';
import { isAbsolute } from 'node:path';

import { systemError, type SallyportError, type StageSource } from '../errors.js';
import { native } from '../native.js';
import { joinPath } from './directory.js';
import { DEFAULT_PATH } from './create-environment.js';
import type { Variables } from './variables.js';

const { ENOENT, EACCES, EISDIR, EINVAL } = constants.errno;

/**
 * An absolute path is itself; a path with a slash is taken against the child's cwd; a plain name is
 * searched in the child's PATH, or in DEFAULT_PATH where it has none. Empty and relative entries of
 * PATH are skipped, since they would depend on what is in the cwd; a directory is not an executable.
 *
 * @param looks whether a path is looked at here. On a mount that does not answer the look would never
 *   return: whoever must not be held up leaves it to the exec, see `findPathFault`
 * @returns absolute path, of a file that this process may execute where it was looked at
 * @throws {SallyportError} stage `lookup`: ENOENT, EACCES, …
 */
export function resolveExecutable(
  file: string,
  cwd: string,
  environment: Variables,
  looks: boolean,
): string {
  if (file.includes('/')) {
    const path = isAbsolute(file) ? file : joinPath(cwd, file);
    if (!looks) return path;
    const errno = native().probeExecutable(path);
    if (errno !== 0) {
      if (!isAbsolute(file)) requireDirectory(file, cwd);
      throw notExecutable(file, path, errno);
    }
    return path;
  }
  const search = environment.PATH ?? DEFAULT_PATH;
  const found = searchPath(file, search);
  if (found.path !== null) return found.path;
  if (found.denied !== null) throw notExecutable(file, found.denied, EACCES);
  throw notFound(file, environment.PATH);
}

/**
 * What the look would have said of a path that exec has refused.
 *
 * @param errno positive, with which exec has refused it
 * @returns null where the path itself is not at fault
 */
export function findPathFault(file: string, path: string, errno: number): SallyportError | null {
  if (!file.includes('/')) return null;
  const found = native().probeExecutable(path);
  if (found === 0 || toExecErrno(found) !== errno) return null;
  return notExecutable(file, path, found, 'inferred');
}

function searchPath(file: string, search: string): { path: string | null; denied: string | null } {
  let denied: string | null = null;
  for (const directory of search.split(':')) {
    if (!isAbsolute(directory)) continue;
    const path = joinPath(directory, file);
    const errno = native().probeExecutable(path);
    if (errno === 0) return { path, denied };
    if (errno === EACCES) denied ??= path;
  }
  return { path: null, denied };
}

function notFound(file: string, path: string | undefined): SallyportError {
  const where =
    path === undefined
      ? `its PATH is absent, so ${DEFAULT_PATH} was searched`
      : `its PATH was searched`;
  const ours = searchPath(file, process.env.PATH ?? '').path;
  const advice =
    ours === null
      ? `${where}; give an absolute path, or a PATH that has it`
      : `${where}; it is at '${ours}' by this process's own PATH: give that path, or put its directory into the child's PATH`;
  return systemError(ENOENT, 'find', advice, {
    syscall: `spawn ${file}`,
    path: file,
    stage: 'lookup',
    stagePath: file,
    stageSource: 'reported',
  });
}

/** exec itself answers EACCES to directories and to other things that are no regular files. */
function toExecErrno(errno: number): number {
  return errno === EISDIR || errno === EINVAL ? EACCES : errno;
}

function notExecutable(
  file: string,
  path: string,
  errno: number,
  stageSource: StageSource = 'reported',
): SallyportError {
  const advice = new Map([
    [EISDIR, 'it is a directory: name a program in it'],
    [EINVAL, 'it is not a regular file: name a program'],
    [ENOENT, "check the path; a relative one is taken against the child's cwd"],
    [EACCES, 'it must be executable, and its directories searchable, for this user'],
  ]).get(errno);
  return systemError(toExecErrno(errno), 'find', advice ?? '', {
    syscall: `spawn ${file}`,
    path: file,
    stage: 'lookup',
    stagePath: path,
    stageSource,
  });
}

/** A relative path cannot be found from a directory that is not there: then that is the fault. */
function requireDirectory(file: string, cwd: string): void {
  const errno = native().probeDirectory(cwd);
  if (errno === 0) return;
  throw systemError(errno, 'chdir', `'${file}' is taken against it: mend cwd`, {
    syscall: `spawn ${file}`,
    path: file,
    stage: 'cwd',
    stagePath: cwd,
    stageSource: 'reported',
  });
}
