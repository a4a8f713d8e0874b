// What to say of a step that serves an option, most of them the launcher's, and that was refused.
import { constants } from 'node:os';

import type { NativeFailure } from '../native-binding.js';
import { LIMITS } from '../plan/attributes.js';

const { EACCES, EINVAL, ENOENT, EPERM } = constants.errno;

/** Stage → the system call of the step, and what it needs. */
const STEPS: Readonly<Record<string, { call: string; privilege: string }>> = {
  pipeSize: {
    call: 'fcntl F_SETPIPE_SZ',
    privilege:
      'more than fs.pipe-max-size, or than fs.pipe-user-pages-soft for all pipes of this user, needs CAP_SYS_RESOURCE',
  },
  limits: {
    call: 'prlimit',
    privilege: 'raising a hard limit needs CAP_SYS_RESOURCE: stay at or below the present one',
  },
  umask: { call: 'umask', privilege: '' },
  nice: {
    call: 'setpriority',
    privilege: 'a lower value than the present one needs CAP_SYS_NICE or RLIMIT_NICE',
  },
  ioPriority: { call: 'ioprio_set', privilege: 'class realtime needs CAP_SYS_NICE' },
  oomScoreAdjust: {
    call: 'write /proc/self/oom_score_adj',
    privilege: 'a lower value than the present one needs CAP_SYS_RESOURCE',
  },
  cpuAffinity: { call: 'sched_setaffinity', privilege: '' },
  terminal: {
    call: 'ioctl TIOCSCTTY',
    privilege: 'it is the controlling terminal of another session, or no terminal',
  },
  groups: { call: 'setgroups', privilege: 'changing groups needs CAP_SETGID' },
  group: { call: 'setresgid', privilege: 'changing the group needs CAP_SETGID' },
  user: { call: 'setresuid', privilege: 'changing the user needs CAP_SETUID' },
  cgroup: {
    call: 'write cgroup.procs',
    privilege: 'the cgroup must be delegated to this user, and allow processes',
  },
  dieWithParent: {
    call: 'prctl PR_SET_PDEATHSIG',
    privilege: 'to a child of another user no signal comes from a parent without CAP_KILL',
  },
};

export function isStepStage(stage: string): boolean {
  return Object.hasOwn(STEPS, stage);
}

export function describeStep({ stage, errno, path }: NativeFailure): {
  call: string;
  advice: string;
  path: string;
} {
  const { call, privilege } = STEPS[stage] ?? { call: stage, privilege: '' };
  // The addon gives the name that it looked up, the number of the limit, the id, the descriptor.
  if (errno === ENOENT && (stage === 'user' || stage === 'group' || stage === 'groups')) {
    const advice =
      'it is not in the user and group databases of this system: give numbers for user, group and groups';
    return { call: 'look up', advice, path };
  }
  const at = stage === 'limits' ? limitName(path) : path;
  if (errno === EPERM || errno === EACCES) return { call, advice: privilege, path: at };
  if (errno === EINVAL && stage === 'cpuAffinity') {
    return { call, advice: 'none of these processors can be used here', path: at };
  }
  return { call, advice: '', path: at };
}

function limitName(number: string): string {
  return Object.entries(LIMITS).find(([, resource]) => String(resource) === number)?.[0] ?? '';
}
