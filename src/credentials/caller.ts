// Who is at the other end of a connection to our endpoint, and whether that is a process of the run.
import { scanFacts, scanListeners } from '../audit/scan.js';
import { findTree } from '../audit/tree.js';
import type { ScannedProcess } from '../audit/unpack.js';

/** A process that asked for a credential. */
export interface Caller {
  readonly pid: number;
  /** Null where it could not be read. */
  readonly executable: string | null;
  /** What started it: of a helper, the tool that wanted the credential. */
  readonly parentPid: number;
  readonly parentExecutable: string | null;
}

export type Verification =
  | { readonly admitted: true; readonly caller: Caller }
  | { readonly admitted: false; readonly caller: Caller | null; readonly why: string };

/** One process for ever: numbers are used again. */
export interface Root {
  readonly pid: number;
  readonly startTime: number;
}

/**
 * What all of a run comes from: its program, or the init that stands between us and the program.
 *
 * @returns undefined where there is no such process
 */
export function findRoot(pid: number): Root | undefined {
  const processes = new Map(scanFacts().map((facts) => [facts.pid, facts]));
  const target = processes.get(pid);
  if (target === undefined) return undefined;
  const parent = processes.get(target.parentPid);
  const isInit = parent !== undefined && parent.parentPid === process.pid;
  const { pid: number, startTime } = isInit ? parent : target;
  return { pid: number, startTime };
}

/**
 * Every process that has the caller's end must be of the run: one outside could read the answer too.
 * One whose descriptors we may not read is not seen.
 *
 * @param port the caller's, on 127.0.0.1
 * @param endpoint ours
 */
export function verifyCaller(port: number, endpoint: number, root: Root | undefined): Verification {
  const { processes, sockets } = scanListeners(port);
  const ends = new Set(
    sockets
      .filter(({ facts }) => isLoopback(facts.local, port) && isLoopback(facts.remote, endpoint))
      .map(({ inode }) => inode),
  );
  const callers = processes.filter(({ descriptors }) =>
    descriptors.some(({ inode, kind }) => kind === 'socket' && ends.has(inode)),
  );
  const first = callers[0];
  if (first === undefined) {
    return {
      admitted: false,
      caller: null,
      why: 'no process that we may read has this connection',
    };
  }
  const members = findMembers(root, processes);
  const stranger = callers.find(({ pid }) => !members.has(pid));
  if (stranger === undefined) return { admitted: true, caller: describe(first, processes) };
  const why = root === undefined ? 'no run has been admitted yet' : 'it is no process of the run';
  return { admitted: false, caller: describe(stranger, processes), why };
}

function findMembers(
  root: Root | undefined,
  processes: readonly ScannedProcess[],
): ReadonlySet<number> {
  if (root === undefined) return new Set();
  const top = processes.find(({ pid }) => pid === root.pid);
  if (top?.startTime !== root.startTime) return new Set();
  return new Set(findTree(root.pid, processes));
}

/** A socket of IPv6 may speak IPv4 (Java's do). */
function isLoopback(address: string, port: number): boolean {
  return address === `127.0.0.1:${port}` || address === `[::ffff:127.0.0.1]:${port}`;
}

function describe(
  { pid, executable, parentPid }: ScannedProcess,
  processes: readonly ScannedProcess[],
): Caller {
  const parent = processes.find((process) => process.pid === parentPid);
  return { pid, executable, parentPid, parentExecutable: parent?.executable ?? null };
}
