// What the addon offers and takes, as types and numbers; native/binding/ is the other side.
import type { DescriptorObject } from './objects/object.js';

/** What the system refused. `errno` is positive, as in errno(3). */
export interface NativeFailure {
  readonly stage: string;
  readonly errno: number;
  readonly path: string;
}

/** True for a refusal, false for a result. */
export function isFailure(value: unknown): value is NativeFailure {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'stage');
}

// The first element of an event, native/binding/values.cc.
export const EVENT_EXIT = 0;
export const EVENT_LAUNCH = 1;
export const EVENT_LAUNCH_FAILED = 2;
export const EVENT_REPORT = 3;
export const EVENT_READY = 4;
export const EVENT_USER = 5;

/**
 * A child has been reaped. code -1: by a signal; signal 0: none. usage: user µs, system µs, max RSS
 * KiB, minor faults, major faults, blocks read, blocks written, voluntary and involuntary switches.
 */
export type NativeExit = readonly [
  kind: typeof EVENT_EXIT,
  id: number,
  code: number,
  signal: number,
  coreDumped: number,
  lost: number,
  ...usage: number[],
];

/** A child that runs. The last is a string where it was verified: what was seen. */
export type NativeChild = readonly [
  id: number,
  pid: number,
  program: number,
  ...ours: Array<number | string>,
];

/** A launch has become a child. */
export type NativeLaunch = readonly [kind: typeof EVENT_LAUNCH, job: number, ...child: NativeChild];

/** A launch was refused, or taken back (ECANCELED). */
export type NativeLaunchFailure = readonly [
  kind: typeof EVENT_LAUNCH_FAILED,
  job: number,
  errno: number,
  stage: string,
  path: string,
];

/** An init has said something, LauncherReport of native/launcher/instructions.h; kind 0: no more comes. */
export type NativeReport = readonly [
  event: typeof EVENT_REPORT,
  init: number,
  kind: number,
  pid: number,
  code: number,
  status: number,
  ...usage: number[],
];

/** A pipe of `watchPipe` may be tried again. */
export type NativeReady = readonly [kind: typeof EVENT_READY, pipe: number];

/** What came of `lookUpUser`; errno 0: found. */
export type NativeUser = readonly [
  kind: typeof EVENT_USER,
  lookup: number,
  errno: number,
  uid: number,
  gid: number,
];

/** What becomes of launches and of what was launched. */
export type NativeLaunchEvent = NativeExit | NativeLaunch | NativeLaunchFailure | NativeReport;

export type NativeEvent = NativeLaunchEvent | NativeReady | NativeUser;

/**
 * Executable, arguments, environment, cwd, table, session, foreground. Lists of strings are one string
 * in which each entry is followed by a NUL. cwd '' is this process's own. The table holds triples:
 * target, TABLE_*, held descriptor (of a pipe: its size, or -1); those descriptors belong to the addon from then on.
 */
export type NativeRequest = readonly [
  executable: string,
  argv: string,
  environment: string,
  cwd: string,
  table: Int32Array,
  session: number,
  foreground: number,
  /** Path of the launcher; '': none is needed. */
  launcher: string,
  /** Flat: code, number of arguments, arguments. -1 stands for an id to look up. */
  steps: Float64Array,
  announcesListeners: boolean,
  user: string,
  group: string,
  /** Whether the launcher stays as the init of the run. */
  init: boolean,
  /** Absolute path of a cgroup v2 that the program is born in; '': ours. */
  cgroup: string,
  /**
   * Nothing, or: when (VERIFY_*), no_new_privs, dev and inode of the directory, of the program; and for
   * each object target, dev, inode, access (ObjectAccess in native/core/descriptor_object.h), mount.
   */
  verification: BigUint64Array,
];

// TableEntry::Kind in native/core/launch_job.h.
export const TABLE_NULL = 0;
export const TABLE_PIPE_TO_CHILD = 1;
export const TABLE_PIPE_FROM_CHILD = 2;
export const TABLE_HELD = 3;
/** The third number is then the target of an earlier pipe. */
export const TABLE_SAME_AS = 4;
/** The held number is the program itself; the addon chooses the target. */
export const TABLE_PINNED = 5;

// Verification::When in native/core/launch_request.h.
export const VERIFY_AT_EXEC = 1n;
export const VERIFY_AFTER_EXEC = 2n;

// SessionMode in native/core/launch_request.h.
export const SESSION_MODES = { new: 0, group: 1, inherit: 2 } as const;

