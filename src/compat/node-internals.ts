// What lies below node:child_process: finds it, and recognises how it is called, or refuses.
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';

import { refused } from '../errors.js';
import { describeRuntime, RUNTIME } from '../runtime.js';

/** One entry of `stdio` as Node hands it down. */
export interface StdioEntry {
  readonly type: string;
  /** A stream of libuv: of a pipe to be opened, or one to be shared. */
  readonly handle?: StreamHandle;
  readonly ipc?: boolean;
  readonly fd?: number;
  /** Of spawnSync: whether the child reads it, whether it writes it, what it is given to read. */
  readonly readable?: boolean;
  readonly writable?: boolean;
  readonly input?: ArrayBufferView | null;
}

/** What both kinds of call say. */
export interface ProgramCall {
  readonly file: string;
  /** With argv[0]. */
  readonly args: readonly string[] | undefined;
  readonly cwd: string | null | undefined;
  /** `NAME=value`. */
  readonly envPairs: readonly string[] | null | undefined;
  readonly stdio: readonly StdioEntry[];
  readonly detached: boolean;
  readonly uid: number | null | undefined;
  readonly gid: number | null | undefined;
}

/** Options of the binding `spawn_sync`. */
export interface SyncCall extends ProgramCall {
  /** Milliseconds; 0: none. */
  readonly timeout?: number | null;
  /** Bytes of all channels together. */
  readonly maxBuffer?: number | null;
  readonly killSignal?: number | null;
}

/** What the binding `spawn_sync` gives. */
export interface SyncResult {
  pid: number;
  status: number | null;
  signal: string | null;
  output: Array<Buffer | null> | null;
  /** Negative errno. */
  error?: number;
}

export interface StreamHandle {
  readonly fd?: number;
  /** 0, undefined or a negative errno. */
  open(fd: number): number | undefined;
}

/** Node's ProcessWrap. */
export interface ProcessHandle {
  spawn(...words: unknown[]): number;
  kill(signal: number): number;
  ref(): void;
  unref(): void;
  onexit: (this: ProcessHandle, code: number | null, signal: string) => void;
  pid?: number;
}

type HandleSpawn = (this: ProcessHandle, ...words: unknown[]) => number;
type SyncSpawn = (options: SyncCall) => SyncResult;

/** A function that Node calls as the property of an object, and that can be put there. */
export interface Hook<Call> {
  readonly owner: object;
  readonly original: Call;
  readonly descriptor: PropertyDescriptor;
}

export interface NodeInternals {
  readonly handle: Hook<HandleSpawn>;
  readonly sync: Hook<SyncSpawn>;
  readCall(words: readonly unknown[]): ProgramCall;
  /**
   * Makes libuv know a handle that it will never start: only such a one counts as referenced, can be
   * closed, and is collected afterwards. Undefined from libuv 1.52 on, which takes a handle whose start
   * it refused out of its list, and then out of what is in that place by now when Node closes it.
   */
  readonly initialise: ((handle: ProcessHandle) => void) | undefined;
}

const { EINVAL } = constants.errno;

// Strange enough that they are found again wherever Node puts them.
const PROBE = {
  file: '/sallyport/probe',
  args: ['sallyport', 'probe'],
  cwd: '/sallyport',
  envPairs: ['SALLYPORT=probe'],
  uid: 41_001,
  gid: 41_002,
  timeout: 41_003,
  maxBuffer: 41_004,
  killSignal: 'SIGUSR2',
} as const;

/**
 * @throws {SallyportError} `ERR_SALLYPORT_CANNOT_INSTALL` where anything is not as it is known to be;
 *   nothing has been changed then
 */
export function findInternals(): NodeInternals {
  if (RUNTIME !== 'Node') {
    throw cannot("its child_process has nothing below that could be replaced, as Node's has");
  }
  const child = childProcess();
  const handle = findHook<HandleSpawn>(handlePrototype(child), 'the handle of a ChildProcess');
  const sync = findHook<SyncSpawn>(syncBinding(), 'the binding of spawnSync');
  const shape = probeHandle(child, handle);
  probeSync(child, sync);
  return { handle, sync, ...shape };
}

