// How a run is held together, and which way is taken: chosen here, before anything is started.
import { readlinkSync } from 'node:fs';

import { invalid, refused } from '../errors.js';
import { itemsOf, takeOwn } from '../own-properties.js';
import { requirePermissions } from '../runtime.js';
import type { Child } from '../launch/child.js';
import type { ResourceUsage } from '../launch/outcomes.js';
import type { Takeover } from '../launch/launch.js';
import type { RawOptions } from '../plan/options.js';
import {
  findCgroupPlace,
  takeCgroup,
  type CgroupLimit,
  type CgroupOptions,
  type CgroupWish,
} from './cgroup-options.js';
import { containByGroup } from './group.js';
import { containByCgroup, containByInit } from './init.js';
import type { CgroupPeak } from './run-cgroup.js';

/**
 * `init`: the first process of the run adopts all that comes after it. `cgroup`: born in a control
 * group of its own. `group`: session and process group, which a descendant can leave.
 */
export type ContainmentMethod = 'init' | 'group' | 'cgroup';

/** A process of the run that could not be ended. */
export interface Survivor {
  /** Process id. */
  readonly pid: number;
  /** Null where it could not be read. */
  readonly executable: string | null;
  /** One letter: `R`, `S`, `D`, `Z`, …; proc_pid_stat(5). */
  readonly state: string;
}

/** A signal that was sent to what was left of a run. */
export interface SentSignal {
  /** Name of the signal. */
  readonly signal: string;
  /** `end`: the request; `kill`: after the grace, or at once. */
  readonly at: 'end' | 'kill';
  /** How many processes, where that is known. */
  readonly processes: number | null;
}

export interface TreeEnd {
  readonly signalled: SentSignal[];
  readonly survivors: Survivor[];
  readonly released: number[];
  /** What held the run together ended before it, so that nothing can be said for certain. */
  readonly lost: boolean;
  readonly treeUsage: ResourceUsage | null;
  /** With containment `cgroup`. */
  readonly peak?: CgroupPeak;
}

/** A running target with everything that it starts. */
export interface Contained {
  readonly child: Child;
  readonly method: ContainmentMethod;
  /** Nothing of the run is left, or what is left cannot be ended. Never rejects. */
  readonly ended: Promise<TreeEnd>;
  /** SIGTERM and SIGCONT to every process of the run, SIGKILL after so many milliseconds. */
  end(grace: number): void;
  /** SIGKILL at once. */
  kill(): void;
  /** This process leaves the run on purpose. */
  release(pid: number): void;
}

export type Contain = (
  file: unknown,
  args: unknown,
  options: RawOptions,
  takeover: Takeover,
) => Promise<Contained>;

/**
 * One method, or the first of several that there is here; `require` is the plain name at length.
 * `cgroup` says where and how, if it comes to that; its limits need `require`.
 */
export type ContainmentWish =
  | ContainmentMethod
  | { readonly require: ContainmentMethod; readonly cgroup?: CgroupOptions | undefined }
  | { readonly prefer: readonly ContainmentMethod[]; readonly cgroup?: CgroupOptions | undefined };

/** One way of holding a run together. */
export interface Method {
  readonly name: ContainmentMethod;
  readonly contain: Contain;
  /** Where the group of the run is made, and with which limits; null: there is none. */
  readonly cgroup: { readonly parent: string; readonly limits: readonly CgroupLimit[] } | null;
  /** What the report says of it. */
  readonly guarantee: string;
  /** What it does not see to. */
  readonly notTested: readonly string[];
  /** What is said, in place and besides, where the end of the run was `lost`; null: nothing else. */
  readonly whenLost: { readonly guarantee: string; readonly notTested: readonly string[] } | null;
}

const EVERYWHERE: { readonly [method in Exclude<ContainmentMethod, 'cgroup'>]: Method } = {
  init: {
    name: 'init',
    contain: containByInit,
    cgroup: null,
    guarantee:
      'every descendant was ended, those that left the session among them; the init of the run saw that none is left',
    notTested: [
      'cleanup: what others started for the run, a service manager say (containment init)',
    ],
    whenLost: {
      guarantee:
        'the init of the run was stopped or killed; what could still be told to be of the run was ended from outside',
      notTested: [
        'cleanup: descendants that nothing tied to the run any more when its init was lost (containment init)',
      ],
    },
  },
  group: {
    name: 'group',
    contain: containByGroup,
    cgroup: null,
    guarantee:
      "everything that stayed in the target's session or process group was ended; what left both was not looked for",
    notTested: [
      'cleanup: descendants that left the session and the process group (containment group)',
      'cleanup: what becomes of the run when this process is killed (containment group)',
    ],
    whenLost: null,
  },
};

