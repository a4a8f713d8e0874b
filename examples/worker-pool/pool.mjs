// A pool of reviewed workers: each is compared with what was approved before it starts, looked at
// while it holds before its exec, used for many jobs, and replaced where it breaks.
import { createInterface } from 'node:readline';

import { launch, planDigest, planLaunch } from 'sallyport';
import { gatherEvidence, review } from 'sallyport/review';

export class Refused extends Error {}

/** One process, which does one job at a time. */
class Worker {
  #child;
  #lines;

  constructor(child) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    // A worker that is gone takes no more jobs: the answer that does not come says so.
    child.stdin.on('error', () => {});
    child.stderr.pipe(process.stderr, { end: false });
  }

  get pid() {
    return this.#child.pid;
  }

  /** What was compared at its exec: `at-exec`, and no difference, or it would not have run. */
  get evidence() {
    return this.#child.evidence;
  }

  async do(job) {
    this.#child.stdin.write(`${JSON.stringify(job)}\n`);
    const { value, done } = await this.#lines.next();
    if (!done) return JSON.parse(value);
    const { code, signal } = await this.#child.exited;
    throw new Error(`worker ${this.pid} ended with ${signal ?? code}`);
  }

  async end() {
    this.#child.stdin.end();
    return await this.#child.exited;
  }
}

export class Pool {
  #approved;
  #launch;
  #idle = [];
  /** Jobs that wait for a worker. */
  #waiting = [];
  /** Workers, idle or not. */
  #size = 0;

  /**
   * @param approved the profile that somebody has read
   * @param launch what is asked for: `file`, `args`, `options`. It need not be what was approved
   */
  constructor(approved, { file, args, options }) {
    this.#approved = approved;
    this.#launch = [file, args, { ...options, verify: 'at-exec' }];
  }

  /** Reviewed, held before its exec, compared, and let go. @throws {Refused} and nothing has run */
  async add() {
    const plan = planLaunch(...this.#launch);
    const { decision, gates } = review(plan, {
      approved: this.#approved,
      evidence: gatherEvidence(plan),
    });
    if (decision !== 'accept') {
      const why = gates.flatMap(({ differences }) => differences.map(({ path }) => path));
      throw new Refused(`${decision}: ${why.join(', ')}`);
    }
    const child = await launch(...this.#launch);
    // What was launched is what was reviewed: the digest covers all that a child is given.
    if (planDigest(child.plan) !== planDigest(plan)) {
      child.kill('SIGKILL');
      throw new Refused('reject: it is another launch than the one that was reviewed');
    }
    const worker = new Worker(child);
    this.#size += 1;
    this.#release(worker);
    return worker;
  }

  /** By the next worker that is idle. One that breaks is replaced; its job fails, and no other. */
  async do(job) {
    const worker =
      this.#idle.pop() ??
      (await new Promise((resolve, reject) => this.#waiting.push({ resolve, reject })));
    try {
      const answer = await worker.do(job);
      this.#release(worker);
      return answer;
    } catch (error) {
      await this.#replace();
      throw error;
    }
  }

  /** Where there is no other worker left and no new one to be had, nobody waits for one for ever. */
  async #replace() {
    this.#size -= 1;
    try {
      await this.add();
    } catch (error) {
      if (this.#size > 0) return;
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    }
  }

  #release(worker) {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(worker);
    else next.resolve(worker);
  }

  /** Once no job is under way. */
  async close() {
    return await Promise.all(this.#idle.splice(0).map((worker) => worker.end()));
  }
}