// Loaded late: it takes several milliseconds, and the package is imported by many that never come here.
function childProcess(): typeof import('node:child_process') {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous and late
  return require('node:child_process') as typeof import('node:child_process');
}

function cannot(why: string): Error {
  return refused(
    'ERR_SALLYPORT_CANNOT_INSTALL',
    `child_process cannot be replaced in ${describeRuntime()}: ${why}; nothing was changed`,
    { stage: 'platform' },
  );
}

function handlePrototype({ ChildProcess }: typeof import('node:child_process')): object {
  const child = new ChildProcess() as ChildProcess & { _handle?: unknown };
  const handle: unknown = child._handle;
  if (typeof handle !== 'object' || handle === null) throw cannot('a ChildProcess has no _handle');
  return Object.getPrototypeOf(handle) as object;
}

interface BindingProcess {
  binding?(name: string): unknown;
  noDeprecation?: boolean;
}

function syncBinding(): object {
  const node = process as BindingProcess;
  // --pending-deprecation warns of process.binding, and the user can do nothing about it.
  const before = node.noDeprecation;
  node.noDeprecation = true;
  try {
    const binding = node.binding?.('spawn_sync');
    if (typeof binding === 'object' && binding !== null) return binding;
  } catch (error) {
    throw cannot(`process.binding() is refused (${(error as Error).message})`);
  } finally {
    if (before === undefined) delete node.noDeprecation;
    else node.noDeprecation = before;
  }
  throw cannot("there is no process.binding('spawn_sync')");
}

function findHook<Call>(owner: object, what: string): Hook<Call> {
  const descriptor = Object.getOwnPropertyDescriptor(owner, 'spawn');
  const original: unknown = descriptor?.value;
  if (descriptor === undefined || typeof original !== 'function') {
    throw cannot(`${what} has no function spawn`);
  }
  if (descriptor.configurable !== true) throw cannot(`spawn of ${what} cannot be replaced`);
  if (!/\[native code\]/.test(Function.prototype.toString.call(original))) {
    throw cannot(`somebody has replaced spawn of ${what} already`);
  }
  return { owner, original: original as Call, descriptor };
}

/** Calls `use` with a function of ours in the place of Node's. */
function withReplaced<Call>(hook: Hook<Call>, replacement: Call, use: () => void): void {
  Object.defineProperty(hook.owner, 'spawn', { ...hook.descriptor, value: replacement });
  try {
    use();
  } catch {
    // Node throws the errno that the replacement gave.
  } finally {
    Object.defineProperty(hook.owner, 'spawn', hook.descriptor);
  }
}

type Shape = Pick<NodeInternals, 'readCall' | 'initialise'>;

function canCloseRefused(): boolean {
  const [major = 0, minor = 0] = process.versions.uv.split('.').map(Number);
  return major === 1 && minor < 52;
}

/** Lets Node call a handle whose spawn only looks at what it is given. */
function probeHandle(
  { ChildProcess }: typeof import('node:child_process'),
  hook: Hook<HandleSpawn>,
): Shape {
  let shape: Shape | undefined;
  const look: HandleSpawn = function (this: ProcessHandle, ...words) {
    shape = recognise(words, hook.original);
    shape?.initialise?.(this);
    // It is closed only in the next turn of the event loop, and must not count until then.
    this.unref();
    return -EINVAL;
  };
  withReplaced(hook, look, () => {
    const child = new ChildProcess() as ChildProcess & { spawn(options: object): void };
    const { file, args, cwd, envPairs, uid, gid } = PROBE;
    child.spawn({
      ...{ file, args: [...args], cwd, envPairs: [...envPairs], uid, gid },
      ...{ detached: true, stdio: 'ignore' },
    });
  });
  if (shape === undefined) throw cannot('its handles are started in a way that is not known here');
  return shape;
}

