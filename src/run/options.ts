// What the caller may write for a run, and the plan's options that come of it.
import { Readable } from 'node:stream';

import { invalid } from '../errors.js';
import { isRecord, takeOwn, typeName } from '../own-properties.js';
import { INSTEAD, PLAN_OPTION_NAMES, type PlanOptions, type RawOptions } from '../plan/options.js';
import type { Profile } from '../review/profile.js';
import { Admission, takeProfile } from './admission.js';
import {
  chooseContainment,
  type ContainmentMethod,
  type ContainmentWish,
  type Method,
} from './containment.js';
import { takeOutput, type OutputOptions, type OutputWish } from './output-options.js';
import { toPath } from './path-option.js';

/** What the target reads from its stdin: these bytes, this stream, or a file. */
export type RunInput = string | Uint8Array | Readable | { readonly file: string | URL };

/** Without a URL. */
export type InputWish = Exclude<RunInput, { file: unknown }> | { readonly file: string };

/** What `run` takes: what the child gets, and how it is supervised. */
export interface RunOptions extends PlanOptions {
  /** Milliseconds from the call, by the monotonic clock, after which the run is ended. */
  deadline?: number | undefined;
  /** Milliseconds without output and without progress after which the run is ended. */
  stall?: number | undefined;
  /** Ends the run. */
  signal?: AbortSignal | undefined;
  /** Milliseconds between SIGTERM and SIGKILL. Default 2000. */
  grace?: number | undefined;
  /** Milliseconds that are waited after the target's exit for pipes that others hold. Default 500. */
  drain?: number | undefined;
  /** What is kept of stdout and stderr, and where else it goes. */
  output?: OutputOptions | undefined;
  /** What the target's stdin is fed with. Default nothing: `/dev/null`. */
  input?: RunInput | undefined;
  /** How the run is held together. Default `init`. */
  containment?: ContainmentWish | undefined;
  /**
   * What was approved, or the path of a JSON file that says it: the run is reviewed by it before it
   * starts, and compared with its plan at its exec. Where the review does not accept, nothing starts.
   */
  profile?: Profile | string | URL | undefined;
  /** A file to which the report is appended, as one line of JSON. */
  record?: string | URL | undefined;
}

const RUN_NAMES = [
  'deadline',
  'stall',
  'signal',
  'grace',
  'drain',
  'output',
  'input',
  'containment',
  'profile',
  'record',
] as const;

export const RUN_OPTION_NAMES = [...PLAN_OPTION_NAMES, ...RUN_NAMES] as const;

const INSTEAD_IN_RUN: ReadonlyMap<string, string> = new Map([
  ...INSTEAD,
  ['stdin', 'write input'],
  ['stdout', 'write output: { stdout }'],
  ['stderr', 'write output: { stderr }'],
  ['timeout', 'write deadline'],
  ['killSignal', 'a run is ended by SIGTERM, and by SIGKILL after grace'],
  ['maxBuffer', 'write output: { maxBytes }'],
  ['encoding', 'the report has the bytes as data, and as UTF-8 in text; leave it out'],
]);

/** The same, checked and complete. */
export interface RunWish {
  readonly plan: RawOptions;
  readonly deadline: number | undefined;
  readonly stall: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly grace: number;
  readonly drain: number;
  readonly output: OutputWish;
  readonly input: InputWish | undefined;
  readonly containment: Method;
  readonly record: string | undefined;
  readonly admission: Admission | null;
}

/** What a profile may bound. */
export interface RunLimits {
  readonly deadline: number | undefined;
  readonly stall: number | undefined;
  readonly outputBytes: number | undefined;
}

const GRACE = 2_000;
const DRAIN = 500;
/** What setTimeout can wait for. */
const LONGEST = 0x7fffffff;

