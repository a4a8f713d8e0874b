// Attributes → the steps that the launcher takes, in their order.
import {
  encodeIoPriority,
  LIMITS,
  type LaunchAttributes,
  type LimitName,
  type LimitValue,
} from './attributes.js';

// Codes of native/launcher/instructions.h.
export const STEP = {
  limit: 1,
  umask: 2,
  nice: 3,
  ioPriority: 4,
  oomScoreAdjust: 5,
  cpuAffinity: 6,
  terminal: 7,
  groups: 8,
  group: 9,
  user: 10,
  dieWithParent: 11,
  dropGroups: 15,
} as const;

/** Stands for an id that the addon looks up. */
const LOOK_UP = -1;

export interface LauncherSteps {
  /** Flat: code, number of arguments, arguments. */
  readonly numbers: readonly number[];
  /** Names or numbers to look up; '' where there is nothing to. */
  readonly user: string;
  readonly group: string;
}

/**
 * The order is the point. While the launcher may still do everything: what needs privileges. Groups
 * before the group before the user: setresuid(2) takes away the right to change the others. The
 * parent-death signal after the ids, which clear it.
 */
export function orderSteps(attributes: LaunchAttributes, parent: number): LauncherSteps {
  const numbers: number[] = [];
  // One by one: a call with thousands of arguments is more than the stack takes.
  const add = (code: number, values: readonly number[]): void => {
    numbers.push(code, values.length);
    for (const value of values) numbers.push(value);
  };
  const {
    limits = {},
    umask,
    nice,
    ioPriority,
    oomScoreAdjust,
    cpuAffinity,
    terminal,
  } = attributes;
  const { user, group, groups, dieWithParent } = attributes;

  if (oomScoreAdjust !== undefined) add(STEP.oomScoreAdjust, [oomScoreAdjust]);
  if (nice !== undefined) add(STEP.nice, [nice]);
  if (ioPriority !== undefined) add(STEP.ioPriority, [encodeIoPriority(ioPriority)]);
  if (cpuAffinity !== undefined) add(STEP.cpuAffinity, cpuAffinity);
  if (terminal !== undefined) add(STEP.terminal, [terminal]);
  if (umask !== undefined) add(STEP.umask, [umask]);
  for (const [name, { soft, hard }] of Object.entries(limits)) {
    add(STEP.limit, [LIMITS[name as LimitName], encodeLimit(soft), encodeLimit(hard)]);
  }
  if (groups !== undefined) add(STEP.groups, groups === 'init' ? [LOOK_UP] : groups);
  if (group !== undefined || user !== undefined) add(STEP.group, [idOrLookUp(group)]);
  if (user !== undefined) add(STEP.user, [idOrLookUp(user)]);
  if (dieWithParent !== undefined) add(STEP.dieWithParent, [dieWithParent, parent]);

  const looksUpUser = typeof user === 'string' || groups === 'init' || group === undefined;
  return {
    numbers,
    user: user !== undefined && looksUpUser ? String(user) : '',
    group: typeof group === 'string' ? group : '',
  };
}

function idOrLookUp(id: string | number | undefined): number {
  return typeof id === 'number' ? id : LOOK_UP;
}

function encodeLimit(value: LimitValue): number {
  return value === 'unlimited' ? Infinity : value;
}
