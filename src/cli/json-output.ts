// What the command line prints as JSON, and what --report writes: the types that schema/ is made of.
import { cleanJson } from '../clean-text.js';
import type { LeakRecord } from '../compat/report.js';
import type { CredentialReport } from '../credentials.js';
import type { PreviewedGrant } from '../credentials/preview.js';
import type {
  ChannelReport,
  DescriptorChange,
  DescriptorRecord,
  EnvironmentDescription,
  GapReport,
  HolderReport,
  ListenerReport,
  Outcome,
  PlanDescription,
  PortExplanation,
  ProcessAudit,
  ReleasedListener,
  RunReport,
} from '../index.js';
import type { Decision, Gate, GateName, Ledger, Review } from '../review.js';
import type { ChainCheck, Link } from '../run/chain.js';
import type { CommandModel } from './command-model.js';
import { print } from './output.js';

/** By the name of the schema: schema/<name>.v1.json. */
export interface Outputs {
  /** `sallyport run --explain --json`: a launch plan, without a value of a variable or argument. */
  plan: ExplainedPlan;
  /** `sallyport run --profile FILE --explain --json`: everything that would cross into the child. */
  ledger: Ledger;
  /** A line of the file that `sallyport run --report FILE` or the option `record` writes; `sallyport report --json FILE`. */
  'run-record': RunRecord;
  /** `sallyport report --json FILE OTHER`: what differs between two records. */
  'record-differences': readonly RecordDifference[];
  /** `sallyport report --verify --json FILE`: whether a chain of records is whole. */
  'record-chain': ChainCheck;
  /** `sallyport audit --json PID`: what processes have open. */
  audit: AuditOutput;
  /** A line of `sallyport audit --watch --json PID`: what appeared, vanished or changed. */
  'audit-change': DescriptorChange;
  /** `sallyport leaks --json`: what the next plain child of a process would be handed. */
  leaks: LeaksOutput;
  /** `sallyport leaks --json -- COMMAND`: what plain spawns would have handed over. */
  'leaks-of-program': LeaksOfProgramOutput;
  /** `sallyport listeners --json`: who listens, and why a bind to a port fails. */
  listeners: ListenersOutput;
  /** `sallyport listeners PORT --release --json`: what was shut down. */
  'released-listeners': ReleasedOutput;
  /** `sallyport holders --json`: who has a path or a port open. */
  holders: HoldersOutput;
  /** `sallyport env --json`: what would be inherited, and what a run receives. */
  env: EnvOutput;
  /** `sallyport gaps --json`: what a run could reach. */
  gaps: GapReport;
  /** `sallyport review --json`: a launch beside a profile, gate by gate. */
  review: Review;
  /** `sallyport review --cards --json`: eight cards, each with one condition changed. */
  'review-cards': readonly PlayedCard[];
  /** `sallyport completion json`: the commands and options of sallyport. */
  commands: CommandsOutput;
}

/** A channel as a record has it: without what was kept. */
export type RecordedChannel = Omit<ChannelReport, 'data' | 'text'>;

export interface RunRecord extends Omit<RunReport, 'outcome' | 'output'> {
  /** How it ended, and why. */
  readonly outcome: Outcome;
  readonly output: { readonly stdout: RecordedChannel; readonly stderr: RecordedChannel };
  /** Of a run with credentials. */
  readonly credentials?: CredentialReport;
  readonly chain: Link;
}

export interface ExplainedPlan extends PlanDescription {
  /** What would be made for the run, and how it would be handed over; absent without credentials. */
  readonly credentials?: readonly PreviewedGrant[];
}

export interface RecordDifference {
  /** `outcome.code`. */
  readonly path: string;
  /** Absent where the first record has no such member. */
  readonly before?: unknown;
  /** Absent where the second record has no such member. */
  readonly after?: unknown;
}

export interface AuditOutput {
  readonly version: 1;
  readonly processes: readonly ProcessAudit[];
}

export interface LeaksOutput {
  readonly version: 1;
  readonly pid: number;
  /** Clock ticks after boot: with `pid` it names one process for ever. */
  readonly startTime: number;
  /** At most 15 bytes, and whatever the process chose. */
  readonly command: string;
  /** Why it could not be read, or not wholly; null: it was. */
  readonly unreadable: string | null;
  readonly leaks: readonly DescriptorRecord[];
}

export interface LeaksOfProgramOutput {
  readonly version: 1;
  /** As it was written. */
  readonly program: string;
  readonly code: number | null;
  readonly signal: string | null;
  readonly children: readonly LeakRecord[];
}

export interface ListenersOutput extends ListenerReport {
  readonly version: 1;
  /** Null without a port. */
  readonly explanation: PortExplanation | null;
}

export interface ReleasedOutput {
  readonly version: 1;
  readonly released: readonly ReleasedListener[];
}

export interface HoldersOutput {
  readonly version: 1;
  readonly holders: readonly HolderOutput[];
  readonly unreadable: HolderReport['unreadable'];
}

export interface HolderOutput {
  readonly pid: number;
  /** Its number there. */
  readonly fd: number;
  /** At most 15 bytes, and whatever the process chose. */
  readonly command: string;
  /** The effective one; null where it is not readable. */
  readonly uid: number | null;
  /** Clock ticks after boot. */
  readonly startTime: number;
  readonly record: DescriptorRecord;
}

export interface EnvOutput extends EnvironmentDescription {
  /** Absolute path of what the run would start; null without a command. */
  readonly program: string | null;
}

export interface PlayedCard {
  readonly id: string;
  /** What was changed. */
  readonly condition: string;
  readonly decision: Decision;
  /** The gate that answers for it. */
  readonly gate: GateName;
  /** Whether it was decided as the card says. */
  readonly asExpected: boolean;
  readonly gates: readonly Gate[];
}

export interface CommandsOutput {
  readonly version: 1;
  readonly program: CommandModel;
}

/** @param name of its schema: a value of another type is no value of that schema */
export function printJson<Name extends keyof Outputs>(name: Name, value: Outputs[Name]): void {
  // One a line where there are more to come.
  const space = name === 'audit-change' ? 0 : 2;
  print(`${cleanJson(value, space)}\n`);
}
