// The report of a run: separate facts, each with what it rests on, never merged into one "ok".
import { SallyportError, type Difference, type Stage, type StageSource } from '../errors.js';
import type { SeenDescriptor } from '../launch/evidence.js';
import type { ExitStatus, ResourceUsage } from '../launch/outcomes.js';
import { phraseCount } from '../phrase-count.js';
import { describePlan, type PlanDescription } from '../plan/describe.js';
import type { DescriptorPlan } from '../plan/descriptors.js';
import type { LaunchPlan } from '../plan/plan.js';
import type { Gate } from '../review/gate.js';
import type { Review } from '../review/review.js';
import type { ContainmentMethod, Method, SentSignal, Survivor, TreeEnd } from './containment.js';
import type { Ending, EndingKind } from './ending.js';
import type { PipeHolder } from './holders.js';
import { describeInheritance, listUnverified } from './inheritance.js';
import type { StallEvidence } from './stall.js';
import type { CgroupPeak } from './run-cgroup.js';

/** Whether the plan was reviewed, and what that came to. */
export interface Admission {
  /** `'unreviewed'` without a profile; else the decision. */
  readonly decision: 'unreviewed' | 'accept' | 'hold' | 'reject';
  /** Empty without a profile. */
  readonly gates: readonly Gate[];
  /** '' where the launch failed before there was a plan. */
  readonly planDigest: string;
}

/** What the program was given, and how that is known. */
export interface Inheritance {
  /** `'at-exec'`, `'after-exec'`, or `'not-verified'`: nobody looked. */
  readonly verified: 'at-exec' | 'after-exec' | 'not-verified';
  /** The table as it was planned. */
  readonly descriptors: readonly DescriptorPlan[];
  /** As the program held it at its exec, or later; null where nobody looked. */
  readonly seen: readonly SeenDescriptor[] | null;
  /** What was seen beyond the plan. Of a look `after-exec` it may be the program's own. */
  readonly unexpected: readonly SeenDescriptor[];
  /** In what the child differed from the plan. `at-exec`: then it was ended, and never ran. */
  readonly differences: readonly Difference[];
  /** What the verification rests on, and what it does not show. */
  readonly statement: string;
  /** The names of its variables. */
  readonly environmentNames: readonly string[];
  /** Where the program failed early: names that programs commonly need, and that it did not have. */
  readonly absentNames: readonly string[];
}

/** What the system refused: the fields of the error, and its message. */
export interface RunError {
  /** The whole message. */
  readonly message: string;
  /** The errno's name, or `ERR_SALLYPORT_…`. */
  readonly code: string;
  /** The errno, negative as in Node. */
  readonly errno?: number;
  /** `spawn git`. */
  readonly syscall?: string;
  /** The program as it was named. */
  readonly path?: string;
  /** The step that failed. */
  readonly stage: Stage;
  /** What it failed on. */
  readonly stagePath?: string;
  /** How that is known. */
  readonly stageSource?: StageSource;
}

/** How a run ended, and why. */
export interface Outcome {
  /** Which end. */
  readonly kind: 'exited' | 'signaled' | EndingKind | 'spawn-failed' | 'lost';
  /** Exit status of the target, whatever ended the run; null where there is none. */
  readonly code: number | null;
  /** The signal that ended it, or null. */
  readonly signal: string | null;
  /** Whether it left a core. */
  readonly coreDumped: boolean;
  /** ISO 8601. */
  readonly startedAt: string;
  /** From the call to the end of the target, in milliseconds of the monotonic clock. */
  readonly durationMs: number;
  /** Of the target and the children that it waited for; null where there was none. */
  readonly resourceUsage: ResourceUsage | null;
  /** Of all processes of the run, where the containment can tell. */
  readonly treeUsage: ResourceUsage | null;
  /** With containment `cgroup`. */
  readonly peak?: CgroupPeak;
  /** With `spawn-failed`. */
  readonly error?: RunError;
  /** With `stalled`. */
  readonly stall?: StallEvidence;
}

