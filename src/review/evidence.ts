// What a review rests on beside the plan: what the program is, how the descriptors are known, where.
import { readFileSync, realpathSync, statSync, type BigIntStats } from 'node:fs';
import { arch, platform } from 'node:process';

import type { Limit, LimitName, LimitValue } from '../plan/attributes.js';
import { planDigest } from '../plan/describe.js';
import { isElf, readInterpreter } from '../plan/interpreter.js';
import type { LaunchPlan } from '../plan/plan.js';

/** How the descriptors of a launch are known. */
export interface DescriptorEvidence {
  /**
   * `held`: the plan has copies of its own, identified then, and they are what is passed.
   * `snapshot`: somebody looked at flags and numbers at some time.
   */
  readonly kind: 'held' | 'snapshot';
  /** ISO 8601. */
  readonly takenAt: string;
  /** With `held`: of the plan whose copies they are. */
  readonly planDigest?: string | undefined;
}

/** What is at the path of the program. */
export interface ExecutableEvidence {
  /** By its first bytes: an ELF file, a script, or neither. */
  readonly kind: 'native' | 'script' | 'unknown';
  /** Of a script. */
  readonly interpreter: string | null;
  /** Where the path leads, by its symlinks; left out: not known. */
  readonly leadsTo?: string | undefined;
  /** st_dev, stat(2). */
  readonly dev: number;
  /** In decimal. */
  readonly inode: string;
}

/** Where the launch is to be. */
export interface LauncherEvidence {
  /** As `process.platform`. */
  readonly platform: string;
  /** As `process.arch`. */
  readonly arch: string;
  /** `version` of the launch plan. */
  readonly api: number;
  /**
   * What this process has of each limit that the plan sets: a child has the same, where none is set.
   * Left out: not known.
   */
  readonly limits?: Readonly<Record<string, Limit>> | undefined;
}

/** What became of a run, from its report: what the gate `completion` needs. */
export interface CompletionEvidence {
  /** As of the report of a run. */
  readonly complete: boolean;
  /** How the run ended. */
  readonly outcome: { readonly kind: string };
  /** Of the plan that was run, where that is known: it must be the one that is reviewed. */
  readonly admission?: { readonly planDigest: string } | undefined;
  /** How each channel ended. */
  readonly output: Readonly<Record<'stdout' | 'stderr', { readonly end: string }>>;
}

/** What a review rests on beside the plan; `gatherEvidence` looks for it. */
export interface ReviewEvidence {
  /** How the descriptors are known. */
  readonly descriptors?: DescriptorEvidence | undefined;
  /** What the program is. */
  readonly executable?: ExecutableEvidence | undefined;
  /** Where the launch is to be. */
  readonly launcher?: LauncherEvidence | undefined;
  /** The report of the run, afterwards. */
  readonly report?: CompletionEvidence | undefined;
  /** The way in which a run is held together. A profile that asks for one holds without it. */
  readonly containment?: string | undefined;
  /** Of a run: as it was asked for. Milliseconds and bytes. */
  readonly limits?: {
    /** Milliseconds, or null. */
    readonly deadline?: number | undefined;
    /** Milliseconds, or null. */
    readonly stall?: number | undefined;
    /** Bytes of one channel, or null. */
    readonly outputBytes?: number | undefined;
  };
}

/**
 * Looks at the file of the program and at this machine. The descriptors of a plan are held from the
 * moment it is made: `held` is true of a plan that is about to be launched, which `run({ profile })`
 * reviews; of a plan that `planLaunch` gave, it says what will be held then.
 */
export function gatherEvidence(plan: LaunchPlan): ReviewEvidence {
  return {
    executable: lookAt(plan.executable),
    descriptors: {
      kind: 'held',
      takenAt: new Date().toISOString(),
      planDigest: planDigest(plan),
    },
    launcher: { platform, arch, api: plan.version, ...ourLimits(plan) },
  };
}

/** As /proc/<pid>/limits has them, proc_pid_limits(5). */
const CALLED: Readonly<Record<LimitName, string>> = {
  cpu: 'cpu time',
  fsize: 'file size',
  data: 'data size',
  stack: 'stack size',
  core: 'core file size',
  rss: 'resident set',
  nproc: 'processes',
  nofile: 'open files',
  memlock: 'locked memory',
  as: 'address space',
  locks: 'file locks',
  sigpending: 'pending signals',
  msgqueue: 'msgqueue size',
  nice: 'nice priority',
  rtprio: 'realtime priority',
  rttime: 'realtime timeout',
};

function ourLimits({ attributes }: LaunchPlan): Pick<LauncherEvidence, 'limits'> {
  const names = Object.keys(attributes.limits ?? {}) as LimitName[];
  if (names.length === 0) return {};
  let text: string;
  try {
    text = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return {};
  }
  const found = names.flatMap((name) => {
    const line = new RegExp(`^Max ${CALLED[name]} +(\\S+) +(\\S+)`, 'm').exec(text);
    return line === null ? [] : [[name, { soft: toValue(line[1]), hard: toValue(line[2]) }]];
  });
  return { limits: Object.fromEntries(found) as Record<string, Limit> };
}

function toValue(text = ''): LimitValue {
  return text === 'unlimited' ? text : Number(text);
}

/** @returns undefined where there is nothing to be looked at, or it may not be looked at */
function statIfPossible(path: string): (BigIntStats & { leadsTo: string }) | undefined {
  try {
    return Object.assign(statSync(path, { bigint: true }), { leadsTo: realpathSync.native(path) });
  } catch {
    return undefined;
  }
}

function lookAt(path: string): ExecutableEvidence {
  const stats = statIfPossible(path);
  const interpreter = readInterpreter(path);
  const kind =
    interpreter?.kind === 'script'
      ? 'script'
      : interpreter !== null || isElf(path)
        ? 'native'
        : 'unknown';
  return {
    kind,
    interpreter: interpreter?.kind === 'script' ? interpreter.path : null,
    ...(stats === undefined ? {} : { leadsTo: stats.leadsTo }),
    dev: Number(stats?.dev ?? 0),
    inode: String(stats?.ino ?? 0),
  };
}
