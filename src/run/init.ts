// Containment by an init of the run's own, in a control group or not.
import type { Child } from '../launch/child.js';
import { loopTimers } from '../launch/timers.js';
import { launchTree, type Tree } from '../launch/tree.js';
import type { CgroupLimit } from './cgroup-options.js';
import type { Contain, Contained, TreeEnd } from './containment.js';
import { InitWatch } from './init-watch.js';
import { pipeInode } from './pour.js';
import { makeRunCgroup, type RunCgroup } from './run-cgroup.js';

export const containByInit: Contain = async (file, args, options, takeover) => {
  const begun = performance.now();
  return new InitRun('init', await launchTree(file, args, options, takeover), begun);
};

/** The same in a control group of its own: what an init has lost is still in that. */
export function containByCgroup(parent: string, limits: readonly CgroupLimit[]): Contain {
  return async (file, args, options, takeover) => {
    const begun = performance.now();
    const group = makeRunCgroup(parent, limits, file);
    try {
      const tree = await launchTree(file, args, options, { ...takeover, cgroup: group.path });
      return new InitRun('cgroup', tree, begun, group);
    } catch (error) {
      await new Promise<void>((resolve) => {
        group.discard(loopTimers, resolve);
      });
      throw error;
    }
  };
}

class InitRun implements Contained {
  readonly method: 'init' | 'cgroup';
  readonly child: Child;
  readonly ended: Promise<TreeEnd>;
  readonly #watch: InitWatch;

  constructor(method: 'init' | 'cgroup', tree: Tree, begun: number, group?: RunCgroup) {
    const { child } = tree;
    this.method = method;
    this.child = child;
    let over!: (end: TreeEnd) => void;
    this.ended = new Promise((resolve) => {
      over = resolve;
    });
    const pipes = (): bigint[] =>
      [pipeInode(child.stdout), pipeInode(child.stderr)].filter((inode) => inode !== undefined);
    const run = { init: tree, initPid: tree.initPid, target: child.pid, begun, group, pipes };
    this.#watch = new InitWatch(run, loopTimers, over);
    void tree.ended.then((end) => {
      this.#watch.initEnded(end);
    });
  }

  end(grace: number): void {
    this.#watch.end(grace);
  }

  kill(): void {
    this.#watch.kill();
  }

  release(pid: number): void {
    this.#watch.release(pid);
  }
}
