// The control group of one run: made, looked into, emptied, removed. cgroups(7), version 2.
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';

import { refused, systemError, type SallyportError } from '../errors.js';
import type { Timers } from '../launch/timers.js';
import { ownCgroup, type CgroupLimit } from './cgroup-options.js';
import { listDescendants, listProcesses, readProcess, type ProcessFacts } from './processes.js';
import { isShort, unlessShort, withSpares } from './spare.js';
import { killAll, type Killed } from './walk.js';

/** What the run has used at most, where the controller and the kernel say so; otherwise null. */
export interface CgroupPeak {
  /** Bytes. */
  readonly memory: number | null;
  /** Processes and threads at a time. */
  readonly pids: number | null;
  /** How many of its processes were killed for want of memory. */
  readonly oomKills: number | null;
}

/** What is left in it, and what it was like. */
export interface CgroupEnd {
  readonly killed: number;
  readonly left: readonly ProcessFacts[];
  readonly peak: CgroupPeak;
}

/** How long after SIGKILL a process counts as one that cannot be ended, in milliseconds. */
const UNKILLABLE_AFTER = 2_000;
/** How long a group is tried to be removed in which nobody lives, and how often, in milliseconds. */
const LINGERING = 1_000;
const LINGERING_PAUSE = 3;
const NAME = /^sallyport-(\d+)-\d+-\d+$/;

let made = 0;
const tidied = new Set<string>();

/**
 * @param parent a cgroup that was delegated to us
 * @param program as it was named, for errors
 * @throws {SallyportError} what the system refuses; nothing stays behind then
 */
export function makeRunCgroup(
  parent: string,
  limits: readonly CgroupLimit[],
  program: unknown,
): RunCgroup {
  if (!tidied.has(parent)) removeStale(parent);
  tidied.add(parent);
  const path = join(parent, `sallyport-${process.pid}-${threadId}-${++made}`);
  attempt('mkdir', path, program, () => {
    mkdirSync(path);
  });
  try {
    for (const { controller, file, value } of limits) {
      enable(parent, controller);
      attempt('write', join(path, file), program, () => {
        writeFileSync(join(path, file), value);
      });
    }
  } catch (error) {
    rmdirSync(path);
    throw error;
  }
  return new RunCgroup(parent, path);
}

export class RunCgroup {
  readonly path: string;
  readonly #parent: string;
  /** pid → start time: they have left the run. */
  readonly #free = new Map<number, number>();

  constructor(parent: string, path: string) {
    this.#parent = parent;
    this.path = path;
  }

  /** Living processes of the run in this group and below it. */
  listMembers(): ProcessFacts[] {
    return listPids(this.path)
      .map(readProcess)
      .filter((facts) => facts !== undefined)
      .filter(({ pid, startTime, alive }) => alive && this.#free.get(pid) !== startTime);
  }

  /** With all that is below it the process goes to where we are ourselves. */
  release(pid: number): void {
    const all = listProcesses();
    const leaving = [
      ...all.filter((facts) => facts.pid === pid),
      ...listDescendants(all, new Set([pid])),
    ];
    for (const facts of leaving) {
      this.#free.set(facts.pid, facts.startTime);
      for (const group of [ownCgroup(), this.#parent]) {
        if (group !== undefined && write(join(group, 'cgroup.procs'), String(facts.pid))) break;
      }
    }
  }

  /** Kills what is left in it and removes it. */
  finish(timers: Timers, done: (end: CgroupEnd) => void): void {
    const finish = (found: Killed): void => {
      const peak = this.#readPeak();
      this.remove(timers, () => {
        done({ ...found, peak });
      });
    };
    const isPopulated = unlessShort(() => this.#isPopulated());
    if (isPopulated === undefined) {
      timers.after(LINGERING_PAUSE, () => {
        this.finish(timers, done);
      });
    } else if (isPopulated) this.#empty(timers, finish);
    else finish({ killed: 0, left: [] });
  }

  /**
   * With those that the program has made in it. It stays where somebody is left in it. A process that
   * has been reaped counts as one for another moment, until its processor has left it.
   */
  remove(timers: Timers, done: () => void): void {
    this.#removeUnless(() => this.#countMembers() > 0, timers, done);
  }

  /** Of a launch that was taken back or refused: whoever has come into it all the same is ended. */
  discard(timers: Timers, done: () => void): void {
    const killAll = (): boolean => {
      write(join(this.path, 'cgroup.kill'), '1');
      return false;
    };
    this.#removeUnless(killAll, timers, done);
  }

  #removeUnless(isHopeless: () => boolean, timers: Timers, done: () => void): void {
    const until = performance.now() + LINGERING;
    const attempt = (): void => {
      if (removeTree(this.path) || isHopeless() || performance.now() > until) done();
      else timers.after(LINGERING_PAUSE, attempt);
    };
    attempt();
  }

  #empty(timers: Timers, done: (found: Killed) => void): void {
    const before = this.#countMembers();
    // All at once, and no fork gets away: since kernel 5.14. What was released may still be in it.
    const pids = unlessShort(() => listPids(this.path));
    const hasStrangers = pids?.some((pid) => this.#free.has(pid)) ?? this.#free.size > 0;
    if (!hasStrangers) write(join(this.path, 'cgroup.kill'), '1');
    const list = (): ProcessFacts[] => this.listMembers();
    killAll(list, UNKILLABLE_AFTER, timers, ({ killed, left }) => {
      done({ killed: Math.max(before - left.length, killed), left });
    });
  }

  /** As far as it can be told now. */
  #countMembers(): number {
    return unlessShort(() => this.listMembers().length) ?? 0;
  }

  #isPopulated(): boolean {
    return /^populated 1$/m.test(read(join(this.path, 'cgroup.events')) ?? '');
  }

