// Containment by an init for a run without the event loop.
import { fstatSync } from 'node:fs';

import { publishExit, publishLaunch } from '../launch/diagnostics.js';
import type { ExitStatus } from '../launch/events.js';
import { InitLink } from '../launch/init-link.js';
import type { SyncStarted, SyncWait } from '../launch/sync-wait.js';
import type { LaunchPlan } from '../plan/plan.js';
import type { TreeEnd } from './containment.js';
import { InitWatch } from './init-watch.js';
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
  constructor({ plan, launched }: SyncStarted, wait: SyncWait, begun: number) {
    this.plan = plan;
    this.pid = launched.program;
    this.ours = launched.ours;
    publishLaunch(this);
    const inodes = launched.ours.map((fd) => fstatSync(fd, { bigint: true }).ino);
    const control = {
      initPid: launched.pid,
      target: launched.program,
      end: (grace: number) => {
        this.#link.end(grace);
      },
      kill: () => {
        this.#link.kill();
      },
      release: (pid: number) => {
        this.#link.release(pid);
      },
      wake: () => {
        this.#link.wake();
      },
      abandon: () => {
        this.#link.abandon();
      },
      pipes: () => inodes,
    };
    this.#watch = new InitWatch(control, begun, wait, (end) => {
      this.ended = end;
    });
    this.#link = new InitLink(launched, wait, {
      programExited: (status) => {
        this.status = status;
        publishExit(this, status);
      },
      ended: (end) => {
        this.#watch.initEnded(end);
      },
    });
  }

  end(grace: number): void {
    this.#watch.end(grace);
  }

  abandon(): void {
    this.#link.kill();
  }
}
