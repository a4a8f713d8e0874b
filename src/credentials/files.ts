// The files of a run that hold credentials: written in one step, 0600, past no symlink, and removed.
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

import { systemError } from '../errors.js';
import { native } from '../native.js';
import { OWN_FOLDER } from './formats.js';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const EEXIST = 17;
const IN_THE_WAY = 'a symlink or a file stands in its place: remove that, or give another path';
/** By errno: ENOENT, EACCES, ENOTDIR, ENOSPC, EROFS, ELOOP. */
const ADVICE: Readonly<Record<number, string>> = {
  2: 'its directory must be there',
  13: 'its directory must be writable for this user',
  20: IN_THE_WAY,
  28: 'make room there, or give another home',
  30: 'give a home that can be written to',
  40: IN_THE_WAY,
};

/** Who the files belong to, where the run has another user than we. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

interface Placed {
  readonly path: string;
  readonly directory: number;
  readonly name: string;
  written: boolean;
  /** The file that stands there now, locked: whoever finds it knows that its run goes on. */
  lock: number | undefined;
}

/**
 * The run may write to its home and may put a symlink wherever it likes. So each directory on the way
 * is opened without following one, and kept: from then on names are looked up in it, by
 * /proc/self/fd (there is no openat in Node), and a file takes its place by rename.
 */
export class CredentialFiles {
  #home: string | undefined;
  /** The beginning of its path. */
  readonly #ownHome = join(tmpdir(), 'sallyport-credentials-');
  readonly #isOurs: boolean;
  readonly #owner: Owner | undefined;
  readonly #directories = new Map<string, number>();
  /** As names in directories that are open. */
  readonly #made: string[] = [];
  readonly #placed = new Map<string, Placed>();
  #removed = false;

  /**
   * @param home an existing directory; undefined: a new one, made with the first place and removed with
   *   the files
   * @throws {SallyportError} stage `credentials`
   */
  constructor(home: string | undefined, owner: Owner | undefined) {
    this.#isOurs = home === undefined;
    this.#owner = owner;
    if (home !== undefined) {
      this.#enter(home);
      return;
    }
    const { W_OK, X_OK } = constants;
    this.#attempt('make', this.#ownHome, () => {
      accessSync(dirname(this.#ownHome), W_OK | X_OK);
    });
  }

