// Containment by session and process group: reaches what stayed in them, and says no more than that.
import { invalid } from '../errors.js';
import type { Child } from '../launch/child.js';
import { launchChild } from '../launch/launch.js';
import { loopTimers } from '../launch/timers.js';
import type { RawOptions } from '../plan/options.js';
import type { Contain, Contained, TreeEnd } from './containment.js';
import { GroupEnd } from './group-end.js';

export const containByGroup: Contain = async (file, args, options, takeover) => {
  requireOwnGroup(options);
  return new Group(await launchChild(file, args, options, { ...takeover, keepsZombie: true }));
};

/** @throws {SallyportTypeError} where the run would be in our own group */
export function requireOwnGroup(options: RawOptions): void {
  if (options.session !== 'inherit') return;
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    'session',
    "'inherit' leaves the run in our own process group: write 'new' or 'group'",
  );
}

class Group implements Contained {
  readonly method = 'group';
  readonly child: Child;
  readonly ended: Promise<TreeEnd>;
  readonly #end: GroupEnd;

  constructor(child: Child) {
    this.child = child;
    let over!: (end: TreeEnd) => void;
    this.ended = new Promise((resolve) => {
      over = resolve;
    });
    const leader = {
      pid: child.pid,
      ownsSession: child.plan.session === 'new',
      signalGroup: (signal: number) => child.killGroup(signal),
      releaseZombie: () => {
        child.releaseZombie();
      },
    };
    this.#end = new GroupEnd(leader, loopTimers, over);
    void child.exited.then(() => {
      this.#end.leaderExited();
    });
  }

  end(grace: number): void {
    this.#end.end(grace);
  }

  kill(): void {
    this.#end.kill();
  }

  release(pid: number): void {
    this.#end.release(pid);
  }
}
