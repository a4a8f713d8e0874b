// The options of `sallyport run` that make a supervised run of it, and which of them need pipes.
import type { Session } from '../plan/session.js';
import type { RunOptions } from '../run/options.js';
import { UsageError } from './failure.js';
import { parseSize, parseTime } from './quantities.js';
import type { RunFlags } from './run-options.js';

/** What is asked for beyond a plain launch. */
export interface Supervision {
  /** ms */
  readonly deadline: number | undefined;
  readonly stall: number | undefined;
  readonly grace: number | undefined;
  readonly drain: number | undefined;
  /** Bytes of each channel. */
  readonly maxOutput: number | undefined;
  readonly report: string | undefined;
  readonly status: boolean;
  readonly quiet: boolean;
  /** The options for which stdout and stderr must be seen, so that they are pipes. */
  readonly pipedFor: readonly string[];
}

/** @returns null: a plain launch */
export function parseSupervision(flags: RunFlags): Supervision | null {
  const time = (name: 'deadline' | 'stall' | 'grace' | 'drain', lowest: 0 | 1) =>
    flags[name] === undefined ? undefined : parseTime(flags[name], `--${name}`, lowest);
  const { maxOutput, report, status, quiet, credentials } = flags;
  if (flags.maskCredentials === false && credentials === undefined) {
    throw new UsageError(
      '--no-mask-credentials: there are none to mask: give --credentials FILE too',
    );
  }
  const piped = [
    maxOutput === undefined ? [] : ['--max-output'],
    report === undefined ? [] : ['--report'],
    flags.stall === undefined ? [] : ['--stall'],
    status === true ? ['--status'] : [],
    credentials === undefined || flags.maskCredentials === false ? [] : ['--credentials'],
  ].flat();
  const supervision = {
    deadline: time('deadline', 1),
    stall: time('stall', 1),
    grace: time('grace', 0),
    drain: time('drain', 0),
    maxOutput: maxOutput === undefined ? undefined : parseSize(maxOutput, '--max-output'),
    report,
    status: status === true,
    quiet: quiet === true,
    pipedFor: piped,
  };
  const { deadline, grace, drain } = supervision;
  const isWanted =
    credentials !== undefined ||
    piped.length > 0 ||
    [deadline, grace, drain].some((each) => each !== undefined);
  return isWanted ? supervision : null;
}

export function channelsFor(supervision: Supervision | null): RunOptions['stdio'] {
  return supervision === null || supervision.pipedFor.length === 0
    ? 'inherit'
    : ['inherit', 'pipe', 'pipe'];
}

/**
 * On a terminal with job control a session and process group: whether a program is stopped is told to
 * its parent alone, and below an init that would not be us.
 */
export function containmentFor(session: Session, isOnTerminal: boolean): 'init' | 'group' {
  return isOnTerminal && session === 'group' ? 'group' : 'init';
}

/** What `run` takes for it. */
export function supervisedOptions({
  deadline,
  stall,
  grace,
  drain,
  report,
}: Supervision): RunOptions {
  return {
    ...(deadline === undefined ? {} : { deadline }),
    ...(stall === undefined ? {} : { stall }),
    ...(grace === undefined ? {} : { grace }),
    ...(drain === undefined ? {} : { drain }),
    ...(report === undefined ? {} : { record: report }),
  };
}
