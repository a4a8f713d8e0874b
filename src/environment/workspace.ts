// The directories of a workspace: made for their owner alone, never through a symlink, and removed.
import { constants } from 'node:os';
import { setImmediate } from 'node:timers/promises';

import { invalid, systemError } from '../errors.js';
import { isFailure, type NativeFailure, type NativeIdentity } from '../native-binding.js';
import { native } from '../native.js';
import { takeOwn } from '../own-properties.js';
import {
  takeWorkspace,
  WORKSPACE_DIRECTORIES,
  workspaceVariables,
} from '../plan/workspace-layout.js';

/** What `prepareWorkspace` takes. */
export interface WorkspaceOptions {
  /** Who is to own the directories, where the run has another user. Needs privileges. Default: we. */
  uid?: number | undefined;
  /** Likewise the group. */
  gid?: number | undefined;
}

/** The directories that were made in a workspace. */
export interface PreparedWorkspace {
  /** Absolute path. */
  readonly path: string;
  /** HOME of the run. */
  readonly home: string;
  /** TMPDIR of the run. */
  readonly temporary: string;
  /** Those that were not there before, relative to `path`. */
  readonly made: readonly string[];
  /**
   * Removes those that were made, with all that is in them; what was there before stays. No symlink is
   * followed and no mount entered. A second call does nothing.
   *
   * @throws {SallyportError} stage `workspace`: what would not go, or is not what was made
   */
  remove(): Promise<void>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Entries for each call into the addon, between which the event loop runs. */
const BATCH = 2_000;
/** Of batches: somebody who makes new entries all the time is not waited for. */
const PATIENCE = 25_000;

/**
 * Makes `.home`, `.home/.cache` and `.tmp`, mode 0700. Those that are there already must be real
 * directories of ours; their mode is set. The workspace itself must exist, and may be reached through
 * symlinks: it is the caller's word.
 *
 * @throws {SallyportError} stage `workspace`: ELOOP for a symlink, ENOTDIR for anything else that is no
 *   directory, EPERM for one that belongs to somebody else, ESTALE for one that was exchanged meanwhile.
 *   What was made until then is removed again
 */
export function prepareWorkspace(
  workspace: string | URL,
  options: WorkspaceOptions = {},
): PreparedWorkspace {
  const path = takeWorkspace(workspace);
  const own = takeOwn(options, 'options', ['uid', 'gid']);
  const uid = takeId(own.uid, 'uid') ?? process.geteuid?.() ?? 0;
  const gid = takeId(own.gid, 'gid') ?? process.getegid?.() ?? 0;
  const result = native().makePrivateDirectories(path, WORKSPACE_DIRECTORIES, uid, gid);
  if (isFailure(result)) throw refusal('make', result, path);
  const [root, directories] = result;
  const made = WORKSPACE_DIRECTORIES.flatMap((name, index): Made[] => {
    const [identity, isNew] = directories[index] ?? [];
    return isNew === true && identity !== undefined ? [{ name, identity }] : [];
  });
  const { HOME, TMPDIR } = workspaceVariables(path);
  const remove = removeOnce(path, root, made);
  return {
    path,
    home: HOME ?? '',
    temporary: TMPDIR ?? '',
    made: made.map(({ name }) => name),
    remove,
    [Symbol.asyncDispose]: remove,
  };
}

interface Made {
  readonly name: string;
  readonly identity: NativeIdentity;
}

function removeOnce(path: string, root: NativeIdentity, made: readonly Made[]) {
  // What is in another one goes with it.
  const left = made.filter(({ name }) => !made.some((other) => name.startsWith(`${other.name}/`)));
  return async (): Promise<void> => {
    let first: Error | undefined;
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      try {
        await removeOne(path, root, next);
      } catch (error) {
        first ??= error as Error;
      }
    }
    if (first !== undefined) throw first;
  };
}

async function removeOne(path: string, root: NativeIdentity, { name, identity }: Made) {
  for (let round = 0; round < PATIENCE; round += 1) {
    const gone = native().removePrivateDirectory(path, root, name, identity, BATCH);
    if (isFailure(gone)) throw refusal('remove', gone, path);
    if (gone) return;
    await setImmediate();
  }
  const failure = { stage: 'workspace', errno: ENOTEMPTY, path: `${path}/${name}` };
  throw refusal('remove', failure, path);
}

const { EBUSY, ELOOP, ENOENT, ENOTDIR, ENOTEMPTY, EPERM, ESTALE } = constants.errno;

const ADVICE: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  make: {
    [EPERM]: 'it belongs to another user: remove it, or give another workspace',
    [ENOENT]: 'make the workspace first',
    [ENOTDIR]: 'something else has its name: remove that, or give another workspace',
    [ELOOP]: 'a symlink in the workspace is not followed: remove it, or give another workspace',
    [ESTALE]:
      'somebody put another in its place meanwhile: give a workspace that nobody else writes to',
  },
  remove: {
    [EBUSY]: 'something is mounted in it: unmount that first',
    [ENOTDIR]: 'something else has its name now: nothing was removed from there',
    [ENOTEMPTY]: 'somebody makes new files in it all the time: end that first',
    [ELOOP]: 'it is a symlink now, which is not followed: nothing was removed from there',
    [ESTALE]: 'it is not the directory that was made: nothing was removed from there',
  },
};

function refusal(
  step: 'make' | 'remove',
  { errno, path }: NativeFailure,
  workspace: string,
): Error {
  const isOwn = path === workspace;
  // Only the workspace itself is looked for; ENOENT of another means that it vanished.
  const advice = errno === ENOENT && !isOwn ? 'it vanished meanwhile' : ADVICE[step]?.[errno];
  return systemError(errno, isOwn ? 'open' : step, advice ?? '', {
    syscall: step === 'make' ? 'prepare workspace' : 'remove workspace',
    path: workspace,
    stage: 'workspace',
    stagePath: path,
    stageSource: 'reported',
  });
}

function takeId(value: unknown, option: string): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 0xffffffff) {
    return value;
  }
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, 'must be the number of an id');
}
