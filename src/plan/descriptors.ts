// stdio and the pass list → one table: every number that the child will have, and nothing else.
import { invalid, refused } from '../errors.js';
import { isRecord, itemsOf, takeOwn, typeName } from '../own-properties.js';
import { requireExpected, takeExpectation, type Expectation } from '../objects/expectation.js';
import { phraseObject, type DescriptorObject } from '../objects/object.js';

/** One number of the child's table. */
export interface DescriptorPlan {
  /** Number in the child. */
  readonly target: number;
  /**
   * `null`: /dev/null. `pipe`: a pipe to or from us. `stdout`: the pipe of number 1. `inherit`,
   * `descriptor`, `listener`: one of ours.
   */
  readonly channel: 'null' | 'pipe' | 'stdout' | 'inherit' | 'descriptor' | 'listener';
  /** Number in this process when the plan was made. */
  readonly source: number | null;
  /** What that number refers to. */
  readonly object: DescriptorObject | null;
}

/** The table before its sources were looked at. */
export interface TableEntry {
  target: number;
  channel: DescriptorPlan['channel'];
  source: number | null;
  expect: Expectation | null;
}

const DEFAULT_STDIO = ['null', 'pipe', 'pipe'] as const;

/** Sorted by target; every target once. @throws {SallyportTypeError} */
export function buildTable(
  stdio: unknown,
  pass: unknown,
  limit: () => number,
  listeners: readonly Listener[] = [],
): TableEntry[] {
  const table = standardChannels(stdio);
  for (const { fd } of listeners) {
    table.push({ target: table.length, channel: 'listener', source: fd, expect: null });
  }
  if (pass !== undefined) {
    if (!Array.isArray(pass)) {
      throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'pass', 'must be an array of descriptors');
    }
    for (const [index, entry] of pass.entries()) table.push(passEntry(entry, `pass[${index}]`));
    requireDistinctTargets(table);
    requireBelowLimit(table, limit);
    table.sort((a, b) => a.target - b.target);
  }
  return table;
}

function standardChannels(stdio: unknown): TableEntry[] {
  if (Array.isArray(stdio)) {
    if (stdio.length > 3) {
      throw invalid(
        'ERR_SALLYPORT_INVALID_ARGUMENT',
        'stdio',
        'has entries beyond 2; write pass: [{ fd, as: 3 }] for further descriptors',
      );
    }
    const table = DEFAULT_STDIO.map((fallback, target) =>
      standardChannel((stdio[target] as unknown) ?? fallback, target, `stdio[${target}]`),
    );
    if (table[2]?.channel === 'stdout' && table[1]?.channel !== 'pipe') {
      throw invalid(
        'ERR_SALLYPORT_INVALID_ARGUMENT',
        'stdio[2]',
        "'stdout' needs stdio[1]: 'pipe'; for a descriptor write its number for both",
      );
    }
    return table;
  }
  return DEFAULT_STDIO.map((fallback, target) =>
    standardChannel(stdio ?? fallback, target, 'stdio'),
  );
}

function standardChannel(entry: unknown, target: number, option: string): TableEntry {
  if (entry === 'null' || entry === 'pipe')
    return { target, channel: entry, source: null, expect: null };
  if (entry === 'stdout' && option === 'stdio[2]') {
    return { target, channel: 'stdout', source: null, expect: null };
  }
  if (entry === 'inherit') return { target, channel: 'inherit', source: target, expect: null };
  if (typeof entry === 'number') {
    return { target, channel: 'descriptor', source: requireNumber(entry, option), expect: null };
  }
  const instead =
    entry === 'ignore'
      ? "write 'null'"
      : `must be 'null', 'pipe', 'inherit'${target === 2 ? ", 'stdout'" : ''} or a descriptor number`;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, instead);
}

function passEntry(entry: unknown, option: string): TableEntry {
  if (typeof entry === 'number') {
    const fd = requireNumber(entry, option);
    return { target: requireTarget(fd, option), channel: 'descriptor', source: fd, expect: null };
  }
  if (!isRecord(entry)) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      option,
      `must be a descriptor number or { fd, as?, expect? }, not ${typeName(entry)}`,
    );
  }
  const own = takeOwn(entry, option, ['fd', 'as', 'expect']);
  const fd = requireNumber(own.fd, `${option}.fd`);
  const as = own.as === undefined ? fd : requireNumber(own.as, `${option}.as`);
  return {
    target: requireTarget(as, own.as === undefined ? option : `${option}.as`),
    channel: 'descriptor',
    source: fd,
    expect: own.expect === undefined ? null : takeExpectation(own.expect, `${option}.expect`),
  };
}

/** A socket on its way to a program that knows sd_listen_fds(3). */
export interface Listener {
  readonly fd: number;
  readonly name: string;
}

