// How a run is held together, and which way is taken: chosen here, before anything is started.
import { invalid, refused } from '../errors.js';
import { takeOwn } from '../own-properties.js';
import type { Child } from '../launch/child.js';
import type { ResourceUsage } from '../launch/events.js';
import type { Takeover } from '../launch/launch.js';
import type { RawOptions } from '../plan/options.js';
import { containByGroup } from './group.js';
import { containByInit } from './init.js';

/**
 * `init`: the first process of the run adopts all that comes after it. `cgroup`: born in a control
 * group of its own. `group`: session and process group, which a descendant can leave.
 */
export type ContainmentMethod = 'init' | 'group' | 'cgroup';

/** A process of the run that could not be ended. */
export interface Survivor {
  readonly pid: number;
  /** Null where it could not be read. */
  readonly executable: string | null;
  readonly state: string;
}

export interface SentSignal {
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

/** One method, or the first of several that there is here; `require` is the plain name at length. */
export type ContainmentWish =
  | ContainmentMethod
  | { readonly require: ContainmentMethod }
  | { readonly prefer: readonly ContainmentMethod[] };

/** One way of holding a run together. */
export interface Method {
  readonly name: ContainmentMethod;
  readonly contain: Contain;
  /** What the report says of it. */
  readonly guarantee: string;
  /** What it does not see to. */
  readonly notTested: readonly string[];
  /** What is said, in place and besides, where the end of the run was `lost`. */
  readonly whenLost?: { readonly guarantee: string; readonly notTested: readonly string[] };
}

const METHODS: { readonly [method in ContainmentMethod]?: Method } = {
  init: {
    name: 'init',
    contain: containByInit,
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
    guarantee:
      "everything that stayed in the target's session or process group was ended; what left both was not looked for",
    notTested: [
      'cleanup: descendants that left the session and the process group (containment group)',
      'cleanup: what becomes of the run when this process is killed (containment group)',
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
  const wanted = takeWish(wish);
  for (const name of wanted) {
    const method = METHODS[name];
    if (method !== undefined) return method;
  }
  throw refused(
    'ERR_SALLYPORT_NO_CONTAINMENT',
    `containment: ${wanted.join(', ')} is not available here; write containment: 'group', which a descendant can leave by setsid`,
    { stage: 'plan', stagePath: 'containment' },
  );
}

function takeWish(wish: unknown): readonly ContainmentMethod[] {
  if (wish === undefined) return [DEFAULT];
  if (isMethod(wish)) return [wish];
  if (typeof wish === 'object') {
    const { require, prefer } = takeOwn(wish, 'containment', ['require', 'prefer']);
    if (isMethod(require) && prefer === undefined) return [require];
    if (require === undefined && Array.isArray(prefer) && prefer.length > 0) {
      if (prefer.every(isMethod)) return prefer;
    }
  }
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    'containment',
    "must be 'init', 'cgroup', 'group', { require: one of them } or { prefer: [several] }",
  );
}

function isMethod(value: unknown): value is ContainmentMethod {
  return (NAMES as readonly unknown[]).includes(value);
}
