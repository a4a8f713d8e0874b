// Containment by an init for a run without the event loop.
import { inodeOf } from '../descriptor-io.js';
import { publishExit, publishLaunch } from '../launch/diagnostics.js';
import type { ExitStatus } from '../launch/outcomes.js';
import { InitLink } from '../launch/init-link.js';
import type { SyncStarted, SyncWait } from '../launch/sync-wait.js';
import type { LaunchPlan } from '../plan/plan.js';
import type { TreeEnd } from './containment.js';
import { InitWatch } from './init-watch.js';
import type { RunCgroup } from './run-cgroup.js';
import type { SyncContained } from './sync-containment.js';

export class SyncInit implements SyncContained {
  readonly plan: LaunchPlan;
  readonly pid: number;
  readonly ours: readonly number[];
  status: ExitStatus | null = null;
  ended: TreeEnd | null = null;
  readonly #link: InitLink;
  readonly #watch: InitWatch;

  /** @param begun before anything of the run was started, by performance.now() */
  constructor({ plan, launched }: SyncStarted, wait: SyncWait, begun: number, group?: RunCgroup) {
    this.plan = plan;
    this.pid = launched.program;
    this.ours = launched.ours;
    publishLaunch(this);
    const inodes = launched.ours.map(inodeOf);
    this.#link = new InitLink(launched, {
      programExited: (status) => {
        this.status = status;
        publishExit(this, status);
      },
      ended: (end) => {
        this.#watch.initEnded(end);
      },
    });
    const { pid: initPid, program: target } = launched;
    const run = { init: this.#link, initPid, target, begun, group, pipes: () => inodes };
    this.#watch = new InitWatch(run, wait, (end) => {
      this.ended = end;
    });
    this.#link.listen(wait);
  }

  end(grace: number): void {
    this.#watch.end(grace);
  }

  abandon(): void {
    this.#link.kill();
  }
}