/** @throws {SallyportTypeError} */
export function takeListeners(value: unknown): readonly Listener[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'listeners', 'must be an array of descriptors');
  }
  return itemsOf(value).map((entry, index) => {
    const option = `listeners[${index}]`;
    if (typeof entry === 'number') return { fd: requireNumber(entry, option), name: 'unknown' };
    const { fd, name } = takeOwn(entry, option, ['fd', 'name']);
    // systemd's own rule for FileDescriptorName=.
    if (
      name !== undefined &&
      (typeof name !== 'string' || !/^[\x21-\x39\x3b-\x7e]{1,255}$/.test(name))
    ) {
      throw invalid(
        'ERR_SALLYPORT_INVALID_ARGUMENT',
        `${option}.name`,
        'must be 1 to 255 printable ASCII characters without spaces and colons',
      );
    }
    return { fd: requireNumber(fd, `${option}.fd`), name: name ?? 'unknown' };
  });
}

function noSocket(fd: number, object: DescriptorObject): Error {
  return refused(
    'ERR_SALLYPORT_UNEXPECTED_OBJECT',
    `descriptor ${fd} is ${phraseObject(object)}: a listener must be a socket`,
    { stage: 'descriptor', stagePath: String(fd), stageSource: 'reported' },
  );
}

function requireNumber(value: unknown, option: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > 0x7fffffff) {
    throw invalid('ERR_SALLYPORT_INVALID_DESCRIPTOR', option, 'must be a descriptor number');
  }
  return value;
}

function requireTarget(target: number, option: string): number {
  if (target > 2) return target;
  throw invalid(
    'ERR_SALLYPORT_INVALID_DESCRIPTOR',
    option,
    `${target} is a standard channel; write stdio for it, or { fd, as } with another number`,
  );
}

function requireDistinctTargets(table: readonly TableEntry[]): void {
  const seen = new Set<number>();
  for (const { target } of table) {
    if (seen.has(target)) {
      throw invalid(
        'ERR_SALLYPORT_INVALID_DESCRIPTOR',
        'pass',
        `names ${target} twice in the child; give one of them another number with as`,
      );
    }
    seen.add(target);
  }
}

function requireBelowLimit(table: readonly TableEntry[], limit: () => number): void {
  const highest = Math.max(...table.map(({ target }) => target));
  const soft = limit();
  if (highest < soft) return;
  throw invalid(
    'ERR_SALLYPORT_INVALID_DESCRIPTOR',
    'pass',
    `${highest} is not below the soft limit of open files (RLIMIT_NOFILE, ${soft}); use a lower number or raise the limit`,
  );
}

/** Joins the table with what its sources turned out to be. @throws {SallyportError} */
export function resolveTable(
  table: readonly TableEntry[],
  describe: (source: number) => DescriptorObject,
): readonly DescriptorPlan[] {
  return Object.freeze(table.map((entry) => resolveEntry(entry, describe)));
}

function resolveEntry(
  { target, channel, source, expect }: TableEntry,
  describe: (source: number) => DescriptorObject,
): DescriptorPlan {
  if (source === null) {
    if (channel === 'stdout') return MERGED_CHANNEL;
    return (channel === 'null' ? NULL_CHANNELS : PIPE_CHANNELS)[target] as DescriptorPlan;
  }
  const object = describe(source);
  if (channel === 'listener' && object.socket === undefined) throw noSocket(source, object);
  if (expect !== null) requireExpected(source, object, expect);
  return Object.freeze({ target, channel, source, object });
}

// The same for every launch, which is on its way while its caller waits.
const NULL_CHANNELS = [0, 1, 2].map((target) => sourceless(target, 'null'));
const PIPE_CHANNELS = [0, 1, 2].map((target) => sourceless(target, 'pipe'));
const MERGED_CHANNEL = sourceless(2, 'stdout');

function sourceless(target: number, channel: 'null' | 'pipe' | 'stdout'): DescriptorPlan {
  return Object.freeze({ target, channel, source: null, object: null });
}

/** What the kernel takes as the size of a pipe: fs.pipe-max-size is below it. */
const LARGEST_PIPE = 2 ** 31 - 1;

/** @throws {SallyportTypeError} */
export function takePipeSize(value: unknown, table: readonly TableEntry[]): number | null {
  if (value === undefined) return null;
  const isSize = typeof value === 'number' && Number.isInteger(value);
  if (!isSize || value < 1 || value > LARGEST_PIPE) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'pipeSize',
      `must be bytes from 1 to ${LARGEST_PIPE}`,
    );
  }
  if (table.some(({ channel }) => channel === 'pipe')) return value;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'pipeSize', 'no channel of stdio is a pipe');
}

/** @throws {SallyportTypeError | SallyportError} unless it is a number of the child's table */
export function requireForeground(
  foreground: unknown,
  session: string,
  table: readonly TableEntry[],
): number {
  const fd = requireNumber(foreground, 'foreground');
  if (session !== 'group') {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'foreground', "needs session: 'group'");
  }
  if (!table.some(({ target }) => target === fd)) {
    throw refused(
      'ERR_SALLYPORT_INVALID_DESCRIPTOR',
      `foreground: ${fd} is not a descriptor of the child; name one of stdio or pass`,
      { stage: 'plan', stagePath: 'foreground' },
    );
  }
  return fd;
}