export interface NativeBinding {
  /** Duplicates descriptors (close-on-exec, above 2) and says what they are. */
  holdDescriptors(fds: Int32Array): Array<[fd: number, object: DescriptorObject]> | NativeFailure;
  releaseDescriptors(held: Int32Array): void;
  /** memfd_create(2): executable, and can be sealed. Close-on-exec, above 2. */
  openMemory(name: string): number | NativeFailure;
  /** flock(2), exclusive, until the descriptor is closed. 0 or a positive errno; EWOULDBLOCK. */
  tryLockFile(fd: number): number;
  /** Nobody can change it any more, this process included. 0 or a positive errno. */
  sealMemory(fd: number): number;
  listDescriptors(): number[] | NativeFailure;
  sealDescriptors(
    kinds: number,
    except: Int32Array,
    standard: boolean,
  ): Array<[fd: number, object: DescriptorObject]> | NativeFailure;
  /** Soft RLIMIT_NOFILE. */
  descriptorLimit(): number;
  /** 0 or a positive errno. */
  probeExecutable(path: string): number;
  /** 0 or a positive errno. */
  probeDirectory(path: string): number;
  spawn(
    ...request: [...plan: NativeRequest, byLane: boolean, noNewPrivileges: boolean]
  ): NativeChild | NativeFailure;
  /** The outcome comes as an event that names the job. */
  launch(
    ...request: [
      ...plan: NativeRequest,
      noNewPrivileges: boolean,
      events?: SyncEvents | undefined,
      keepsZombie?: boolean,
    ]
  ): number | NativeFailure;
  /** The descriptor is readable while events wait to be fetched. */
  openSyncEvents(): [events: SyncEvents, ready: number] | NativeFailure;
  takeSyncEvents(events: SyncEvents): readonly NativeLaunchEvent[];
  /** Closes the descriptor; what was not fetched is taken back or ended. */
  closeSyncEvents(events: SyncEvents): void;
  /** One of ours is closed with the events, as those are that come with a launch. */
  ownSyncDescriptor(events: SyncEvents, fd: number): void;
  /** One of these, before. */
  closeSyncDescriptor(events: SyncEvents, fd: number): void;
  /** poll(2). @param entries triples: descriptor, events, and what came of them. @param timeout ms */
  poll(entries: Int32Array, timeout: number): void;
  /**
   * Says that a child is known here, and that streams own its descriptors. Until then it is ended with
   * its environment, and what no stream has closed by then is closed. Nothing at a second call.
   */
  takeOver(id: number): void;
  cancelLaunch(job: number): void;
  /** @param command COMMAND_* of native/launcher/instructions.h */
  commandInit(init: number, command: number, argument: number): void;
  /**
   * Starts to look up a user, a name or a uid in decimal, on a thread of its own. The outcome comes as
   * an event that names the lookup.
   */
  lookUpUser(user: string): number | NativeFailure;
  /** Starts the first lane. */
  hasPrivateLanes(noNewPrivileges: boolean): boolean | NativeFailure;
  /** Whether this C library can close exactly the other descriptors of a table that is shared. */
  canSpawnDirect(): boolean;
  /** 0 or a positive errno. */
  signal(id: number, signal: number): number;
  /** 0 or a positive errno. */
  signalGroup(id: number, signal: number): number;
  /** Lets a child be reaped that was launched with `keepsZombie`. */
  releaseZombie(id: number): void;
  /** To a process that need be no child. 0 or a positive errno; ESRCH for another start time. */
  signalProcess(pid: number, startTime: number, signal: number): number;
  /** Both ends blocking and close-on-exec. */
  openPipe(): [readEnd: number, writeEnd: number] | NativeFailure;
  /** A file without a name in memory, close-on-exec. The name is for /proc only. */
  openMemoryFile(name: string): number | NativeFailure;
  /** Best effort, and only from the default size. */
  enlargePipe(fd: number): void;
  onEvents(callback: (events: readonly NativeEvent[]) => void): void;
  keepAlive(wanted: boolean): void;
  /** Whether a service manager has handed over this cgroup, this directory alone. */
  isMarkedDelegated(directory: string): boolean;
}

/** A place where events wait until they are fetched. */
export type SyncEvents = object & { readonly __brand: 'SyncEvents' };

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
  /** 0 where it is none, or does not say. */
  terminalColumns(fd: number): number;
  /** Also from the background. What was written, or a negative errno. */
  writeTerminal(fd: number, bytes: Uint8Array): number;
  /** Our own. */
  processGroup(): number;
  /** The signal that stopped this child, once for each stop, or 0. */
  takeStop(pid: number): number;
  /** Sends the signal to this process or its group, and takes its default action here. */
  raiseDefault(signal: number, wholeGroup: boolean): void;
  /** _exit(2): without Node's reset of the terminal's modes. */
  exitNow(code: number): never;
}

