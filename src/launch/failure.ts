// Finds the step that failed when posix_spawn gave one errno for all of them. On the error path only.
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';

import {
  REBUILD,
  refused,
  systemError,
  type ErrorDetails,
  type SallyportError,
} from '../errors.js';
import { adviseLimit } from '../limits.js';
import type { NativeFailure } from '../native-binding.js';
import { native } from '../native.js';
import { findPathFault } from '../plan/executable.js';
import type { LaunchPlan } from '../plan/plan.js';
import { readInterpreter } from '../plan/interpreter.js';
import { describeStep, isStepStage } from './step-failure.js';
import { verifyError } from './verify-failure.js';

const {
  E2BIG,
  EACCES,
  EAGAIN,
  EBADF,
  EISDIR,
  EMFILE,
  ENFILE,
  ENOENT,
  ENOEXEC,
  ENOMEM,
  ENOSYS,
  ETXTBSY,
  EINVAL,
  EPERM,
  ENOTTY,
} = constants.errno;

/** MAX_ARG_STRLEN of the kernel: 32 pages for one string with its NUL, whatever ARG_MAX says. */
const LONGEST_STRING = 131_072;

type Fail = (step: string, advice: string, details: Partial<ErrorDetails>) => SallyportError;

export function launchError(plan: LaunchPlan, failure: NativeFailure): SallyportError {
  const fail: Fail = (step, advice, details) =>
    systemError(failure.errno, step, advice, {
      syscall: `spawn ${plan.file}`,
      path: plan.file,
      stage: failure.stage as ErrorDetails['stage'],
      stageSource: 'reported',
      ...details,
    });
  if (failure.stage === 'verify') return verifyError(plan, failure);
  if (failure.errno === EMFILE || failure.errno === ENFILE) {
    return fail('open', adviseLimit(failure.errno), {
      stage: 'descriptor',
      stageSource: failure.stage === 'descriptor' ? 'reported' : 'inferred',
    });
  }
  if (failure.stage === 'exec') return explainExec(plan, failure, fail);
  if (failure.stage === 'launcher' && failure.path !== '') return explainExec(plan, failure, fail);
  return explainStage(plan, failure, fail);
}

/** A step that has refused by its own name. */
function explainStage(plan: LaunchPlan, failure: NativeFailure, fail: Fail): SallyportError {
  const { errno } = failure;
  if (errno === ENOSYS && failure.stage === 'descriptor') return noExactClose();
  if (errno === ENOSYS && failure.stage === 'cwd') {
    return fail(
      'chdir',
      "neither this C library (glibc 2.29 can) nor a lane can change the child's directory",
      {
        stagePath: plan.cwd,
      },
    );
  }
  if (errno === ENOSYS && failure.stage === 'terminal') {
    return fail(
      'tcsetpgrp',
      'this C library cannot set the foreground group before exec (glibc 2.35 can)',
      {},
    );
  }
  if (errno === EBADF && failure.stage === 'descriptor') {
    const advice = `a descriptor at or above the soft RLIMIT_NOFILE (${native().descriptorLimit()}) is open or named, so the rest cannot be closed: raise the limit, or close it`;
    return fail('closefrom', advice, {});
  }
  if (failure.stage === 'process' && failure.path === 'queue') {
    return fail('queue', 'too many launches wait for a lane: await some before starting more', {});
  }
  if (isStepStage(failure.stage)) {
    const { call, advice, path } = describeStep(failure);
    return fail(call, advice, path === '' ? {} : { stagePath: path });
  }
  if (failure.stage === 'launcher') return fail('instruct the launcher', adviseLimit(errno), {});
  return fail(failure.stage, adviseLimit(errno), {});
}

/** posix_spawn of the program or of the launcher, or the exec that the launcher reports. */
function explainExec(plan: LaunchPlan, failure: NativeFailure, fail: Fail): SallyportError {
  const { errno } = failure;
  // The launcher stood in the child's directory already and says itself what exec refused.
  const isReported = plan.route.launcher && failure.stage === 'exec';
  const known = { stageSource: isReported ? 'reported' : 'inferred', stage: 'exec' } as const;
  if (errno === E2BIG)
    return fail('execve', biggestEntries(plan), { ...known, stagePath: plan.executable });
  if (errno === ETXTBSY && failure.stage === 'exec') {
    return fail('execve', 'somebody has it open for writing; tried again for 100 ms', {
      ...known,
      stagePath: plan.executable,
    });
  }
  if (!isReported) return inferStep(plan, failure, fail);
  const fault = findPathFault(plan.file, plan.executable, errno);
  if (fault !== null) return fault;
  const [advice, details] = execAdvice(plan, errno);
  return fail('execve', advice, { ...details, ...known });
}