  /** @throws {SallyportError} stage `credentials` */
  get home(): string {
    if (this.#home !== undefined) return this.#home;
    // Only now: a process that is killed while credentials are minted leaves nothing.
    return this.#enter(this.#attempt('make', this.#ownHome, () => mkdtempSync(this.#ownHome)));
  }

  #enter(home: string): string {
    this.#home = home;
    try {
      const fd = this.#attempt('open', home, () =>
        openSync(home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
      );
      this.#directories.set('', fd);
      if (this.#isOurs) this.#own(fd, 0o700);
      removeAtExit(this);
      return home;
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  /**
   * Finds the place of a file, and makes the directories on the way.
   *
   * @returns its absolute path
   * @throws {SallyportError} stage `credentials`: a symlink on the way, or something is there already
   */
  place(path: string): string {
    const full = join(this.home, path);
    if (this.#placed.has(path)) return full;
    const parent = dirname(path) === '.' ? '' : dirname(path);
    const directory = this.#openDirectory(parent);
    const name = basename(path);
    const there = this.#attempt('look at', full, () =>
      lstatSync(`/proc/self/fd/${directory}/${name}`, { throwIfNoEntry: false }),
    );
    const at = `/proc/self/fd/${directory}/${name}`;
    if (there !== undefined && !(parent === OWN_FOLDER && removeLeftover(at))) {
      const advice = 'it is not ours, or of a run that was killed: remove it, or give another path';
      throw refusal(EEXIST, 'create', full, advice);
    }
    this.#placed.set(path, { path: full, directory, name, written: false, lock: undefined });
    return full;
  }

  /** @throws {SallyportError} stage `credentials` */
  write(path: string, text: string): void {
    const placed = this.#placed.get(path);
    if (placed === undefined || this.#removed) return;
    const temporary = `/proc/self/fd/${placed.directory}/.${randomBytes(9).toString('hex')}`;
    this.#attempt('write', placed.path, () => {
      const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      try {
        this.#own(fd, 0o600);
        const bytes = Buffer.from(text);
        for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
        // Some file systems have no locks: then what is left there is nobody's to remove.
        native().tryLockFile(fd);
        renameSync(temporary, `/proc/self/fd/${placed.directory}/${placed.name}`);
      } catch (error) {
        tryUnlink(temporary);
        closeSync(fd);
        throw error;
      }
      unlock(placed);
      placed.lock = fd;
    });
    placed.written = true;
  }

  /** Absolute paths of all that were placed. */
  get paths(): string[] {
    return [...this.#placed.values()].map(({ path }) => path);
  }

  /** Takes a file away; it may be written again. */
  withdraw(path: string): boolean {
    const placed = this.#placed.get(path);
    // Removed: the number of its directory may by now be that of another.
    if (placed?.written !== true || this.#removed) return true;
    const gone = tryUnlink(`/proc/self/fd/${placed.directory}/${placed.name}`);
    unlock(placed);
    placed.written = !gone;
    return gone;
  }

  /** @returns absolute paths of those that could not be removed */
  remove(): string[] {
    if (this.#removed) return [];
    forget(this);
    const left = [...this.#placed].flatMap(([path, placed]) =>
      this.withdraw(path) ? [] : [placed.path],
    );
    this.#removed = true;
    // From the inside out. What the run has put there stays, and so does its directory.
    for (const directory of this.#made.reverse()) tryRemoveDirectory(directory);
    for (const fd of this.#directories.values()) closeSync(fd);
    this.#directories.clear();
    if (this.#isOurs && this.#home !== undefined) tryRemoveDirectory(this.#home);
    return left;
  }

  #openDirectory(path: string): number {
    const known = this.#directories.get(path);
    if (known !== undefined) return known;
    const above = dirname(path) === '.' ? '' : dirname(path);
    const at = `/proc/self/fd/${this.#openDirectory(above)}/${basename(path)}`;
    const full = join(this.home, path);
    const fd = this.#attempt('open', full, () => {
      const isNew = tryMakeDirectory(at);
      const directory = openSync(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      if (isNew) {
        this.#own(directory, 0o700);
        this.#made.push(at);
      }
      return directory;
    });
    this.#directories.set(path, fd);
    return fd;
  }

  #own(fd: number, mode: number): void {
    // Whatever the umask is.
    fchmodSync(fd, mode);
    if (this.#owner !== undefined) fchownSync(fd, this.#owner.uid, this.#owner.gid);
  }

  #attempt<Value>(step: string, path: string, act: () => Value): Value {
    try {
      return act();
    } catch (error) {
      const { errno } = error as NodeJS.ErrnoException;
      if (errno === undefined) throw error;
      throw refusal(-errno, step, path, ADVICE[-errno] ?? '');
    }
  }
}

/** Of all that are there: a listener for each would be many where many runs go on at once. */
const present = new Set<CredentialFiles>();

/** Where this process ends without a word, nothing stays. */
function removeAtExit(files: CredentialFiles): void {
  if (present.size === 0) process.on('exit', removeAll);
  present.add(files);
}

function forget(files: CredentialFiles): void {
  if (present.delete(files) && present.size === 0) process.off('exit', removeAll);
}

function removeAll(): void {
  for (const files of present) files.remove();
}

function refusal(errno: number, step: string, path: string, advice: string): Error {
  return systemError(errno, step, advice, {
    syscall: 'credentials',
    path,
    stage: 'credentials',
    stagePath: path,
    stageSource: 'reported',
  });
}

function unlock(placed: Placed): void {
  if (placed.lock !== undefined) closeSync(placed.lock);
  placed.lock = undefined;
}

/**
 * In the folder that only we write to: a file that no process has locked is of a run that was killed.
 *
 * @returns whether it is gone
 */
function removeLeftover(path: string): boolean {
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    return fstatSync(fd).isFile() && native().tryLockFile(fd) === 0 && tryUnlink(path);
  } finally {
    closeSync(fd);
  }
}

function tryMakeDirectory(path: string): boolean {
  try {
    mkdirSync(path, 0o700);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** True where there is nothing any more. */
function tryUnlink(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

function tryRemoveDirectory(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Not empty, or gone.
  }
}
