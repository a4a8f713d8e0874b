// The child's session, working directory and argv[0]; the signals of this system by name.
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { invalid, systemError } from '../errors.js';
import { takeString } from './options.js';

export type Session = 'new' | 'group' | 'inherit';

export function resolveSession(session: unknown): Session {
  if (session === undefined || session === null) return 'new';
  if (session === 'new' || session === 'group' || session === 'inherit') return session;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'session', "must be 'new', 'group' or 'inherit'");
}

/** @returns absolute path. @throws {SallyportError} stage `cwd` where our own cwd no longer exists */
export function resolveCwd(cwd: unknown, file: string): string {
  if (cwd instanceof URL) return takeString(fileURLToPath(cwd), 'cwd');
  const given = cwd === undefined || cwd === null ? '' : takeString(cwd, 'cwd');
  if (given.startsWith('/')) return resolve(given);
  let base: string;
  try {
    base = process.cwd();
  } catch (cause) {
    throw systemError(
      constants.errno.ENOENT,
      'getcwd',
      "this process's own directory is gone: give an absolute cwd",
      {
        syscall: `spawn ${file}`,
        path: file,
        stage: 'cwd',
        stageSource: 'reported',
        cause,
      },
    );
  }
  if (cwd === '')
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'cwd',
      'is empty; leave it out for the current directory',
    );
  return resolve(base, given);
}