/** @throws {SallyportTypeError | SallyportError} */
export function takeRunOptions(options: unknown): RunWish {
  const own = takeOwn(options, 'options', RUN_OPTION_NAMES, INSTEAD_IN_RUN);
  const profile = takeProfile(own.profile);
  const output = takeOutput(own.output, profile?.limits?.outputBytes);
  const input = takeInput(own.input);
  if (own.signal !== undefined && !(own.signal instanceof AbortSignal)) {
    throw wrong('signal', 'an AbortSignal');
  }
  const plan: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const name of PLAN_OPTION_NAMES) if (own[name] !== undefined) plan[name] = own[name];
  plan['stdio'] = takeStdio(own.stdio, input !== undefined, output);
  // What the call leaves open the profile says; what it says itself is reviewed.
  const deadline = own.deadline ?? profile?.limits?.deadline;
  const stall = own.stall ?? profile?.limits?.stall;
  const containment = chooseContainment(own.containment ?? preferred(profile));
  const limits = {
    deadline: deadline === undefined ? undefined : takeTime(deadline, 'deadline', 1),
    stall: stall === undefined ? undefined : takeTime(stall, 'stall', 1),
    outputBytes: Math.max(output.stdout.maxBytes, output.stderr.maxBytes),
  };
  return {
    plan,
    deadline: limits.deadline,
    stall: limits.stall,
    admission: profile === undefined ? null : new Admission(profile, containment.name, limits),
    signal: own.signal,
    grace: takeTime(own.grace ?? GRACE, 'grace', 0),
    drain: takeTime(own.drain ?? DRAIN, 'drain', 0),
    output,
    input,
    containment,
    record: own.record === undefined ? undefined : takePath(own.record, 'record'),
  };
}

function preferred(profile: Profile | undefined): ContainmentWish | undefined {
  const methods = profile?.launch.containment;
  return methods === undefined ? undefined : { prefer: methods as ContainmentMethod[] };
}

function takeTime(value: unknown, option: string, lowest: number): number {
  if (typeof value === 'number' && value >= lowest && value <= LONGEST) return value;
  throw wrong(option, `milliseconds from ${lowest} to ${LONGEST}`);
}

function takePath(value: unknown, option: string): string {
  const path = toPath(value);
  if (path !== undefined) return path;
  throw wrong(option, 'a path or a file: URL');
}

function takeInput(value: unknown): InputWish | undefined {
  if (value === undefined || typeof value === 'string') return value;
  if (value instanceof Uint8Array || value instanceof Readable) return value;
  // Of the web, of the package readable-stream, a generator: no stream of Node's own.
  const isIterable = typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
  if (isRecord(value) && !isIterable) {
    const { file } = takeOwn(value, 'input', ['file']);
    return { file: takePath(file, 'input.file') };
  }
  const advice = isIterable ? '; write Readable.from(it), of node:stream' : '';
  const instead = `a string, bytes, a readable stream or { file }, not ${typeName(value)}`;
  throw wrong('input', instead + advice);
}

/** @throws {SallyportTypeError} where stdio says something else than input and output do */
function takeStdio(stdio: unknown, hasInput: boolean, output: OutputWish): unknown {
  const { merge, stdout, stderr } = output;
  const isTold = hasInput || merge || stdout.via !== 'pipe' || stderr.via !== 'pipe';
  if (stdio !== undefined && !Array.isArray(stdio) && !isTold && stdio !== 'pipe') return stdio;
  const entries: unknown[] = Array.isArray(stdio)
    ? (stdio as unknown[]).slice()
    : [stdio, stdio, stdio];
  if (hasInput) {
    requirePipe(entries[0], 'stdio[0]', 'input');
    entries[0] = 'pipe';
  } else if (entries[0] === 'pipe') {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'stdio[0]',
      "is a pipe that nobody writes to: give input, or leave it 'null'",
    );
  }
  // The file itself stands there once it is open.
  if (stdout.via !== 'pipe') requirePipe(entries[1], 'stdio[1]', 'output.stdout.via');
  if (stderr.via !== 'pipe') requirePipe(entries[2], 'stdio[2]', 'output.stderr.via');
  if (merge) {
    requirePipe(entries[1], 'stdio[1]', 'output.merge');
    if (entries[2] !== 'stdout') requirePipe(entries[2], 'stdio[2]', 'output.merge');
    entries[2] = 'stdout';
  }
  return entries;
}

function requirePipe(entry: unknown, option: string, because: string): void {
  if (entry === undefined || entry === null || entry === 'pipe') return;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, `must be left out with ${because}`);
}

function wrong(option: string, instead: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, `must be ${instead}`);
}
