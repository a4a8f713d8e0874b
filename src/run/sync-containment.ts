// How a run without the event loop is held together, by the same methods and to the same end.
import { constants } from 'node:os';

import type { ExitStatus } from '../launch/outcomes.js';
import { publishExit, publishLaunch } from '../launch/diagnostics.js';
import type { SyncStarted, SyncWait } from '../launch/sync-wait.js';
import { native } from '../native.js';
import type { RawOptions } from '../plan/options.js';
import type { LaunchPlan } from '../plan/plan.js';
import type { Method, TreeEnd } from './containment.js';
import { requireOwnGroup } from './group.js';
import { GroupEnd } from './group-end.js';
import { makeRunCgroup, type RunCgroup } from './run-cgroup.js';
import { SyncInit } from './sync-init.js';

/** As `Contained`, looked at instead of waited for. */
export interface SyncContained {
  readonly plan: LaunchPlan;
  /** Of the target. */
  readonly pid: number;
  /** Our ends of the pipes, in the order of the plan's channels. */
  readonly ours: readonly number[];
  /** Of the target; null: it runs, or how it ended is not known. */
  readonly status: ExitStatus | null;
  /** null: something of the run is left, and may still be ended. */
  readonly ended: TreeEnd | null;
  /** SIGTERM and SIGCONT to every process of the run, SIGKILL after so many milliseconds. */
  end(grace: number): void;
  /** SIGKILL at once, and no more is heard of it: something of ours has failed. */
  abandon(): void;
}

interface Launch {
  readonly file: unknown;
  readonly args: unknown;
  readonly options: RawOptions;
  readonly isWithdrawn: () => boolean;
}

/**
 * @returns null: it was to be ended before it had begun
 * @throws {SallyportTypeError | SallyportError}
 */
export function containSync(method: Method, launch: Launch, wait: SyncWait): SyncContained | null {
  if (method.name === 'group') return containByGroup(launch, wait);
  const { cgroup } = method;
  const begun = performance.now();
  if (cgroup === null) return containByInit(launch, wait, begun);
  const group = makeRunCgroup(cgroup.parent, cgroup.limits, launch.file);
  let contained: SyncContained | null = null;
  try {
    contained = containByInit(launch, wait, begun, group);
    return contained;
  } finally {
    if (contained === null) {
      let isRemoved = false;
      group.discard(wait, () => {
        isRemoved = true;
      });
      wait.until(() => isRemoved);
    }
  }
}

function containByInit(
  { file, args, options, isWithdrawn }: Launch,
  wait: SyncWait,
  begun: number,
  group?: RunCgroup,
): SyncContained | null {
  const started = wait.launch('run', file, args, options, {
    isWithdrawn,
    cgroup: group?.path ?? '',
  });
  return started === null ? null : new SyncInit(started, wait, begun, group);
}

function containByGroup(
  { file, args, options, isWithdrawn }: Launch,
  wait: SyncWait,
): SyncContained | null {
  requireOwnGroup(options);
  const started = wait.launch('launch', file, args, options, { isWithdrawn, keepsZombie: true });
  return started === null ? null : new SyncGroup(started, wait);
}

class SyncGroup implements SyncContained {
  readonly plan: LaunchPlan;
  readonly pid: number;
  readonly ours: readonly number[];
  status: ExitStatus | null = null;
  ended: TreeEnd | null = null;
  readonly #id: number;
  readonly #end: GroupEnd;

  constructor({ plan, launched: { id, pid, ours } }: SyncStarted, wait: SyncWait) {
    this.#id = id;
    this.plan = plan;
    this.pid = pid;
    this.ours = ours;
    const leader = {
      pid,
      ownsSession: plan.session === 'new',
      signalGroup: (signal: number) => {
        native().signalGroup(id, signal);
      },
      releaseZombie: () => {
        native().releaseZombie(id);
      },
    };
    this.#end = new GroupEnd(leader, wait, (end) => {
      this.ended = end;
    });
    publishLaunch(this);
    wait.expectExit(id, {
      receiveExit: (status) => {
        this.status = status;
        publishExit(this, status);
        this.#end.leaderExited();
      },
    });
  }

  end(grace: number): void {
    this.#end.end(grace);
  }

  abandon(): void {
    native().signalGroup(this.#id, constants.signals.SIGKILL);
    native().releaseZombie(this.#id);
  }
}