  #readPeak(): CgroupPeak {
    const number = (file: string, pattern: RegExp): number | null => {
      const match = pattern.exec(unlessShort(() => read(join(this.path, file))) ?? '');
      return match === null ? null : Number(match[1]);
    };
    return {
      memory: number('memory.peak', /^(\d+)/),
      pids: number('pids.peak', /^(\d+)/),
      oomKills: number('memory.events', /^oom_kill (\d+)$/m),
    };
  }
}

/** Of this group and of all below it. */
function listPids(path: string): number[] {
  const own = (read(join(path, 'cgroup.procs')) ?? '').split('\n').filter(Boolean).map(Number);
  return [...own, ...listGroups(path).flatMap((name) => listPids(join(path, name)))];
}

function listGroups(path: string): string[] {
  try {
    return withSpares(() => readdirSync(path, { withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch (error) {
    if (isShort(error)) throw error;
    return [];
  }
}

/** @returns false where somebody is in it */
function removeTree(path: string): boolean {
  const groups = unlessShort(() => listGroups(path));
  if (groups === undefined) return false;
  for (const name of groups) removeTree(join(path, name));
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EBUSY';
  }
}

/** What a process left that was killed: whoever was in it has been ended by the run's init. */
function removeStale(parent: string): void {
  for (const name of unlessShort(() => listGroups(parent)) ?? []) {
    const pid = NAME.exec(name)?.[1];
    if (pid !== undefined && readProcess(Number(pid)) === undefined) removeTree(join(parent, name));
  }
}

function enable(parent: string, controller: string): void {
  const file = join(parent, 'cgroup.subtree_control');
  if ((read(file) ?? '').trim().split(' ').includes(controller)) return;
  if (write(file, `+${controller}`)) return;
  throw refused(
    'ERR_SALLYPORT_NO_CONTAINMENT',
    `containment: the controller '${controller}' cannot be enabled in ${file}: there must be no process in ${parent} itself, cgroups(7)`,
    { stage: 'plan', stagePath: 'containment' },
  );
}

/** undefined: it is not there. @throws where no more files may be opened */
function read(file: string): string | undefined {
  try {
    return withSpares(() => readFileSync(file, 'latin1'));
  } catch (error) {
    if (isShort(error)) throw error;
    return undefined;
  }
}

function write(file: string, value: string): boolean {
  try {
    withSpares(() => {
      writeFileSync(file, value);
    });
    return true;
  } catch {
    return false;
  }
}

function attempt(step: string, path: string, program: unknown, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw refusal(error, step, path, program);
  }
}

function refusal(
  error: unknown,
  step: string,
  path: string,
  program: unknown,
): SallyportError | Error {
  const { errno } = error as NodeJS.ErrnoException;
  if (errno === undefined) return error as Error;
  const advice = -errno === constants.errno.EAGAIN ? 'cgroup.max.descendants is reached' : '';
  return systemError(-errno, step, advice, {
    syscall: `spawn ${String(program)}`,
    path: String(program),
    stage: 'cgroup',
    stagePath: path,
    stageSource: 'reported',
  });
}
