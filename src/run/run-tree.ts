// The processes of a run that is under way: those below its program, and below what adopts its orphans.
import { listDescendants, listProcesses, readProcess, type ProcessFacts } from './processes.js';
import { unlessShort } from './spare.js';

export class RunTree {
  readonly #target: number;
  readonly #roots: Set<number>;

  /** @param target pid of the program */
  constructor(target: number) {
    this.#target = target;
    // Where no more files may be opened it is the tree of the program alone.
    const parent = unlessShort(() => readProcess(target)?.ppid);
    // An init of the run stands between us and the target.
    const init = parent === undefined || parent === process.pid || parent <= 1 ? target : parent;
    this.#roots = new Set([init]);
  }

  /** As far as they can be told by their parents and their session. */
  members(): ProcessFacts[] {
    const processes = listProcesses();
    const below = new Set(listDescendants(processes, this.#roots).map(({ pid }) => pid));
    return processes.filter(
      ({ pid, sid, alive }) =>
        alive && (pid === this.#target || below.has(pid) || sid === this.#target),
    );
  }
}
