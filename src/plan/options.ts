// What the caller may write, and its own properties taken once, whatever prototypes hold.
import { invalid } from '../errors.js';
import { takeOwn, typeName } from '../own-properties.js';
import { ATTRIBUTE_NAMES, type AttributeOptions } from './attributes.js';
import type { Environment } from './create-environment.js';
import type { PinnedExecutable } from './pinned.js';
import type { Expectation } from '../objects/expectation.js';

/**
 * One standard channel. `inherit` is always an explicit choice. `stdout`, for stderr only: the same
 * pipe as stdout's. A number is a descriptor of ours.
 */
export type StdioEntry = 'null' | 'pipe' | 'inherit' | 'stdout' | number;

/** Of stdin and stdout. */
type ParentChannel = Exclude<StdioEntry, 'stdout'>;

/** One each; what is left out, null or undefined has its default. */
type StdioTuple = readonly [
  stdin?: ParentChannel | null | undefined,
  stdout?: ParentChannel | null | undefined,
  stderr?: StdioEntry | null | undefined,
];

/** A descriptor beyond 0, 1, 2 that the child receives. */
export interface PassEntry {
  /** Number in this process. */
  fd: number;
  /** Number in the child, 3 or above. Default: the same number. */
  as?: number | undefined;
  /** What it must be; checked before anything starts. */
  expect?: Expectation | undefined;
}

/** A socket that a program takes over, by sd_listen_fds(3). */
export interface ListenerEntry {
  /** Number in this process. */
  fd: number;
  /** For LISTEN_FDNAMES. Default `unknown`, as systemd has it. */
  name?: string | undefined;
}

/** What a child gets. */
export interface PlanOptions extends AttributeOptions {
  /** Standard channels: one for all three, or one each. Default `['null', 'pipe', 'pipe']`. */
  stdio?: ParentChannel | StdioTuple | undefined;
  /** The pass list: exactly these descriptors go along beside 0, 1 and 2. Default none. */
  pass?: ReadonlyArray<number | PassEntry> | undefined;
  /**
   * Listening or datagram sockets for a program that takes them by the protocol of
   * sd_listen_fds(3): from number 3 in this order, with LISTEN_FDS, LISTEN_FDNAMES and LISTEN_PID.
   */
  listeners?: ReadonlyArray<number | ListenerEntry> | undefined;
  /**
   * The complete environment; `createEnvironment({ … })` for the default plus what is named;
   * `'inherit'` for all that this process has. Default `createEnvironment()`.
   */
  env?: Readonly<Record<string, string | null | undefined>> | Environment | 'inherit' | undefined;
  /** Working directory. Default: the workspace of `env`, or that of this process. */
  cwd?: string | URL | undefined;
  /** argv[0]. Default: `file` as given. */
  argv0?: string | undefined;
  /**
   * `new`: setsid(2), so no controlling terminal; `group`: a process group of its own in the caller's
   * session; `inherit`: the caller's. Default `new`.
   */
  session?: 'new' | 'group' | 'inherit' | undefined;
  /**
   * A terminal among the child's own descriptors (its number in the child) whose foreground process
   * group the child becomes before exec, tcsetpgrp(3). With session `group` only. glibc 2.35.
   */
  foreground?: number | undefined;
  /**
   * Whether exec is kept from granting privileges, no_new_privs of prctl(2): setuid and setgid programs
   * and file capabilities then give the child and its descendants nothing. Default true.
   */
  noNewPrivileges?: boolean | undefined;
  /**
   * `at-exec`: the child holds immediately before its exec, is compared with the plan, and runs only
   * where it matches. `after-exec`: it is looked at when it runs already, which proves nothing.
   * Default: nobody looks.
   */
  verify?: 'at-exec' | 'after-exec' | undefined;
  /** A program of `pinExecutable`, which `file` must name: what was hashed is what runs. */
  pinned?: PinnedExecutable | undefined;
  /**
   * Bytes that each pipe of `stdio` holds, F_SETPIPE_SZ of fcntl(2); the kernel rounds up. Default:
   * the kernel's, 64 KiB, which is raised where a child has much to say.
   */
  pipeSize?: number | undefined;
}

/** What happens to a child afterwards. Never seen by it, and not part of the plan. */
export interface SpawnOptions extends PlanOptions {
  /** Aborting sends `killSignal`. */
  signal?: AbortSignal | undefined;
  /** Milliseconds after which `killSignal` is sent; 0 or absent: never. */
  timeout?: number | undefined;
  /** For `signal`, `timeout` and disposal. Default `SIGTERM`. */
  killSignal?: NodeJS.Signals | number | undefined;
}

export const PLAN_OPTION_NAMES = [
  'stdio',
  'pass',
  'env',
  'cwd',
  'argv0',
  'session',
  'foreground',
  'noNewPrivileges',
  'pipeSize',
  'listeners',
  'verify',
  'pinned',
  ...ATTRIBUTE_NAMES,
] as const;

const OPTION_NAMES = [...PLAN_OPTION_NAMES, 'signal', 'timeout', 'killSignal'] as const;

type OptionName = (typeof OPTION_NAMES)[number];

/** What people write from habit, and what to write here. */
export const INSTEAD: ReadonlyMap<string, string> = new Map([
  ['shell', "there is no implicit shell; write spawn('/bin/sh', ['-c', script])"],
  ['detached', "write session: 'new' (the default here)"],
  ['environment', 'write env'],
  ['uid', 'write user'],
  ['gid', 'write group'],
  ['rlimits', 'write limits'],
  ['fds', 'write pass'],
  ['stdin', 'write stdio: [stdin, stdout, stderr]'],
  ['stdout', 'write stdio: [stdin, stdout, stderr]'],
  ['stderr', 'write stdio: [stdin, stdout, stderr]'],
  ['input', "write to child.stdin, with stdio: ['pipe']; run has input"],
  ['output', 'run has it; here read child.stdout'],
  ['deadline', 'write timeout; run has deadline'],
  ['encoding', 'write child.stdout.setEncoding(encoding)'],
  ['maxBuffer', 'run has output: { maxBytes }; here nothing is kept'],
  ['windowsHide', 'there is no such thing on Linux; leave it out'],
]);

/** Options as the caller's own properties, not yet validated; none is null. */
export type RawOptions = { readonly [name in OptionName]?: unknown };

/** @throws {SallyportTypeError} for anything but an object of known options */
export function takeOptions(options: unknown): RawOptions {
  return takeOwn(options, 'options', OPTION_NAMES, INSTEAD);
}

/** argv without argv[0]. @throws {SallyportTypeError} naming the position, never the value */
export function takeArguments(args: unknown): readonly string[] {
  if (args === undefined || args === null) return [];
  if (!Array.isArray(args)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'args', 'must be an array of strings');
  }
  // Array.from, unlike map, looks at holes too.
  return Array.from(args, (argument: unknown, index) => takeString(argument, `args[${index}]`));
}

/** A string that exec can take: no NUL. */
export function takeString(value: unknown, option: string): string {
  if (typeof value !== 'string') {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      option,
      `must be a string, not ${typeName(value)}`,
    );
  }
  const nul = value.indexOf('\0');
  if (nul !== -1) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, `has a NUL at position ${nul}`);
  }
  return value;
}

export function takeFlag(value: unknown, option: string, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value === 'boolean') return value;
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    option,
    `must be true or false, not ${typeName(value)}`,
  );
}
