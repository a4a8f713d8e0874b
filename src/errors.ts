// The error classes, and the one table from code to sentence.
import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';

import { clean } from './clean-text.js';

/** The step of a launch that failed. */
export type Stage =
  | 'plan' // the caller's options
  | 'lookup' // finding the program
  | 'cwd' // changing to the child's working directory
  | 'descriptor' // opening, duplicating or placing descriptors
  | 'terminal' // the controlling terminal, or its foreground group
  | 'exec' // execve(2) and what it needs: the file, its interpreter, arguments, environment
  | 'process' // creating the process and watching over it
  | 'launcher' // starting the launcher, or what it was told
  | 'pipeSize' // from here on: the option of that name
  | 'limits'
  | 'umask'
  | 'nice'
  | 'ioPriority'
  | 'oomScoreAdjust'
  | 'cpuAffinity'
  | 'groups'
  | 'group'
  | 'user'
  | 'dieWithParent'
  | 'review' // a profile, and the review by it
  | 'verify' // looking at a child that holds before its exec
  | 'cgroup' // being born in a cgroup
  | 'workspace' // making or removing the directories of a workspace
  | 'signal' // sending a signal
  | 'audit' // reading what another process has open
  | 'credentials' // minting and delivering credentials for a run
  | 'release' // taking a listener from another process, or closing one of ours
  | 'platform';

/**
 * How `stage` is known: `reported` by the step itself, or `inferred` by looking afterwards (posix_spawn
 * gives one errno for all of its steps).
 */
export type StageSource = 'reported' | 'inferred';

/** Mistakes of the caller: code → what it means. docs/errors.md says the same at length. */
export const CALLER_CODES = {
  ERR_SALLYPORT_INVALID_ARGUMENT: 'an argument or option has the wrong type or value',
  ERR_SALLYPORT_UNKNOWN_OPTION: 'an option that does not exist here',
  ERR_SALLYPORT_INVALID_ENVIRONMENT: 'a variable with a malformed name or value',
  ERR_SALLYPORT_INVALID_DESCRIPTOR: 'a descriptor number that cannot be passed',
  ERR_SALLYPORT_UNEXPECTED_OBJECT: 'a descriptor is not the object that `expect` states',
  ERR_SALLYPORT_LISTENER_IN_USE: 'the holder of a listener accepts on it, or may',
  ERR_SALLYPORT_LISTENER_SHARED: 'a listener was handed to this process, or others accept on it',
  ERR_SALLYPORT_NOT_RELEASABLE: 'there is no such listener, or releasing it cannot help',
  ERR_SALLYPORT_UNKNOWN_SIGNAL: 'a signal that this system does not have',
  ERR_SALLYPORT_NO_CONTAINMENT: 'the containment that was asked for is not available here',
  ERR_SALLYPORT_CREDENTIAL_UNAVAILABLE: 'a credential of the run could not be minted',
  ERR_SALLYPORT_CREDENTIAL_LIFETIME:
    'a credential that is delivered by variables would expire during the run',
  ERR_SALLYPORT_NOT_AS_PLANNED: 'a child that held before its exec differed from its plan',
  ERR_SALLYPORT_UNVERIFIABLE: 'a child that held before its exec could not be looked at',
  ERR_SALLYPORT_NOT_PINNABLE: 'a program that cannot be pinned, or is not the one that was',
  ERR_SALLYPORT_NOT_ADMITTED: 'a review does not accept the launch',
  ERR_SALLYPORT_INVALID_PROFILE: 'a profile that cannot be read, or says what no profile may',
  ERR_SALLYPORT_NO_EXACT_CLOSE:
    'this C library offers no way to close exactly the other descriptors',
  ERR_SALLYPORT_CANNOT_INSTALL:
    'what lies below child_process is not as it is known to be, so it cannot be replaced',
  ERR_SALLYPORT_UNSUPPORTED_PLATFORM: 'sallyport cannot run here',
} as const;

export type CallerCode = keyof typeof CALLER_CODES;

/** One thing in which a child, or a plan, is not what was asked for. */
export interface Difference {
  /** `descriptors.5.access`, `session`, … */
  readonly path: string;
  /** What it was to be. */
  readonly planned: string;
  /** What it was. */
  readonly seen: string;
}

export interface ErrorDetails {
  stage: Stage;
  /** The path or option at fault. */
  stagePath?: string;
  stageSource?: StageSource;
  syscall?: string;
  path?: string;
  errno?: number;
  /** With `ERR_SALLYPORT_NOT_AS_PLANNED`. */
  differences?: readonly Difference[];
  cause?: unknown;
}

interface Fields extends ErrorDetails {
  code: string;
}

/**
 * A refusal by the system (`code` is the errno's name, `errno` negative, `syscall` and `path` as in
 * Node's own errors) or a mistake of the caller (`code` starts with `ERR_SALLYPORT_`). Never holds
 * the value of a variable or of an argument.
 */
