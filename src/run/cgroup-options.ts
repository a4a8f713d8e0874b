// What the caller may write of a run's control group, and the place where it can be made.
import { accessSync, constants, readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize } from 'node:path';

import { invalid } from '../errors.js';
import { native } from '../native.js';
import { takeOwn } from '../own-properties.js';

/** The control group that a run is born in. Limits need the controller to be delegated as well. */
export interface CgroupOptions {
  /**
   * Absolute path of a cgroup v2 that was delegated to us, in which one is made for each run. Default:
   * our own, where that was delegated.
   */
  readonly parent?: string | undefined;
  /** `memory.max`: bytes that the run may use together. */
  readonly memoryMax?: number | undefined;
  /** `pids.max`: processes and threads that it may have at a time. */
  readonly pidsMax?: number | undefined;
  /** `cpu.max`: processors that it may use together; 0.5 is half of one. */
  readonly cpuMax?: number | undefined;
}

/** One limit as the kernel takes it, cgroups(7). */
export interface CgroupLimit {
  readonly controller: 'memory' | 'pids' | 'cpu';
  readonly file: string;
  readonly value: string;
}

export interface CgroupWish {
  readonly parent: string | undefined;
  readonly limits: readonly CgroupLimit[];
}

/** Microseconds in which cpu.max counts: the kernel's own default. */
const PERIOD = 100_000;
/** The kernel takes no quota below a millisecond. */
const LEAST_CPU = 0.01;
const CGROUP2_MAGIC = 0x63677270;

/** @throws {SallyportTypeError} */
export function takeCgroup(value: unknown): CgroupWish {
  const names = ['parent', 'memoryMax', 'pidsMax', 'cpuMax'] as const;
  const { parent, memoryMax, pidsMax, cpuMax } = takeOwn(value, 'containment.cgroup', names);
  if (parent !== undefined && !isAbsolutePath(parent)) {
    throw wrong('parent', 'the absolute path of a cgroup v2');
  }
  const limits: CgroupLimit[] = [];
  if (memoryMax !== undefined) {
    const bytes = takeNumber(memoryMax, 'memoryMax', 'bytes from 1', 1, true);
    limits.push({ controller: 'memory', file: 'memory.max', value: String(bytes) });
  }
  if (pidsMax !== undefined) {
    const count = takeNumber(pidsMax, 'pidsMax', 'a whole number from 1', 1, true);
    limits.push({ controller: 'pids', file: 'pids.max', value: String(count) });
  }
  if (cpuMax !== undefined) {
    const share = takeNumber(cpuMax, 'cpuMax', `processors from ${LEAST_CPU}`, LEAST_CPU, false);
    const value = `${Math.round(share * PERIOD)} ${PERIOD}`;
    limits.push({ controller: 'cpu', file: 'cpu.max', value });
  }
  return { parent: parent === undefined ? undefined : normalize(parent), limits };
}

function isAbsolutePath(value: unknown): value is string {
  return typeof value === 'string' && isAbsolute(value) && !value.includes('\0');
}

/** A directory to make groups in; or why there is none. */
export type CgroupPlace =
  | { readonly parent: string; readonly reason: null }
  | { readonly parent: null; readonly reason: string };

/**
 * Never one that was not delegated: a service manager moves processes about in what is its own, and
 * removes what it does not know.
 */
export function findCgroupPlace({ parent, limits }: CgroupWish): CgroupPlace {
  const place = parent === undefined ? findOwn() : examine(parent);
  if (place.parent === null) return place;
  const missing = limits.find(({ controller }) => !hasController(place.parent, controller));
  if (missing === undefined) return place;
  const { controller, file } = missing;
  return none(
    `${file} needs the controller '${controller}', which is not delegated to ${place.parent}`,
  );
}

function examine(parent: string): CgroupPlace {
  try {
    if (statfsSync(parent).type !== CGROUP2_MAGIC) return none(`${parent} is no cgroup v2`);
    accessSync(parent, constants.W_OK);
  } catch (error) {
    return none(`${parent} cannot be used (${(error as NodeJS.ErrnoException).code ?? ''})`);
  }
  if (isUnderSystemd() && !isDelegated(parent)) {
    return none(
      `systemd has not delegated ${parent}: run in a unit with Delegate=yes, systemd.resource-control(5)`,
    );
  }
  return { parent, reason: null };
}

function none(reason: string): CgroupPlace {
  return { parent: null, reason };
}

function findOwn(): CgroupPlace {
  const own = ownCgroup();
  if (own === undefined) return none('no cgroup v2 is mounted that this process is in');
  if (isDelegated(own)) return examine(own);
  return none(
    `this process is in ${own}, which was not delegated to it; name another one as cgroup.parent`,
  );
}

/** sd_booted(3). */
function isUnderSystemd(): boolean {
  return statSync('/run/systemd/system', { throwIfNoEntry: false })?.isDirectory() === true;
}

/** By the mark of a service manager on it or above it; or, where we are not root, by being ours. */
function isDelegated(directory: string): boolean {
  for (let at = directory; isCgroup(at); at = dirname(at)) {
    if (native().isMarkedDelegated(at)) return true;
  }
  const uid = process.geteuid?.() ?? 0;
  return uid !== 0 && [directory, join(directory, 'cgroup.procs')].every((path) => isOf(path, uid));
}

function isCgroup(directory: string): boolean {
  try {
    return statfsSync(directory).type === CGROUP2_MAGIC;
  } catch {
    return false;
  }
}

function isOf(path: string, uid: number): boolean {
  return statSync(path, { throwIfNoEntry: false })?.uid === uid;
}

/** Where /proc/self/cgroup and /proc/self/mountinfo say that we are. */
export function ownCgroup(): string | undefined {
  try {
    const path = /^0::(\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
    const mount = /^\d+ \d+ \S+ (\S+) (\S+) .*? - cgroup2 /m.exec(mounts);
    // Outside of what is mounted, or of our cgroup namespace.
    if (path === undefined || mount === null || path.startsWith('/..')) return undefined;
    const [, root = '/', point = ''] = mount;
    const isInside = root === '/' || path === root || path.startsWith(`${root}/`);
    return isInside ? join(point, root === '/' ? path : path.slice(root.length)) : undefined;
  } catch {
    return undefined;
  }
}

/** Of a cgroup: whether it gives the controller to those below it, or could. */
function hasController(directory: string, controller: string): boolean {
  try {
    const text = readFileSync(join(directory, 'cgroup.controllers'), 'latin1');
    return text.trim().split(' ').includes(controller);
  } catch {
    return false;
  }
}

function takeNumber(
  value: unknown,
  name: string,
  instead: string,
  lowest: number,
  isWhole: boolean,
): number {
  const isNumber = typeof value === 'number' && value >= lowest && value <= Number.MAX_SAFE_INTEGER;
  if (isNumber && (!isWhole || Number.isInteger(value))) return value;
  throw wrong(name, instead);
}

function wrong(name: string, instead: string): Error {
  const option = `containment.cgroup.${name}`;
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, `must be ${instead}`);
}
