// Starts the program of a call, by the way that is quickest for the caller.
import { constants } from 'node:os';

import {
  isFailure,
  SESSION_MODES,
  type NativeFailure,
  type NativeRequest,
  type SyncEvents,
} from '../native-binding.js';
import { launcherPath, native } from '../native.js';
import { STEP } from '../plan/steps.js';
import { inheritedPairs, limitEnvironment } from './environment.js';
import type { ProgramCall } from './node-internals.js';
import type { Settings } from './settings.js';

/** Where execvp(3) searches when there is no PATH: _CS_PATH of confstr(3). */
const PATH_OF_THE_SYSTEM = '/bin:/usr/bin';

const NO_VERIFICATION = new BigUint64Array(0);

export interface StartedProgram {
  readonly id: number;
  readonly pid: number;
}

/**
 * @param table takes its descriptors over
 * @param events where its exit is told; undefined: by the environment's own callback
 */
export function startProgram(
  call: ProgramCall,
  table: Int32Array,
  settings: Settings,
  events?: SyncEvents,
): StartedProgram | NativeFailure {
  if (call.uid === -1 || call.gid === -1) {
    // To setresuid(2) that is "leave it", to setuid(2), which libuv calls, an error.
    releaseTable(table);
    return { stage: 'user', errno: constants.errno.EINVAL, path: '' };
  }
  const environment = limitEnvironment(call.envPairs ?? inheritedPairs(), settings);
  const { noNewPrivileges } = settings;
  // posix_spawn on the calling thread costs the same whatever the heap, and gives the pid soonest. A
  // lane is needed for what it has and we do not, or where this C library could not close the rest.
  const byLane = noNewPrivileges || !native().canSpawnDirect();
  const started = native().spawnProgram(
    ...request(call, table, environment),
    byLane,
    noNewPrivileges,
    findPath(environment),
    events === undefined,
    events,
  );
  return isFailure(started) ? started : { id: started[0], pid: started[1] };
}

function releaseTable(table: Int32Array): void {
  const held = table.filter((_, index) => index % 3 === 2).filter((fd) => fd !== -1);
  native().releaseDescriptors(held);
}

function request(
  call: ProgramCall,
  table: Int32Array,
  environment: readonly string[],
): NativeRequest {
  const steps = identitySteps(call);
  return [
    call.file,
    encodeStrings(call.args ?? []),
    encodeStrings(environment),
    call.cwd ?? '',
    table,
    call.detached ? SESSION_MODES.new : SESSION_MODES.inherit,
    -1,
    steps.length === 0 ? '' : launcherPath(),
    Float64Array.from(steps),
    false,
    '',
    '',
    false,
    '',
    NO_VERIFICATION,
  ];
}

/** As libuv does it: supplementary groups go, the group before the user. */
function identitySteps({ uid, gid }: ProgramCall): number[] {
  const hasUser = uid !== undefined && uid !== null;
  const hasGroup = gid !== undefined && gid !== null;
  if (!hasUser && !hasGroup) return [];
  // Node takes ids as 32 bits with a sign.
  return [
    ...[STEP.dropGroups, 0],
    ...(hasGroup ? [STEP.group, 1, gid >>> 0] : []),
    ...(hasUser ? [STEP.user, 1, uid >>> 0] : []),
  ];
}

function encodeStrings(strings: readonly string[]): string {
  return strings.map((text) => `${endAtNul(text)}\0`).join('');
}

/** As a string of C ends: what follows would become one of its own. Node refuses it, ChildProcess not. */
function endAtNul(text: unknown): string {
  // A ChildProcess that is used by itself takes anything.
  const words = String(text);
  const end = words.indexOf('\0');
  return end === -1 ? words : words.slice(0, end);
}

/** The first one counts, as for getenv(3). */
function findPath(environment: readonly string[]): string {
  const pair = environment.find((entry) => entry.startsWith('PATH='));
  return pair === undefined ? PATH_OF_THE_SYSTEM : pair.slice('PATH='.length);
}
