// What lanes.cjs gives.
import type { launch, SpawnOptions } from '../../src/index.js';

export interface LaneLook {
  thread: number;
  /** Number and link of each descriptor in the lane's own table. */
  descriptors: Array<[fd: number, link: string]>;
}

export function listLanes(): LaneLook[];
/** Name of each thread, and one line of its /proc status. */
export function readThreadStatus(name: string): Array<[thread: string, value: string | undefined]>;
/** Launches until there are as many lanes as a process usually has. */
export function startLanes(
  start: typeof launch,
  program: string,
  options?: SpawnOptions,
): Promise<void>;
export interface DescriptorWatch {
  /** How many more are open than at the beginning, lanes apart. */
  more(): number;
  /** Waits until none is. */
  settle(): Promise<void>;
}

export function watchDescriptors(): DescriptorWatch;
