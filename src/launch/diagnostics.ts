// Tells subscribers of diagnostics_channel what is launched and how it ends.
import { channel } from 'node:diagnostics_channel';

import { describePlan, type PlanDescription } from '../plan/describe.js';
import type { Child } from './child.js';
import type { ExitStatus } from './outcomes.js';

/** Message of `sallyport:launch`. Holds no value of a variable or argument. */
export interface LaunchMessage {
  readonly pid: number;
  readonly plan: PlanDescription;
}

/** Message of `sallyport:exit`. */
export interface ExitMessage {
  readonly pid: number;
  readonly file: string;
  readonly status: ExitStatus;
}

const launches = channel('sallyport:launch');
const exits = channel('sallyport:exit');

export function publishLaunch({ pid, plan }: Pick<Child, 'pid' | 'plan'>): void {
  // To describe a plan costs more than to launch it: for those who listen.
  if (!launches.hasSubscribers) return;
  const message: LaunchMessage = { pid, plan: describePlan(plan) };
  launches.publish(message);
}

export function publishExit({ pid, plan }: Pick<Child, 'pid' | 'plan'>, status: ExitStatus): void {
  if (!exits.hasSubscribers) return;
  const message: ExitMessage = { pid, file: plan.file, status };
  exits.publish(message);
}