/** posix_spawn gives one errno for all that it does: what would be refused now was refused then. */
function inferStep(
  plan: LaunchPlan,
  { stage, errno, path }: NativeFailure,
  fail: Fail,
): SallyportError {
  const inferred = { stageSource: 'inferred' } as const;
  if (errno === EAGAIN || errno === ENOMEM) {
    return fail('clone', adviseLimit(errno), { ...inferred, stage: 'process' });
  }
  const cwdErrno = native().probeDirectory(plan.cwd);
  if (cwdErrno === errno) {
    const advice =
      errno === EACCES ? 'this user may not enter it' : 'create it, or give another cwd';
    return fail('chdir', advice, { ...inferred, stage: 'cwd', stagePath: plan.cwd });
  }
  if (plan.foreground !== null && (errno === ENOTTY || errno === EPERM || errno === EINVAL)) {
    return fail('tcsetpgrp', 'it must be the controlling terminal of this session', {
      ...inferred,
      stage: 'terminal',
      stagePath: String(plan.foreground),
    });
  }
  if (plan.descriptors.some(({ channel }) => channel === 'null') && !canOpenNull()) {
    return fail('open', "standard channels that are 'null' need it", {
      ...inferred,
      stage: 'descriptor',
      stagePath: '/dev/null',
    });
  }
  if (stage === 'launcher') {
    const advice =
      errno === EACCES
        ? 'make it executable by chmod 755, as `npm rebuild sallyport` does, on a mount without noexec'
        : `it belongs beside the addon: ${REBUILD}`;
    return fail('start the launcher', advice, {
      ...inferred,
      stagePath: path,
    });
  }
  const fault = findPathFault(plan.file, plan.executable, errno);
  return fault ?? fail('execve', ...execAdvice(plan, errno));
}

function canOpenNull(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r+'));
    return true;
  } catch {
    return false;
  }
}

function execAdvice(
  plan: LaunchPlan,
  errno: number,
): [advice: string, details: Partial<ErrorDetails>] {
  const here = { stageSource: 'inferred', stagePath: plan.executable } as const;
  if (errno === EAGAIN || errno === ENOMEM) return [adviseLimit(errno), here];
  const probed = native().probeExecutable(plan.executable);
  if (probed === EISDIR) return ['it is a directory', here];
  if (probed !== 0) return ['it was there when it was looked up', here];
  const interpreter = readInterpreter(plan.executable);
  if (errno === ENOEXEC) {
    return interpreter === null
      ? [
          `it is no program for this machine, or a script without '#!': give it a first line such as #!/bin/sh, or start its interpreter`,
          here,
        ]
      : ['it is no program for this machine', here];
  }
  if (interpreter !== null) {
    const errnoOfInterpreter = native().probeExecutable(interpreter.path);
    if (errnoOfInterpreter !== 0) {
      const what =
        interpreter.kind === 'script' ? "the interpreter in its '#!' line" : 'its ELF loader';
      return [
        `${what} is at fault, needed by '${plan.executable}': install it or mend the path`,
        { stageSource: 'inferred', stagePath: interpreter.path },
      ];
    }
  }
  if (errno === EACCES)
    return [
      'it must be executable for this user, on a filesystem that is not mounted noexec',
      here,
    ];
  if (errno === ENOENT) return ['the file or something that it needs is missing', here];
  return ['', here];
}

/** Names the biggest strings by position or variable name, never by what is in them. */
function biggestEntries(plan: LaunchPlan): string {
  const entries = [
    ...plan.argv.map((argument, index) => ({
      name: `argv[${index}]`,
      bytes: Buffer.byteLength(argument) + 1,
    })),
    ...Object.entries(plan.environment).map(([name, value]) => ({
      name: `env.${name}`,
      bytes: Buffer.byteLength(name) + Buffer.byteLength(value) + 2,
    })),
  ];
  const total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  const biggest = entries
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, 3)
    .map(({ name, bytes }) => `${name} ${bytes} bytes`);
  const rule =
    (entries[0]?.bytes ?? 0) > LONGEST_STRING
      ? `one string may have ${LONGEST_STRING} bytes with its NUL (of a variable, NAME= counts)`
      : `all together may have a quarter of the stack limit; here they are ${total} bytes`;
  return `${rule}; the biggest: ${biggest.join(', ')}; pass large data by stdin or a file`;
}

function noExactClose(): SallyportError {
  return refused(
    'ERR_SALLYPORT_NO_EXACT_CLOSE',
    'this C library has no posix_spawn_file_actions_addclosefrom_np (glibc 2.34 has): nothing was started, since the child would have received every open descriptor',
    { stage: 'descriptor', stageSource: 'reported' },
  );
}