export class SallyportError extends Error {
  /** `ERR_SALLYPORT_…`, or the errno's name. */
  declare readonly code: string;
  /** Negative, as in Node: -2 for ENOENT. Refusals by the system only. */
  declare readonly errno?: number;
  /** `spawn git`, `kill git`, `seal`. Refusals by the system only. */
  declare readonly syscall?: string;
  /** The program as the caller named it. Refusals by the system only. */
  declare readonly path?: string;
  /** The step that failed. */
  declare readonly stage: Stage;
  /**
   * What the step failed on: the directory, the interpreter, the descriptor's number, the option's
   * name.
   */
  declare readonly stagePath?: string;
  /** How the stage is known. */
  declare readonly stageSource?: StageSource;
  /** With `ERR_SALLYPORT_NOT_AS_PLANNED`: in what. */
  declare readonly differences?: readonly Difference[];
  /**
   * Of a run whose record could not be written when it was over: its report, a `RunReport`. Not
   * enumerable, so that no log has it unasked.
   */
  declare readonly report?: unknown;

  constructor(message: string, fields: Fields) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    assignFields(this, fields);
  }
}
SallyportError.prototype.name = 'SallyportError';

/** A mistake of the caller in the type or form of an argument. Has the fields of `SallyportError`. */
export class SallyportTypeError extends TypeError {
  /** `ERR_SALLYPORT_…`, or the errno's name. */
  declare readonly code: CallerCode;
  /** The step that failed. */
  declare readonly stage: Stage;
  /**
   * What the step failed on: the directory, the interpreter, the descriptor's number, the option's
   * name.
   */
  declare readonly stagePath?: string;

  constructor(message: string, fields: Fields) {
    super(message);
    assignFields(this, fields);
  }
}
SallyportTypeError.prototype.name = 'SallyportTypeError';

function assignFields(error: Error, fields: Fields): void {
  const { cause: _cause, ...own } = fields;
  // A `get` or `set` on Object.prototype would be taken for one of these properties.
  const descriptor = Object.create(null) as PropertyDescriptor;
  Object.assign(descriptor, { enumerable: true, configurable: true, writable: true });
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined) continue;
    descriptor.value = value;
    Object.defineProperty(error, name, descriptor);
  }
}

/** The caller wrote something of the wrong type or form. `stagePath` is the option's name. */
export function invalid(code: CallerCode, option: string, message: string): SallyportTypeError {
  return new SallyportTypeError(clean(`${option}: ${message}`), {
    code,
    stage: 'plan',
    stagePath: option,
  });
}

/** What the caller asked for is well formed and must not be done. */
export function refused(code: CallerCode, message: string, details: ErrorDetails): SallyportError {
  return new SallyportError(clean(message), { code, ...details });
}

/** What builds or mends the installed package. npm 12 and pnpm run no script that was not permitted, and do not fail. */
export const REBUILD =
  'run `npm rebuild sallyport`, and before it, with npm 12 or later, ' +
  '`npm install-scripts approve sallyport`; with pnpm, `pnpm approve-builds`';

export function unsupportedPlatform(why: string, cause?: unknown): SallyportError {
  return refused('ERR_SALLYPORT_UNSUPPORTED_PLATFORM', `sallyport cannot run here: ${why}`, {
    stage: 'platform',
    cause,
  });
}

/** `EACCES` and `permission denied` for 13. */
export function describeErrno(errno: number): { name: string; text: string } {
  const known = getSystemErrorMap().get(-errno);
  if (known !== undefined) return { name: known[0], text: known[1] };
  // libuv's table lacks some of Linux's, ENOEXEC among them.
  const name = Object.entries(constants.errno).find(([, number]) => number === errno)?.[0];
  return name === 'ENOEXEC'
    ? { name, text: 'exec format error' }
    : { name: name ?? `E${errno}`, text: `error ${errno}` };
}

/**
 * A refusal by the system. The message has always the same order: system call and program, errno's
 * name, step, path, text, what to do:
 * `spawn git ENOENT: chdir '/srv/missing': no such file or directory: create it or give another cwd`.
 *
 * @param errno positive, as in errno(3)
 * @param step what was being done: `chdir`, `execve`, …
 */
export function systemError(
  errno: number,
  step: string,
  advice: string,
  details: ErrorDetails & { syscall: string },
): SallyportError {
  const { name, text } = describeErrno(errno);
  const at = details.stagePath === undefined ? step : `${step} '${details.stagePath}'`;
  const parts = [`${details.syscall} ${name}`, at, text];
  if (advice !== '') parts.push(advice);
  return new SallyportError(clean(parts.join(': ')), {
    code: name,
    ...details,
    errno: -errno,
  });
}
