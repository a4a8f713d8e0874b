// What else a child is given at its start: limits, identity, priorities. What only the launcher can do.
import { invalid } from '../errors.js';
import { itemsOf, takeOwn, typeName, withoutPrototype } from '../own-properties.js';
import type { TableEntry } from './descriptors.js';
import { signalNumber } from '../signals.js';

/** Resource limits by the names of getrlimit(2), with their numbers on Linux. */
export const LIMITS = {
  cpu: 0,
  fsize: 1,
  data: 2,
  stack: 3,
  core: 4,
  rss: 5,
  nproc: 6,
  nofile: 7,
  memlock: 8,
  as: 9,
  locks: 10,
  sigpending: 11,
  msgqueue: 12,
  nice: 13,
  rtprio: 14,
  rttime: 15,
} as const;

/** The limits, as getrlimit(2) has them: bytes, seconds or counts. */
export type LimitName = keyof typeof LIMITS;
/** A whole number from 0, or `'unlimited'` (RLIM_INFINITY). Units are those of getrlimit(2). */
export type LimitValue = number | 'unlimited';
/** Both values of a limit, prlimit(2). */
export interface Limit {
  /** What holds; not above `hard`. */
  soft: LimitValue;
  /** How far the child may raise it. */
  hard: LimitValue;
}

const IO_CLASSES = { realtime: 1, 'best-effort': 2, idle: 3 } as const;
/** I/O priority, ioprio_set(2). */
export interface IoPriority {
  /** When its requests are served. */
  class: keyof typeof IO_CLASSES;
  /** 0 (first served) to 7; `idle` has none. Default 4. */
  level?: number | undefined;
}

/** Options that need the launcher, as the caller writes them. */
export interface AttributeOptions {
  /** Soft and hard limits, getrlimit(2): one value for both, or `{ soft, hard }`. Units as there. */
  limits?: Readonly<Partial<Record<LimitName, LimitValue | Limit | undefined>>> | undefined;
  /** File mode creation mask, umask(2). */
  umask?: number | undefined;
  /** Niceness, -20 (first served) to 19, setpriority(2). */
  nice?: number | undefined;
  /** I/O scheduling class and level, ioprio_set(2). */
  ioPriority?: IoPriority | undefined;
  /** -1000 (never killed) to 1000, proc_pid_oom_score_adj(5). */
  oomScoreAdjust?: number | undefined;
  /** Processors by number, sched_setaffinity(2). */
  cpuAffinity?: readonly number[] | undefined;
  /** User by name or uid. Alone it also sets the user's own group and takes all other groups away. */
  user?: string | number | undefined;
  /** Group by name or gid. Default with `user`: that user's own. */
  group?: string | number | undefined;
  /** Supplementary groups: gids, or `init` for all that the databases give `user`. Default with `user`: none. */
  groups?: readonly number[] | 'init' | undefined;
  /** A signal that the child gets when this process ends, however; true: SIGKILL. PR_SET_PDEATHSIG, prctl(2). */
  dieWithParent?: boolean | NodeJS.Signals | number | undefined;
  /** A terminal among the child's descriptors that becomes its controlling terminal. With session `new`. */
  terminal?: number | undefined;
}

export const ATTRIBUTE_NAMES = [
  'limits',
  'umask',
  'nice',
  'ioPriority',
  'oomScoreAdjust',
  'cpuAffinity',
  'user',
  'group',
  'groups',
  'dieWithParent',
  'terminal',
] as const;

/** The same, checked and complete. Only what was asked for is there. */
export interface LaunchAttributes {
  /** By name, `{ soft, hard }` each; units are those of getrlimit(2). */
  readonly limits?: Readonly<Partial<Record<LimitName, Readonly<Limit>>>>;
  /** File mode creation mask, 0 to 0o777. */
  readonly umask?: number;
  /** Niceness, -20 to 19. */
  readonly nice?: number;
  /** Class and level, ioprio_set(2). */
  readonly ioPriority?: Readonly<IoPriority & { level: number }>;
  /** -1000 to 1000. */
  readonly oomScoreAdjust?: number;
  /** Processors by number, ascending, each once. */
  readonly cpuAffinity?: readonly number[];
  /** Uid or name; a name is looked up at the start. */
  readonly user?: string | number;
  /** Gid or name; a name is looked up at the start. */
  readonly group?: string | number;
  /** Gids, ascending, each once; `[]` where only `user` was given. */
  readonly groups?: readonly number[] | 'init';
  /** Signal number. */
  readonly dieWithParent?: number;
  /** Number of the terminal in the child's table. */
  readonly terminal?: number;
}

type Raw = { readonly [name in (typeof ATTRIBUTE_NAMES)[number]]?: unknown };

const NONE: LaunchAttributes = Object.freeze(withoutPrototype({}));

/** @throws {SallyportTypeError} */
export function resolveAttributes(
  raw: Raw,
  session: string,
  table: readonly TableEntry[],
): LaunchAttributes {
  if (!ATTRIBUTE_NAMES.some((name) => raw[name] !== undefined)) return NONE;
  const attributes: LaunchAttributes = {
    ...optional('limits', raw.limits, takeLimits),
    ...optional('umask', raw.umask, integer('umask', 0, 0o777)),
    ...optional('nice', raw.nice, integer('nice', -20, 19)),
    ...optional('ioPriority', raw.ioPriority, takeIoPriority),
    ...optional('oomScoreAdjust', raw.oomScoreAdjust, integer('oomScoreAdjust', -1000, 1000)),
    ...optional('cpuAffinity', raw.cpuAffinity, takeProcessors),
    ...takeIdentity(raw),
    ...optional(
      'dieWithParent',
      raw.dieWithParent === false ? undefined : raw.dieWithParent,
      takeDeathSignal,
    ),
    ...optional('terminal', raw.terminal, (value) => takeTerminal(value, session, table)),
  };
  // What was not asked for is looked for by name, in here and by those who start the child.
  return Object.freeze(withoutPrototype(attributes));
}

