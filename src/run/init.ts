// Containment by an init of the run's own.
import type { Child } from '../launch/child.js';
import { loopTimers } from '../launch/timers.js';
import { launchTree, type Tree } from '../launch/tree.js';
import type { Contain, Contained, TreeEnd } from './containment.js';
import { InitWatch } from './init-watch.js';
import { pipeInode } from './pour.js';

export const containByInit: Contain = async (file, args, options, takeover) => {
  const begun = performance.now();
  return new InitRun(await launchTree(file, args, options, takeover), begun);
};

class InitRun implements Contained {
  readonly method = 'init';
  readonly child: Child;
  readonly ended: Promise<TreeEnd>;
  readonly #watch: InitWatch;

  constructor(tree: Tree, begun: number) {
    const { child } = tree;
    this.child = child;
    let over!: (end: TreeEnd) => void;
    this.ended = new Promise((resolve) => {
      over = resolve;
    });
    const init = {
      initPid: tree.initPid,
      target: child.pid,
      end: (grace: number) => {
        tree.end(grace);
      },
      kill: () => {
        tree.kill();
      },
      release: (pid: number) => {
        tree.release(pid);
      },
      wake: () => {
        tree.wake();
      },
      abandon: () => {
        tree.abandon();
      },
      pipes: () =>
        [pipeInode(child.stdout), pipeInode(child.stderr)].filter((inode) => inode !== undefined),
    };
    this.#watch = new InitWatch(init, begun, loopTimers, over);
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
