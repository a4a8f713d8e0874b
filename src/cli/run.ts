// `sallyport run`: starts one program with exactly what is named, and ends as it ended.
import {
  describePlan,
  planLaunch,
  shieldParent,
  spawn,
  type Child,
  type Environment,
  type LaunchPlan,
  type SallyportError,
  type SpawnOptions,
} from '../index.js';
import { listAbsent } from '../environment/absent.js';
import type { UserIds } from '../launch/accounts.js';
import { native } from '../native.js';
import { tellAbsent } from './absent-names.js';
import type * as Loaded from './credentials-options.js';
import type { Credentials } from './credentials-options.js';
import {
  buildEnvironment,
  enterWorkspace,
  leaveWorkspace,
  randomRunId,
} from './environment-options.js';
import { exitCodeOf, UsageError } from './failure.js';
import { formatLedger, ledger } from '../review.js';
import type { Job } from './job.js';
import { printJson } from './json-output.js';
import { findOwner } from './owner.js';
import { complain, print } from './output.js';
import { tellWarnings } from './plan-warnings.js';
import { prepareJob } from './prepare-job.js';
import { parseLimits, parseUser } from './quantities.js';
import { parsePass, parseSession, type RunFlags } from './run-options.js';
import { runSupervised } from './supervised-run.js';
import { channelsFor, containmentFor, parseSupervision } from './supervision.js';
import { findTerminal } from './terminal.js';
import { printLines } from './wrap.js';

/** @returns the exit code, where this process is still there to have one */
export async function run(
  file: string | undefined,
  args: readonly string[],
  flags: RunFlags,
): Promise<number> {
  if (file === undefined) {
    throw new UsageError("no command given: write 'sallyport run [options] command [args…]'");
  }
  if (file === '') throw new UsageError('run: the command is empty: write its name or path');
  if (flags.json === true && flags.explain !== true) {
    throw new UsageError('--json: nothing to print: write --explain --json');
  }
  // Before anything else opens descriptors of its own.
  const pass = parsePass(flags.pass);
  const supervision = parseSupervision(flags);
  const runId = flags.runId ?? (flags.credentials === undefined ? undefined : randomRunId());
  const env = buildEnvironment(runId === undefined ? flags : { ...flags, runId });
  const owner = await findOwner(flags);
  const credentials = await findCredentials(flags, env, owner);
  const limits = parseLimits(flags.limit);
  const user = parseUser(flags.user);
  // With a workspace a new session, so that the whole tree can be ended later.
  const session =
    parseSession(flags.session) ?? (flags.workspace === undefined ? undefined : 'new');
  const terminal = findTerminal();
  const job = prepareJob(session, terminal);
  const stdio = channelsFor(supervision);
  const options: SpawnOptions = {
    ...(stdio === undefined ? {} : { stdio }),
    pass,
    env,
    session: job.session,
    noNewPrivileges: flags.allowNewPrivileges !== true,
    ...(flags.cwd === undefined ? {} : { cwd: flags.cwd }),
    ...(limits === undefined ? {} : { limits }),
    ...(user === undefined ? {} : { user }),
    ...(job.foreground === undefined ? {} : { foreground: job.foreground }),
  };
  if (flags.explain === true) {
    const planned = credentials === null ? options : { ...options, env: credentials.previewed };
    explain(planLaunch(file, args, planned), flags, credentials);
    return 0;
  }
  // What a program under our uid could take from /proc/<our pid> is ours, and was not named.
  if (flags.shield !== false) shieldParent();
  const prepared = enterWorkspace(flags, owner);
  const leave = (): Promise<void> => leaveWorkspace(flags, prepared);
  if (supervision === null) {
    return await start({ job, file, args, options, leave, quiet: flags.quiet === true });
  }
  const containment = containmentFor(job.session, terminal !== null);
  const call = {
    job,
    terminal,
    file,
    args,
    options: { ...options, containment },
    supervision,
    leave,
    ...(credentials === null ? {} : { makeBroker: credentials.makeBroker }),
    masks: flags.maskCredentials !== false,
  };
  return native().exitNow(await runSupervised(call));
}

/** Before anything is made: what is wrong in the file costs nothing. */
async function findCredentials(
  flags: RunFlags,
  env: Environment,
  owner: UserIds | undefined,
): Promise<Credentials | null> {
  const { credentials: path, workspace } = flags;
  if (path === undefined) return null;
  // Only now: most runs have none. By import() it would take longer.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { readCredentials } = require('./credentials-options.js') as typeof Loaded;
  const { runId } = env.record;
  const home = workspace === undefined ? undefined : env.variables['HOME'];
  return await readCredentials({ path, runId: runId ?? '', home, owner, env });
}

function explain(plan: LaunchPlan, flags: RunFlags, credentials: Credentials | null): void {
  if (flags.json === true) {
    const described = describePlan(plan);
    const grants = credentials?.preview.grants;
    const whole = grants === undefined ? described : { ...described, credentials: grants };
    printJson('plan', whole);
    return;
  }
  printLines(formatLedger(ledger(plan)));
  if (credentials !== null) print(credentials.formatted());
}

interface PlainCall {
  readonly job: Job;
  readonly file: string;
  readonly args: readonly string[];
  readonly options: SpawnOptions;
  readonly leave: () => Promise<void>;
  readonly quiet: boolean;
}

async function start({ job, file, args, options, leave, quiet }: PlainCall): Promise<number> {
  const begun = performance.now();
  let child: Child;
  try {
    child = startChild(job, file, args, options);
  } catch (error) {
    await leave();
    throw error;
  }
  tellWarnings(child.plan);
  job.watch(child);
  const status = await child.exited;
  await leave();
  if (!quiet) {
    const { code, signal } = status;
    const kind = signal === null ? 'exited' : 'signaled';
    const ended = { kind, code, durationMs: performance.now() - begun };
    tellAbsent(file, code, listAbsent(child.plan.environment, ended));
  }
  await job.end(status);
  if (status.lost)
    complain(`run: how ${file} ended is not known: something else in this process waited for it`);
  return native().exitNow(exitCodeOf(status.code, status.signal));
}

function startChild(job: Job, file: string, args: readonly string[], options: SpawnOptions): Child {
  try {
    return spawn(file, args, options);
  } catch (error) {
    job.abandon();
    const { stage, code } = error as Partial<SallyportError>;
    if (stage !== 'terminal' || code !== 'ENOSYS') throw error;
    // glibc before 2.35 cannot hand over the keyboard before exec: the job does it right after.
    const { foreground: _, ...rest } = options;
    return spawn(file, args, rest);
  }
}