const CGROUP: Omit<Method, 'contain' | 'cgroup'> = {
  name: 'cgroup',
  guarantee:
    'everything that was born in the run was ended; its init saw that no descendant is left, and the kernel that its control group is empty',
  notTested: [
    'cleanup: what others started for the run, a service manager say (containment cgroup)',
  ],
  whenLost: {
    guarantee:
      'the init of the run was stopped or killed; everything in its control group was ended from outside, and the kernel says that the group is empty unless survivors are named',
    notTested: [
      'cleanup: descendants that had left both the session and the control group when the init was lost (containment cgroup)',
    ],
  },
};

const NAMES: readonly ContainmentMethod[] = ['init', 'group', 'cgroup'];
const DEFAULT: ContainmentMethod = 'init';

/**
 * Never a weaker one than was asked for.
 *
 * @throws {SallyportTypeError}
 * @throws {SallyportError} `ERR_SALLYPORT_NO_CONTAINMENT`
 */
export function chooseContainment(wish: unknown): Method {
  const { wanted, cgroup } = takeWish(wish);
  requireOwnProc();
  let reason = '';
  for (const name of wanted) {
    if (name !== 'cgroup') return EVERYWHERE[name];
    const place = findCgroupPlace(cgroup);
    if (place.parent !== null) {
      const { parent } = place;
      const { limits } = cgroup;
      return { ...CGROUP, contain: containByCgroup(parent, limits), cgroup: { parent, limits } };
    }
    ({ reason } = place);
  }
  throw refused(
    'ERR_SALLYPORT_NO_CONTAINMENT',
    `containment: cgroup is not available here: ${reason}; or write containment: 'init'`,
    { stage: 'plan', stagePath: 'containment' },
  );
}

/**
 * All that holds a run together finds processes by /proc. One of another PID namespace has other
 * numbers: what is left would not be found, and somebody else be signalled.
 *
 * @throws {SallyportError} `ERR_SALLYPORT_NO_CONTAINMENT`
 */
function requireOwnProc(): void {
  // Deno withholds /proc, and says by which permission it does not.
  requirePermissions();
  let self: string | null = null;
  try {
    self = readlinkSync('/proc/self');
  } catch {
    // Not mounted, or not for us.
  }
  if (self === String(process.pid)) return;
  const why =
    self === null
      ? '/proc is not mounted, or may not be read'
      : `/proc is that of another PID namespace, in which this process is ${self}`;
  throw refused(
    'ERR_SALLYPORT_NO_CONTAINMENT',
    `containment: ${why}: nobody could see what a run leaves; mount it, as unshare --mount-proc does`,
    { stage: 'plan', stagePath: 'containment' },
  );
}

interface Wanted {
  readonly wanted: readonly ContainmentMethod[];
  readonly cgroup: CgroupWish;
}

function takeWish(wish: unknown): Wanted {
  if (wish === undefined) return { wanted: [DEFAULT], cgroup: NO_CGROUP };
  if (isMethod(wish)) return { wanted: [wish], cgroup: NO_CGROUP };
  if (typeof wish === 'object') {
    const own = takeOwn(wish, 'containment', ['require', 'prefer', 'cgroup']);
    const wanted = takeNames(own.require, own.prefer);
    if (wanted !== undefined) {
      const cgroup = takeCgroup(own.cgroup);
      if (own.cgroup !== undefined && !wanted.includes('cgroup')) {
        throw wrong('containment.cgroup', "is for the method 'cgroup': name it, or leave this out");
      }
      if (cgroup.limits.length > 0 && own.require === undefined) {
        throw wrong(
          'containment.cgroup',
          "its limits would be lost with another method: write { require: 'cgroup' }",
        );
      }
      return { wanted, cgroup };
    }
  }
  throw wrong(
    'containment',
    "must be 'init', 'cgroup', 'group', { require: one of them } or { prefer: [several] }",
  );
}

function takeNames(require: unknown, prefer: unknown): readonly ContainmentMethod[] | undefined {
  if (isMethod(require) && prefer === undefined) return [require];
  if (require !== undefined || !Array.isArray(prefer) || prefer.length === 0) return undefined;
  const names = itemsOf(prefer);
  return names.every(isMethod) ? names : undefined;
}

const NO_CGROUP: CgroupWish = { parent: undefined, limits: [] };

function wrong(option: string, message: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, message);
}

function isMethod(value: unknown): value is ContainmentMethod {
  return (NAMES as readonly unknown[]).includes(value);
}
