// What to say of a child that held before its exec and was not let go.
import { describeErrno, refused, type SallyportError } from '../errors.js';
import type { NativeFailure } from '../native-binding.js';
import type { LaunchPlan } from '../plan/plan.js';
import { parseEvidence } from './evidence.js';

/** Of an error's message: the whole list is in `differences`. */
const MOST_NAMED = 3;

export function verifyError(plan: LaunchPlan, { errno, path }: NativeFailure): SallyportError {
  const at = { path: plan.file, stage: 'verify', stageSource: 'reported' } as const;
  if (errno !== 0) {
    const { name, text } = describeErrno(errno);
    return refused(
      'ERR_SALLYPORT_UNVERIFIABLE',
      `${plan.file} held before its exec and could not be looked at, so it was ended: '${path}' ${name}: ${text}: this process must be allowed to trace it (a child of another user: CAP_SYS_PTRACE)`,
      { ...at, stagePath: path, errno: -errno },
    );
  }
  const { differences } = parseEvidence(path);
  const named = differences
    .slice(0, MOST_NAMED)
    .map((each) => `${each.path} was to be ${each.planned} and is ${each.seen}`);
  const more = differences.length > MOST_NAMED ? `; ${differences.length - MOST_NAMED} more` : '';
  return refused(
    'ERR_SALLYPORT_NOT_AS_PLANNED',
    `${plan.file} held before its exec and was not as planned, so it was ended: ${named.join('; ')}${more}`,
    { ...at, stagePath: differences[0]?.path ?? '', differences },
  );
}
