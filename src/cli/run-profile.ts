// `sallyport run --profile FILE`: reviewed, held at its exec, run, and reported.
import { planLaunch, run, shieldParent, type RunReport } from '../index.js';
import { formatLedger, ledger, readProfile } from '../review.js';
import { formatGates } from '../review/print.js';
import { toError } from '../run/report.js';
import { exitCodeOf, explainFailure, UsageError } from './failure.js';
import { printJson } from './json-output.js';
import { complain } from './output.js';
import { tellWarnings } from './plan-warnings.js';
import { askByProfile } from './profile-options.js';
import type { RunFlags } from './run-options.js';
import { complainLines, printLines } from './wrap.js';

/** What may stand beside --profile. Whatever else `run` may take is refused here, never dropped. */
const KNOWN: ReadonlySet<string> = new Set([
  'profile',
  'pass',
  'env',
  'cwd',
  'session',
  'allowNewPrivileges',
  'report',
  'explain',
  'json',
  'shield',
  'maskCredentials',
]);

const ABORTING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function refuseOthers(flags: RunFlags): void {
  if (flags.maskCredentials === false) {
    throw new UsageError(
      '--no-mask-credentials: there are none to mask: give --credentials FILE too',
    );
  }
  for (const [name, value] of Object.entries(flags) as Array<[string, unknown]>) {
    if (KNOWN.has(name) || value === undefined) continue;
    const option = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new UsageError(
      `--${option}: not with --profile, which says what is approved of it: leave it out, or write it into the profile`,
    );
  }
}

/** @returns the exit code of the program; 125 where nothing was started */
export async function runByProfile(
  path: string,
  file: string | undefined,
  args: readonly string[],
  flags: RunFlags,
): Promise<number> {
  refuseOthers(flags);
  const profile = readProfile(path);
  const asked = askByProfile(profile, file, args, flags);
  if (flags.explain === true) {
    const made = ledger(planLaunch(asked.file, asked.args, asked.options), { approved: profile });
    if (flags.json === true) printJson('ledger', made);
    else printLines(formatLedger(made));
    return 0;
  }
  const { shield = true } = flags as RunFlags & { readonly shield?: boolean };
  if (shield) shieldParent();
  const stdio = asked.options.stdio as readonly unknown[];
  const running = run(asked.file, asked.args, {
    ...asked.options,
    profile,
    // Of a pipe of ours the program reads what we are given.
    ...(stdio[0] === 'pipe' ? { input: process.stdin } : {}),
    output: {
      ...(stdio[1] === 'pipe' ? { stdout: { to: process.stdout } } : {}),
      ...(stdio[2] === 'pipe' ? { stderr: { to: process.stderr } } : {}),
      ...(stdio[2] === 'stdout' ? { merge: true } : {}),
    },
    ...(flags.report === undefined ? {} : { record: flags.report }),
  });
  const abort = (): void => {
    running.abort();
  };
  for (const signal of ABORTING) process.on(signal, abort);
  try {
    return conclude(await running);
  } finally {
    for (const signal of ABORTING) process.off(signal, abort);
  }
}

function conclude({ plan, outcome, admission }: RunReport): number {
  if (plan !== null) tellWarnings(plan);
  const { error, kind, code, signal } = outcome;
  if (error !== undefined) {
    const { sentence, exitCode } = explainFailure(toError(error));
    complain(sentence);
    if (admission.decision === 'hold' || admission.decision === 'reject') {
      complainLines(`${formatGates(admission.gates).join('\n')}\n`);
    }
    return exitCode;
  }
  if (kind !== 'exited' && kind !== 'signaled') complain(`run: it was ended: ${kind}`);
  return exitCodeOf(code, signal);
}
