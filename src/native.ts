// The typed binding: the only file that loads the addon.
import { join } from 'node:path';

import type { DescriptorObject } from './objects/object.js';
import { unsupportedPlatform } from './errors.js';

/** What the system refused. `errno` is positive, as in errno(3). */
export interface NativeFailure {
  readonly stage: string;
  readonly errno: number;
  readonly path: string;
}

/**
 * id, code (-1: by a signal), signal (0: none), core dumped, lost, user µs, system µs, max RSS KiB,
 * minor faults, major faults, blocks read, blocks written, voluntary and involuntary switches.
 */
export type NativeExit = readonly [
  id: number,
  code: number,
  signal: number,
  coreDumped: number,
  lost: number,
  ...usage: number[],
];

// TableEntry in native/binding/launching.cc.
export const TABLE_NULL = 0;
export const TABLE_PIPE_TO_CHILD = 1;
export const TABLE_PIPE_FROM_CHILD = 2;
export const TABLE_HELD = 3;

// SessionMode in native/core/launch_request.h.
export const SESSION_MODES = { new: 0, group: 1, inherit: 2 } as const;

export interface NativeBinding {
  /** Duplicates descriptors (close-on-exec, above 2) and says what they are. */
  holdDescriptors(
    fds: readonly number[],
  ): Array<[fd: number, object: DescriptorObject]> | NativeFailure;
  releaseDescriptors(held: readonly number[]): void;
  listDescriptors(): number[] | NativeFailure;
  sealDescriptors(all: boolean): Array<[fd: number, object: DescriptorObject]> | NativeFailure;
  /** Soft RLIMIT_NOFILE. */
  descriptorLimit(): number;
  /** 0 or a positive errno. */
  probeExecutable(path: string): number;
  /** 0 or a positive errno. */
  probeDirectory(path: string): number;
  /**
   * Lists of strings come as one string in which each entry is followed by a NUL. `cwd` '' is this
   * process's own. `table` holds triples: target, TABLE_*, held descriptor.
   */
  spawn(
    executable: string,
    argv: string,
    environment: string,
    cwd: string,
    table: readonly number[],
    session: number,
    foreground: number,
  ): [id: number, pid: number, ...ours: number[]] | NativeFailure;
  /** 0 or a positive errno. */
  signal(id: number, signal: number): number;
  /** 0 or a positive errno. */
  signalGroup(id: number, signal: number): number;
  onExit(callback: (exits: readonly NativeExit[]) => void): void;
  keepAlive(wanted: boolean): void;
}

let loaded: NativeBinding | undefined;

/**
 * The addon, loaded at the first use, so that importing the package works on every platform.
 *
 * @throws {SallyportError} `ERR_SALLYPORT_UNSUPPORTED_PLATFORM` anywhere but on Linux, or where no
 *   binary was built.
 */
export function native(): NativeBinding {
  loaded ??= load();
  return loaded;
}

/** True for a refusal, false for a result. */
export function isFailure(value: object): value is NativeFailure {
  return 'stage' in value;
}

function load(): NativeBinding {
  if (process.platform !== 'linux') {
    throw unsupportedPlatform(`it runs on Linux only, and this is ${process.platform}`);
  }
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- resolves to a path at run time
    const find = require('node-gyp-build') as (directory: string) => NativeBinding;
    return find(join(__dirname, '..'));
  } catch (cause) {
    throw unsupportedPlatform(
      'its addon could not be loaded; run `npm rebuild sallyport` with python3, make and g++ installed',
      cause,
    );
  }
}

/** The terminal and job control, for the command line (native/core/terminal.h). */
export interface NativeBinding {
  isControllingTerminal(fd: number): boolean;
  /** Null where fd is no terminal of ours (any more). */
  foregroundGroup(fd: number): number | null;
  /** 0 or a positive errno. */
  setForegroundGroup(fd: number, group: number): number;
  saveTerminalModes(fd: number): ArrayBuffer | null;
  /** 0 or a positive errno. */
  restoreTerminalModes(fd: number, modes: ArrayBuffer): number;
  /** Our own. */
  processGroup(): number;
  /** The signal that stopped this child, once for each stop, or 0. */
  peekStopped(pid: number): number;
  /** Sends the signal to this process or its group, and takes its default action here. */
  raiseDefault(signal: number, wholeGroup: boolean): void;
  /** _exit(2): without Node's reset of the terminal's modes. */
  exitNow(code: number): never;
}