// Bits of `what` in scanProcesses, native/binding/auditing.cc.
export const SCAN_EVERY = 1;
export const SCAN_FACTS_ONLY = 2;
export const SCAN_SOCKETS = 4;
export const SCAN_LISTENERS = 8;

/** Reads and writes of what the addon opened (native/core/pipes.h, watched_pipes.h). */
export interface NativeBinding {
  /** @param position -1: where the last one ended. @returns how many, or a negative errno */
  readDescriptor(fd: number, bytes: Uint8Array, position: number): number;
  /** @returns how many, or a negative errno */
  writeDescriptor(fd: number, bytes: Uint8Array): number;
  /** The descriptor is non-blocking, and belongs to the addon from then on, whatever is returned. */
  watchPipe(fd: number, writes: boolean): number | NativeFailure;
  /** After it an event comes once, as soon as it is worth another. @returns how many, or a negative errno */
  readPipe(pipe: number, bytes: Uint8Array): number;
  writePipe(pipe: number, bytes: Uint8Array): number;
  closePipe(pipe: number): void;
}

/** Scans of other processes, and what changes a listener (native/core/process_scan.h and others). */
export interface NativeBinding {
  /**
   * What src/audit/unpack.ts takes apart. `only`: inodes of pipes and sockets, and nothing else then.
   * `port`: sockets with this local port as well, whoever has them. A failure: /proc cannot be listed.
   */
  scanProcesses(
    pids: Int32Array,
    what: number,
    only: Float64Array,
    port: number,
  ): [numbers: Float64Array, text: string] | NativeFailure;
  /**
   * For each pair of numbers, kcmp(2): 0 (the same open file description), 1 or 2 (less or greater, in
   * an order of the kernel's own) or a negative errno.
   */
  compareFiles(left: number, right: number, pairs: Int32Array): Int32Array;
  /** For each inode of a listener five numbers: epoll, accept, poll, unclear, errno. */
  findServingEvidence(pid: number, inodes: Float64Array): Int32Array;
  /** In another process, which must have started then. */
  releaseListener(pid: number, startTime: number, fd: number, inode: number): null | NativeFailure;
  /** Whether a socket of another process has SO_REUSEADDR. */
  reusesAddress(pid: number, startTime: number, fd: number, inode: number): boolean | NativeFailure;
  /** A listener of our own. */
  shutDownListener(fd: number): null | NativeFailure;
  /** PR_SET_DUMPABLE 0: 0 or a positive errno. */
  shieldProcess(): number;
  /** PR_GET_DUMPABLE: false where this process is shielded, or changed its ids. */
  isDumpable(): boolean;
  describeDescriptor(fd: number): DescriptorObject | NativeFailure;
  /** 0 or a positive errno. */
  setCloseOnExec(fd: number): number;
}

/** Device and inode, as digits. */
export type NativeIdentity = readonly [device: string, inode: string];

/** Directories of a workspace (native/core/private_directories.h). */
export interface NativeBinding {
  makePrivateDirectories(
    root: string,
    names: readonly string[],
    uid: number,
    gid: number,
  ):
    | [root: NativeIdentity, directories: Array<[identity: NativeIdentity, made: boolean]>]
    | NativeFailure;
  /** @returns false where there is more: call again */
  removePrivateDirectory(
    root: string,
    rootIdentity: NativeIdentity,
    name: string,
    identity: NativeIdentity,
    budget: number,
  ): boolean | NativeFailure;
}

/** Launches in the manner of child_process, src/compat (native/core/program_search.h). */
export interface NativeBinding {
  /**
   * `executable` of the request is a name, looked up as execvp(3) does; its table holds no pipes to
   * open.
   *
   * @param path PATH of the child
   */
  spawnProgram(
    ...request: [
      ...plan: NativeRequest,
      byLane: boolean,
      noNewPrivileges: boolean,
      path: string,
      keepsZombie: boolean,
      events: SyncEvents | undefined,
    ]
  ): [id: number, pid: number, program: number] | NativeFailure;
  /** Stream sockets, blocking and close-on-exec. */
  openSocketPair(): [one: number, other: number] | NativeFailure;
  setBlocking(fd: number, blocking: boolean): void;
  /** Whether it is open, and without close-on-exec. */
  survivesExec(fd: number): boolean;
}
