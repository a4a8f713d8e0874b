// reportGaps: what a run could reach on this host, found by a probe that is started as the run would be.
import { isOurs } from '../copies.js';
import { invalid } from '../errors.js';
import { takeOwn } from '../own-properties.js';
import { Environment } from '../plan/create-environment.js';
import type { CacheGrant } from '../plan/environment-record.js';
import { PLAN_OPTION_NAMES, type PassEntry, type PlanOptions } from '../plan/options.js';
import type { LaunchPlan } from '../plan/plan.js';
import { listAgents, listControlSockets, listFiles } from './gap-candidates.js';
import { closed, notProbed, type Gap, type GapKind } from './gap.js';
import {
  askAgent,
  askCache,
  askControlSocket,
  askFile,
  askMetadata,
  askParent,
  askSibling,
  judgeTable,
  METADATA,
} from './gap-questions.js';
import { conditionsOf, probe, Sibling, type Attempt, type Conditions } from './probe.js';

/** What `reportGaps` takes. */
export interface GapOptions {
  /** The plan of the run. */
  plan?: LaunchPlan | undefined;
  /** Or its options: those of `run`, `spawn` or `launch`. What does not decide what it reaches is ignored. */
  options?: PlanOptions | undefined;
  /** Whether to connect to 169.254.169.254. Default false. */
  probeMetadata?: boolean | undefined;
}

/** What a run reaches on this host. */
export interface GapReport {
  /** Version of this record. */
  readonly version: 1;
  /** Of the run. */
  readonly uid: number;
  /** Group id of the run. */
  readonly gid: number;
  /** One entry for each thing that was tried, in the order of `GapKind`. */
  readonly gaps: readonly Gap[];
  /** What was not looked at. */
  readonly notTested: readonly string[];
}

/**
 * Starts two probes as the run would be started: same user, environment, directory, limits and
 * descriptors. One tries what is found on this host, the other is looked at as a sibling. Nothing is
 * changed and no credential read: files are opened, sockets connected to (an agent is asked how many
 * keys it has), processes asked for what they may not give.
 *
 * @throws {SallyportTypeError} a mistake of the caller
 * @throws {SallyportError} what a launch of the run would be refused with
 */
export async function reportGaps(options: GapOptions = {}): Promise<GapReport> {
  const own = takeOwn(options, 'options', ['plan', 'options', 'probeMetadata']);
  const { conditions, caches } = takeConditions(own.plan, own.options);
  const probeMetadata = own.probeMetadata === true;
  const sibling = await Sibling.start(conditions);
  try {
    const { ids } = sibling;
    const questions = [
      ...listFiles(ids.uid).map(askFile),
      ...listAgents().map(askAgent),
      ...[...listControlSockets()].map(([path, what]) => askControlSocket(path, what)),
      ...(probeMetadata ? [askMetadata()] : []),
      ...askParent(process.pid),
      askSibling(sibling.pid),
      ...caches.map(askCache),
    ];
    const attempts = questions.flatMap((question) => question.attempts);
    const table: Attempt = { what: 'ownDescriptors', operand: '' };
    const { answers, program } = await probe(conditions, [table, ...attempts]);
    let at = 1;
    const gaps = questions.map(({ attempts, judge }) => {
      const mine = answers.slice(at, at + attempts.length);
      at += attempts.length;
      return judge(mine, ids);
    });
    const [first] = answers;
    gaps.push(judgeTable(first, conditions, program));
    if (!probeMetadata) {
      gaps.push(notProbed(METADATA, 'it is looked at only when asked for: probeMetadata'));
    }
    if (!gaps.some(({ kind }) => kind === 'ssh-agent')) {
      const nowhere = { kind: 'ssh-agent', subject: 'sockets of agents' } as const;
      gaps.push(closed(nowhere, 'absence', 'none was found'));
    }
    return { version: 1, ...ids, gaps: sortGaps(gaps), notTested: NOT_TESTED };
  } finally {
    await sibling.end();
  }
}

const NOT_TESTED: readonly string[] = [
  'files: credentials at other places than those that are listed, and what may be written',
  'network: all but the metadata service of clouds',
  'processes: others than this one and one other run; signals to them',
  'kernel: its own faults',
];

const ORDER: readonly GapKind[] = [
  ...(['disk', 'ssh-agent', 'control-socket', 'metadata', 'parent-environment'] as const),
  ...([
    'parent-descriptors',
    'parent-sockets',
    'ptrace',
    'sibling',
    'descriptors',
    'cache',
  ] as const),
];

function sortGaps(gaps: readonly Gap[]): Gap[] {
  return [...gaps].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}

function takeConditions(
  plan: unknown,
  options: unknown,
): { conditions: Conditions; caches: readonly CacheGrant[] } {
  if (plan !== undefined) {
    if (options !== undefined) throw wrong('options', 'stands beside plan: give one of them');
    const given = plan as LaunchPlan;
    if (typeof given !== 'object' || !Array.isArray(given.descriptors) || given.version !== 1) {
      throw wrong('plan', 'must be what planLaunch gives');
    }
    return { conditions: conditionsOf(given), caches: given.environmentRecord?.caches ?? [] };
  }
  const given = (options ?? {}) as Record<string, unknown>;
  if (typeof given !== 'object') throw wrong('options', 'must be options of run');
  const left = ['stdio', 'foreground', 'terminal', 'argv0', 'pass'];
  const conditions = Object.fromEntries(
    PLAN_OPTION_NAMES.filter((name) => !left.includes(name) && Object.hasOwn(given, name)).map(
      (name) => [name, given[name]],
    ),
  );
  const pass = Array.isArray(given['pass']) ? (given['pass'] as Array<number | PassEntry>) : [];
  const { env } = given;
  return {
    conditions: {
      ...conditions,
      pass: pass.map((it) => (typeof it === 'number' ? { fd: it } : it)),
    },
    caches: isOurs(env, Environment, 'options.env') ? env.record.caches : [],
  };
}

function wrong(option: string, message: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, message);
}