/** What each kind brings along: where `kind` is known, the compiler knows the rest. */
type OutcomeByKind =
  | { readonly kind: 'exited'; readonly code: number; readonly signal: null }
  | { readonly kind: 'signaled'; readonly code: null; readonly signal: string }
  | { readonly kind: 'spawn-failed'; readonly error: RunError }
  | { readonly kind: 'stalled'; readonly stall: StallEvidence }
  | { readonly kind: Exclude<EndingKind, 'stalled'> | 'lost' };

/** One channel of output. */
export interface ChannelReport {
  /** What was kept. Not enumerable. */
  readonly data: Buffer;
  /** The same as UTF-8, decoded when it is asked for. Not enumerable. */
  readonly text: string;
  /** False where the channel was no pipe of the run: nothing of it was seen. */
  readonly observed: boolean;
  /** Offset in `data` at which bytes are missing, and how many. */
  readonly omitted: { readonly at: number; readonly bytes: number } | null;
  /** How much there was, in bytes. */
  readonly bytesSeen: number;
  /** How much of it is in `data`, in bytes. */
  readonly bytesKept: number;
  /** Hexadecimal, of all bytes seen; '' where the hashing thread failed. */
  readonly sha256: string;
  /** How reading it ended. */
  readonly end: 'eof' | 'truncated' | 'cut' | 'held';
  /** With `held`: who has the pipe open. */
  readonly heldBy: readonly PipeHolder[];
  /** Whether `to` got all of what was seen; false where there is none. */
  readonly delivered: boolean;
  /** Why `to` did not get everything, or null. */
  readonly deliveryError: string | null;
}

/** What the stdin of a run took. */
export interface InputReport {
  /** What the pipe took, counted in pieces of 64 KiB. */
  readonly bytesWritten: number;
  /** The target read no further. */
  readonly error: 'EPIPE' | null;
  /** Why the given stream or file ended early, or null. */
  readonly sourceError: string | null;
}

/** How a run was ended, and what is left. */
export interface Cleanup {
  /** How the run was held together. */
  readonly method: ContainmentMethod;
  /** What the method sees to, in words. */
  readonly guarantee: string;
  /** What was sent; empty where nothing was left to end. */
  readonly signalled: readonly SentSignal[];
  /** Must be empty. */
  readonly survivors: readonly Survivor[];
  /** Pids that were released. */
  readonly released: readonly number[];
}

/** What `run` gives: separate facts, never merged into one. */
export interface RunReport {
  /** Version of this record. */
  readonly version: 1;
  /** The plan without any value; null where the launch failed before there was one. */
  readonly plan: PlanDescription | null;
  /** Whether the plan was reviewed. */
  readonly admission: Admission;
  /** What the program was given. */
  readonly inheritance: Inheritance;
  /** How it ended, and why. */
  readonly outcome: Outcome & OutcomeByKind;
  /** `stdout` and `stderr`. */
  readonly output: { readonly stdout: ChannelReport; readonly stderr: ChannelReport };
  /** What its stdin took. */
  readonly input: InputReport;
  /** How the run was ended, and what is left. */
  readonly cleanup: Cleanup;
  /** `'not assessed'`: that a program was run says nothing about whether it may. */
  readonly authorization: 'not assessed';
  /** What nobody looked at, in words. */
  readonly notTested: readonly string[];
  /** Only where every part is. */
  readonly complete: boolean;
}

/** Everything that was found out about one run. */
export interface Findings {
  readonly startedAt: string;
  readonly durationMs: number;
  readonly plan: LaunchPlan | null;
  /** Of the plan, where that has been done. */
  readonly description?: PlanDescription;
  readonly admission: Admitting | null;
  readonly error: SallyportError | null;
  readonly status: ExitStatus | null;
  readonly ending: Pick<Ending, 'kind' | 'stall'>;
  readonly output: RunReport['output'];
  readonly input: InputReport;
  readonly method: Method;
  readonly end: TreeEnd;
  readonly unreadableHolders: number;
}

/** By whom a run was reviewed. */
interface Admitting {
  readonly review: Review | null;
}

function describeAdmission({ admission }: Findings, digest: string): Admission {
  const review = admission?.review ?? null;
  if (review === null) return { decision: 'unreviewed', gates: [], planDigest: digest };
  return { decision: review.decision, gates: review.gates, planDigest: review.planDigest };
}

