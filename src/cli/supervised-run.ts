// `sallyport run` with a deadline and its like: the program is watched over, and what is left is ended.
import { constants } from 'node:os';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { isatty } from 'node:tty';

import type { CredentialBroker, CredentialedReport } from '../credentials.js';
import type { ExitStatus, RunOptions, RunReport } from '../index.js';
import { MASK_IDLE } from '../run/channel.js';
import type { RunUnderWay } from '../run/handle.js';
import { native } from '../native.js';
import { toError } from '../run/report.js';
import { startRun } from '../run/run.js';
import { tellAbsent } from './absent-names.js';
import type * as Credentialed from './credentialed-run.js';
import { EndedBefore, EXIT, exitCodeOf } from './failure.js';
import type { Job } from './job.js';
import { complain } from './output.js';
import { PassOn } from './pass-on.js';
import { tellWarnings } from './plan-warnings.js';
import { StatusLine } from './status-line.js';
import { summarize } from './summary.js';
import { supervisedOptions, type Supervision } from './supervision.js';
import type { Terminal } from './terminal.js';

export interface SupervisedCall {
  readonly job: Job;
  readonly terminal: Terminal | null;
  readonly file: string;
  readonly args: readonly string[];
  /** Of the plan, with the containment. */
  readonly options: RunOptions;
  readonly supervision: Supervision;
  /** Puts away what was made for the program, once nothing of it is left. */
  readonly leave: () => Promise<void>;
  /** With --credentials. */
  readonly makeBroker?: () => CredentialBroker;
  /** Whether minted secrets are taken out of its output. */
  readonly masks: boolean;
}

/**
 * @returns the exit code
 * @throws {SallyportError} what the system refused
 */
export async function runSupervised(call: SupervisedCall): Promise<number> {
  const { job, file, supervision } = call;
  const { pipedFor, quiet } = supervision;
  if (!quiet && isWorthTelling(pipedFor)) {
    complain(
      `run: stdout and stderr of ${file} are pipes, for ${pipedFor.join(' and ')}: it sees no terminal there`,
    );
  }
  let report: RunReport | CredentialedReport;
  try {
    report = await watchOverAnyhow(call).finally(call.leave);
  } catch (error) {
    job.abandon();
    endByInterrupt(error);
    throw error;
  }
  const { error, kind } = report.outcome;
  if (error !== undefined) {
    job.abandon();
    throw toError(error);
  }
  const summary = summarize(report, supervision);
  if (summary !== '' && !quiet) complain(`run: ${file}: ${summary}`);
  if (!quiet) tellAbsent(file, report.outcome.code, report.inheritance.absentNames);
  if ('credentials' in report && !quiet) credentialed().tellCredentials(file, report);
  const status = toStatus(report);
  await job.end(status);
  return kind === 'exited' || kind === 'signaled'
    ? exitCodeOf(status.code, status.signal)
    : EXIT.failed;
}

/** A script that waits for us goes on where we end by ^C with a code: by the signal, as without us. */
function endByInterrupt(error: unknown): void {
  if (!(error instanceof EndedBefore) || error.signal !== 'SIGINT') return;
  complain(error.message);
  native().raiseDefault(constants.signals.SIGINT, false);
}

/** Without a terminal a pipe that only masks takes nothing from the program. */
function isWorthTelling(pipedFor: readonly string[]): boolean {
  const isForMask = pipedFor.every((option) => option === '--credentials');
  return pipedFor.length > 0 && (!isForMask || isatty(1) || isatty(2));
}

/** Most runs have none. By import() it would take longer. */
function credentialed(): typeof Credentialed {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  return require('./credentialed-run.js') as typeof Credentialed;
}

async function watchOverAnyhow(call: SupervisedCall): Promise<RunReport | CredentialedReport> {
  const report = await watchOver(call);
  const { error } = report.outcome;
  if (error?.stage !== 'terminal' || error.code !== 'ENOSYS') return report;
  // glibc before 2.35 cannot hand over the keyboard before exec: the job does it right after.
  call.job.abandon();
  const { foreground: _, ...options } = call.options;
  return watchOver({ ...call, options });
}

async function watchOver({
  job,
  terminal,
  file,
  args,
  options,
  supervision,
  makeBroker,
  masks,
}: SupervisedCall): Promise<RunReport | CredentialedReport> {
  let running: RunUnderWay | undefined;
  let status: StatusLine | null = null;
  const passOn = (fd: 1 | 2): PassOn => {
    const isTerminal = isatty(fd);
    return new PassOn(fd, supervision.maxOutput ?? Infinity, {
      onWrite: (chunk) => status?.makeWay(chunk, isTerminal),
      onExceeded: () => running?.end('output-limit'),
    }).once('error', () => {
      // As if the program had our reader itself: its next write is SIGPIPE.
      const channel = fd === 1 ? running?.stdout : running?.stderr;
      channel?.stop('cut');
    });
  };
  // Nothing is kept here: all of it is passed on.
  const output = { maxBytes: 0, onExceed: 'truncate-and-continue' } as const;
  const piped = supervision.pipedFor.length > 0;
  const whole: RunOptions = {
    ...options,
    ...supervisedOptions(supervision),
    ...(piped
      ? { output: { ...output, stdout: { to: passOn(1) }, stderr: { to: passOn(2) } } }
      : {}),
  };
  const look = (begun: RunUnderWay): void => {
    running = begun;
    tellWarnings(begun.child.plan);
    if (piped) job.passedOn = passedOn;
    job.watch(begun.child);
    if (supervision.status) status = StatusLine.open(begun, terminal);
    job.beforeStop = () => status?.hide();
  };
  try {
    if (makeBroker === undefined) return await startRun(file, args, whole, look);
    const { runCredentialed } = credentialed();
    // Minting took its time: the job may have been stopped, and gone on without the keyboard.
    const amend = ({ foreground, ...others }: RunOptions): RunOptions =>
      job.foreground === undefined || foreground === undefined ? others : { ...others, foreground };
    const broker = makeBroker();
    return await runCredentialed({ broker, masks, file, args, options: whole, look, amend });
  } finally {
    (status as StatusLine | null)?.close();
  }
}

async function passedOn(): Promise<void> {
  // What is in a pipe is read in one turn of the event loop or the next.
  await setImmediate();
  await setImmediate();
  // A mask holds back what might be the beginning of a secret.
  await setTimeout(MASK_IDLE + 10);
}

function toStatus({ outcome }: RunReport): ExitStatus {
  const { code, signal, coreDumped, resourceUsage } = outcome;
  return {
    code,
    signal: signal as ExitStatus['signal'],
    coreDumped,
    lost: outcome.kind === 'lost',
    resourceUsage: resourceUsage ?? NO_USAGE,
  };
}

const NO_USAGE: ExitStatus['resourceUsage'] = {
  userCPUTime: 0,
  systemCPUTime: 0,
  maxRSS: 0,
  minorPageFault: 0,
  majorPageFault: 0,
  fsRead: 0,
  fsWrite: 0,
  voluntaryContextSwitches: 0,
  involuntaryContextSwitches: 0,
};
