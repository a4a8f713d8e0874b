// Holds copies of the descriptors that a plan names, from the moment it is made until the child has them.
import { constants } from 'node:os';

import { systemError } from '../errors.js';
import { adviseLimit } from '../limits.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import type { DescriptorObject } from '../objects/object.js';
import { buildTable, takeListeners, type TableEntry } from '../plan/descriptors.js';
import type { RawOptions } from '../plan/options.js';
import { finishPlan, type Draft, type LaunchPlan } from '../plan/plan.js';

interface HeldDescriptor {
  readonly fd: number;
  readonly object: DescriptorObject;
}

const { EBADF } = constants.errno;

export class HeldDescriptors {
  readonly #bySource = new Map<number, HeldDescriptor>();
  #program: HeldDescriptor | null = null;

  /** @throws {SallyportError} stage `descriptor`; nothing stays open then */
  static take(draft: Draft): HeldDescriptors {
    const held = new HeldDescriptors();
    const sources = new Set<number>();
    for (const { source } of draft.table) {
      if (source !== null) sources.add(source);
    }
    const numbers = [...sources];
    if (draft.program !== null) numbers.push(draft.program.fd);
    hold(draft, numbers).forEach((descriptor, index) => {
      if (index === sources.size) held.#program = descriptor;
      else held.#bySource.set(numbers[index] as number, descriptor);
    });
    return held;
  }

  /** Of a draft that was pinned after its descriptors had been taken. @throws {SallyportError} */
  takeProgram(draft: Draft): void {
    if (draft.program !== null) [this.#program = null] = hold(draft, [draft.program.fd]);
  }

  /** The copy of a number that the plan names as a source. */
  fdOf(source: number): number {
    return this.#get(source).fd;
  }

  /** The copy of a program that is pinned. */
  get program(): HeldDescriptor | null {
    return this.#program;
  }

  /** @throws {SallyportError} where an expectation is not met */
  finish(draft: Draft): LaunchPlan {
    return finishPlan(draft, (source) => this.#get(source).object);
  }

  /** The addon has taken them over: it closes them now. */
  handOver(): void {
    this.#bySource.clear();
    this.#program = null;
  }

  release(): void {
    const held = [...this.#bySource.values(), ...(this.#program === null ? [] : [this.#program])];
    if (held.length === 0) return;
    native().releaseDescriptors(Int32Array.from(held, ({ fd }) => fd));
    this.handOver();
  }

  #get(source: number): HeldDescriptor {
    const held = this.#bySource.get(source);
    if (held === undefined) throw new Error(`descriptor ${source} is not held`);
    return held;
  }
}

/**
 * For whoever opens files of its own before it makes the plan: they would come to stand at a number that
 * is named and is not open, and the child would have them. Asked before that.
 *
 * @returns what the launch is to be refused with; null also where the options are wrong: the plan says so
 */
export function findClosed(file: unknown, options: RawOptions): Error | null {
  let table: readonly TableEntry[];
  try {
    const listeners = takeListeners(options.listeners);
    table = buildTable(options.stdio, options.pass, () => Infinity, listeners);
  } catch {
    return null;
  }
  const numbers = new Set(table.flatMap(({ source }) => source ?? []));
  if (numbers.size === 0) return null;
  const held = native().holdDescriptors(Int32Array.from(numbers));
  if (isFailure(held)) return holdError(String(file), table, held.errno, held.path);
  native().releaseDescriptors(Int32Array.from(held, ([fd]) => fd));
  return null;
}

function hold(draft: Draft, numbers: readonly number[]): HeldDescriptor[] {
  if (numbers.length === 0) return [];
  const result = native().holdDescriptors(Int32Array.from(numbers));
  if (isFailure(result)) {
    throw holdError(draft.plan.file, draft.table, result.errno, result.path);
  }
  return result.map(([fd, object]) => {
    if (object.socket !== undefined) Object.freeze(object.socket);
    return { fd, object: Object.freeze(object) };
  });
}

function holdError(
  file: string,
  table: readonly TableEntry[],
  errno: number,
  number: string,
): Error {
  const entry = table.find(({ source }) => String(source) === number);
  const role = entry?.channel === 'inherit' ? `; stdio ${number} is 'inherit'` : '';
  const advice = errno === EBADF ? `it is not open in this process${role}` : adviseLimit(errno);
  return systemError(errno, 'fcntl', advice, {
    syscall: `spawn ${file}`,
    path: file,
    stage: 'descriptor',
    stagePath: number,
    stageSource: 'reported',
  });
}