/** Number of an I/O priority for ioprio_set(2): class in the upper bits. */
export function encodeIoPriority({ class: name, level }: IoPriority & { level: number }): number {
  return (IO_CLASSES[name] << 13) | level;
}

function optional<Name extends string, T>(
  name: Name,
  value: unknown,
  take: (value: unknown) => T,
): { [name in Name]?: T } {
  return value === undefined ? {} : ({ [name]: take(value) } as { [name in Name]?: T });
}

function integer(option: string, lowest: number, highest: number): (value: unknown) => number {
  return (value) => {
    if (
      typeof value === 'number' &&
      Number.isInteger(value) &&
      value >= lowest &&
      value <= highest
    ) {
      return value;
    }
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      option,
      `must be a whole number from ${lowest} to ${highest}`,
    );
  };
}

function takeLimits(value: unknown): NonNullable<LaunchAttributes['limits']> {
  const names = Object.keys(LIMITS) as LimitName[];
  const own = takeOwn(value, 'limits', names);
  const limits: Partial<Record<LimitName, Readonly<Limit>>> = {};
  for (const name of names) {
    if (own[name] !== undefined) limits[name] = takeLimit(own[name], `limits.${name}`);
  }
  return Object.freeze(limits);
}

function takeLimit(value: unknown, option: string): Readonly<Limit> {
  if (typeof value !== 'object' || value === null) {
    const both = takeLimitValue(value, option);
    return Object.freeze({ soft: both, hard: both });
  }
  const { soft, hard } = takeOwn(value, option, ['soft', 'hard']);
  const limit = {
    soft: takeLimitValue(soft, `${option}.soft`),
    hard: takeLimitValue(hard, `${option}.hard`),
  };
  const asNumber = (limited: LimitValue): number => (limited === 'unlimited' ? Infinity : limited);
  if (asNumber(limit.soft) > asNumber(limit.hard)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, 'has a soft limit above the hard one');
  }
  return Object.freeze(limit);
}

function takeLimitValue(value: unknown, option: string): LimitValue {
  if (value === 'unlimited') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    option,
    "must be a whole number from 0, or 'unlimited'",
  );
}

function takeIoPriority(value: unknown): Readonly<IoPriority & { level: number }> {
  const own = takeOwn(value, 'ioPriority', ['class', 'level']);
  const name = own.class;
  if (typeof name !== 'string' || !Object.hasOwn(IO_CLASSES, name)) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'ioPriority.class',
      "must be 'realtime', 'best-effort' or 'idle'",
    );
  }
  const isIdle = name === 'idle';
  const level =
    own.level === undefined
      ? isIdle
        ? 0
        : 4
      : integer('ioPriority.level', 0, isIdle ? 0 : 7)(own.level);
  return Object.freeze({ class: name as IoPriority['class'], level });
}

function takeProcessors(value: unknown): readonly number[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'cpuAffinity',
      'must be an array of processor numbers',
    );
  }
  return asSet(itemsOf(value).map((cpu, index) => integer(`cpuAffinity[${index}]`, 0, 8191)(cpu)));
}

/** Ascending and each once: the order in which somebody wrote them decides nothing. */
function asSet(numbers: readonly number[]): readonly number[] {
  return Object.freeze([...new Set(numbers)].sort((a, b) => a - b));
}

const MOST_GROUPS = 65_536; // NGROUPS_MAX
const HIGHEST_ID = 0xfffffffe; // (uid_t)-1 means "leave it" to setresuid(2)

function takeIdentity(raw: Raw): Pick<LaunchAttributes, 'user' | 'group' | 'groups'> {
  const groups = raw.groups ?? (raw.user === undefined ? undefined : []);
  if (groups === 'init' && raw.user === undefined) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'groups', "'init' needs a user");
  }
  return {
    ...optional('user', raw.user, (value) => takeId(value, 'user')),
    ...optional('group', raw.group, (value) => takeId(value, 'group')),
    ...optional('groups', groups, takeGroups),
  };
}

function takeId(value: unknown, option: string): string | number {
  if (typeof value === 'number') return integer(option, 0, HIGHEST_ID)(value);
  if (typeof value === 'string' && /^[^\0:\s]+$/.test(value) && !/^\d+$/.test(value)) return value;
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    option,
    `must be a name or a number, not ${typeof value === 'string' ? 'a string that is no name' : typeName(value)}`,
  );
}

function takeGroups(value: unknown): readonly number[] | 'init' {
  if (value === 'init') return value;
  if (!Array.isArray(value)) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'groups',
      "must be an array of gids, or 'init'",
    );
  }
  const gids = asSet(
    itemsOf(value).map((gid, index) => integer(`groups[${index}]`, 0, HIGHEST_ID)(gid)),
  );
  if (gids.length <= MOST_GROUPS) return gids;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'groups', `has more than ${MOST_GROUPS} entries`);
}

function takeDeathSignal(value: unknown): number {
  if (value === true) return signalNumber('SIGKILL', 'dieWithParent');
  const signal = signalNumber(value, 'dieWithParent');
  if (signal > 0) return signal;
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    'dieWithParent',
    'must be true, false or a signal',
  );
}

function takeTerminal(value: unknown, session: string, table: readonly TableEntry[]): number {
  const fd = integer('terminal', 0, 0x7fffffff)(value);
  if (session !== 'new') {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'terminal', "needs session: 'new'");
  }
  if (!table.some(({ target }) => target === fd)) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'terminal',
      `${fd} is not a descriptor of the child; name one of stdio or pass`,
    );
  }
  return fd;
}