function recognise(words: readonly unknown[], original: HandleSpawn): Shape | undefined {
  const [first] = words;
  if (words.length === 1 && isProbe(first as ProgramCall)) {
    return objectShape(original);
  }
  const [file, args, cwd, envPairs, stdio, flags, uid, gid] = words;
  const positional = { file, args, cwd, envPairs, stdio, detached: true, uid, gid };
  if (words.length !== 8 || !isProbe(positional as ProgramCall)) return undefined;
  return typeof flags === 'number' && flags > 0 ? positionalShape(original, flags) : undefined;
}

function isProbe(call: ProgramCall | undefined): boolean {
  return (
    typeof call === 'object' &&
    call.file === PROBE.file &&
    isSame(call.args, PROBE.args) &&
    call.cwd === PROBE.cwd &&
    hasAll(call.envPairs, PROBE.envPairs) &&
    Array.isArray(call.stdio) &&
    call.stdio.length === 3 &&
    call.stdio.every((entry: StdioEntry) => entry.type === 'ignore') &&
    call.detached &&
    call.uid === PROBE.uid &&
    call.gid === PROBE.gid
  );
}

function isSame(found: unknown, expected: readonly string[]): boolean {
  return Array.isArray(found) && found.join('\0') === expected.join('\0');
}

/** Node adds variables of its own for its children: NODE_V8_COVERAGE, and flags in NODE_OPTIONS. */
function hasAll(found: unknown, expected: readonly string[]): boolean {
  return Array.isArray(found) && expected.every((pair) => found.includes(pair));
}

// libuv refuses a descriptor -1 before it does anything else.
const REFUSED_STDIO = [{ type: 'fd', fd: -1 }];

/** Up to Node 22: spawn(options). */
function objectShape(original: HandleSpawn): Shape {
  return {
    readCall: ([options]) => options as ProgramCall,
    initialise: unlessUnsafe((handle) => {
      requireRefusal(original.call(handle, { file: 'x', args: ['x'], stdio: REFUSED_STDIO }));
    }),
  };
}

/** From Node 24: spawn(file, args, cwd, envPairs, stdio, flags, uid, gid). */
function positionalShape(original: HandleSpawn, detachedFlag: number): Shape {
  return {
    readCall: ([file, args, cwd, envPairs, stdio, flags, uid, gid]) =>
      ({
        file,
        args,
        cwd,
        envPairs,
        stdio,
        detached: ((flags as number) & detachedFlag) !== 0,
        uid,
        gid,
      }) as ProgramCall,
    initialise: unlessUnsafe((handle) => {
      const nothing = undefined;
      requireRefusal(
        original.call(handle, 'x', ['x'], nothing, nothing, REFUSED_STDIO, 0, nothing, nothing),
      );
    }),
  };
}

function unlessUnsafe(initialise: (handle: ProcessHandle) => void): Shape['initialise'] {
  return canCloseRefused() ? initialise : undefined;
}

function requireRefusal(result: number): void {
  if (result !== -EINVAL) throw cannot('its handles take what they must refuse');
}

/** Lets Node call a binding that only looks at what it is given. */
function probeSync(child: typeof import('node:child_process'), hook: Hook<SyncSpawn>): void {
  let known = false;
  const look: SyncSpawn = (options) => {
    known =
      isProbe(options) &&
      options.timeout === PROBE.timeout &&
      options.maxBuffer === PROBE.maxBuffer &&
      options.killSignal === constants.signals.SIGUSR2;
    return { pid: 0, status: null, signal: null, output: null, error: -EINVAL };
  };
  withReplaced(hook, look, () => {
    const { file, args, cwd, uid, gid, timeout, maxBuffer, killSignal } = PROBE;
    child.spawnSync(file, args.slice(1), {
      ...{ argv0: args[0], cwd, uid, gid, timeout, maxBuffer, killSignal, stdio: 'ignore' },
      ...{ env: { SALLYPORT: 'probe' }, detached: true },
    });
  });
  if (!known) throw cannot('spawnSync calls its binding in a way that is not known here');
}