export function assembleReport(found: Findings): RunReport {
  const { plan, method, end, output, input } = found;
  const description = found.description ?? (plan === null ? null : describePlan(plan));
  const outcome = assembleOutcome(found);
  const complete =
    (outcome.kind === 'exited' || outcome.kind === 'signaled') &&
    isComplete(output.stdout) &&
    isComplete(output.stderr) &&
    input.error === null &&
    input.sourceError === null &&
    end.survivors.length === 0 &&
    !end.lost;
  return {
    version: 1,
    plan: description,
    admission: describeAdmission(found, description?.digest ?? ''),
    inheritance: describeInheritance(found, outcome),
    outcome,
    output,
    input,
    cleanup: {
      method: method.name,
      guarantee: (end.lost ? method.whenLost?.guarantee : undefined) ?? method.guarantee,
      signalled: end.signalled,
      survivors: end.survivors,
      released: end.released,
    },
    authorization: 'not assessed',
    notTested: listNotTested(found),
    complete,
  };
}

function assembleOutcome(found: Findings): RunReport['outcome'] {
  const { status, ending, error, startedAt, durationMs, end } = found;
  return {
    kind: nameOutcome(found),
    code: status?.code ?? null,
    signal: status?.signal ?? null,
    coreDumped: status?.coreDumped ?? false,
    startedAt,
    durationMs,
    resourceUsage: status?.resourceUsage ?? null,
    treeUsage: end.treeUsage,
    ...(end.peak === undefined ? {} : { peak: end.peak }),
    ...(error === null ? {} : { error: describeError(error) }),
    ...(ending.stall === undefined ? {} : { stall: ending.stall }),
    // By the kind that `nameOutcome` says.
  } as RunReport['outcome'];
}

function nameOutcome({ status, ending, error, end }: Findings): Outcome['kind'] {
  if (error !== null) return 'spawn-failed';
  if (end.lost) return 'lost';
  if (ending.kind !== undefined) return ending.kind;
  if (status === null || status.lost) return 'lost';
  return status.signal === null ? 'exited' : 'signaled';
}

function describeError(error: SallyportError): RunError {
  const { message, code, errno, syscall, path, stage, stagePath, stageSource } = error;
  return {
    message,
    code,
    stage,
    ...(errno === undefined ? {} : { errno }),
    ...(syscall === undefined ? {} : { syscall }),
    ...(path === undefined ? {} : { path }),
    ...(stagePath === undefined ? {} : { stagePath }),
    ...(stageSource === undefined ? {} : { stageSource }),
  };
}

/** What `launch` would have thrown. */
export function toError({ message, ...fields }: RunError): SallyportError {
  return new SallyportError(message, fields);
}

/** All of it arrived, and was kept or delivered. */
function isComplete({ end, delivered, deliveryError }: ChannelReport): boolean {
  return deliveryError === null && (end === 'eof' || (end === 'truncated' && delivered));
}

function listNotTested(found: Findings): string[] {
  const { plan, method, end, output, unreadableHolders, admission } = found;
  const unseen = (['stdout', 'stderr'] as const).filter((name, index) => {
    const { channel, source } = plan?.descriptors[index + 1] ?? {};
    const isMerged = index === 1 && source === plan?.descriptors[1]?.source;
    if (isMerged && output.stdout.observed) return false;
    return !output[name].observed && (channel === 'inherit' || channel === 'descriptor');
  });
  return [
    ...((admission?.review ?? null) === null
      ? ['admission: no profile was compared with the plan']
      : (admission?.review?.notTested ?? []).map((each) => `admission: ${each}`)),
    ...listUnverified(plan),
    ...unseen.map((name) => `output: ${name} was not a pipe of the run`),
    ...(unreadableHolders === 0
      ? []
      : [
          `output: ${phraseCount(unreadableHolders, 'process', 'processes')} whose descriptors may not be read may hold it`,
        ]),
    ...method.notTested,
    ...(end.lost ? (method.whenLost?.notTested ?? []) : []),
    'effects: what the program read, wrote and reached while it ran',
  ];
}
