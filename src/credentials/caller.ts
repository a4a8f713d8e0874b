// Who is at the other end of a connection to our endpoint, and whether that is a process of the run.
import { scanFacts, scanFor, scanSockets } from '../audit/scan.js';
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
  const target = readFacts(pid);
  if (target === undefined) return undefined;
  const parent = readFacts(target.parentPid);
  const isInit = parent !== undefined && parent.parentPid === process.pid;
  const { pid: number, startTime } = isInit ? parent : target;
  return { pid: number, startTime };
}

const readFacts = (pid: number): ScannedProcess | undefined =>
  scanFacts({ pids: [pid] }).find(({ refusal }) => refusal === 'none');

/**
 * The process that has the caller's end of the connection, by the socket's inode. First among those of
 * the run, which are few; only a stranger is looked for everywhere. A process whose descriptors we may
 * not read is not seen, and so refused.
 *
 * @param port the caller's, on 127.0.0.1
 * @param endpoint ours
 */
export function verifyCaller(port: number, endpoint: number, root: Root | undefined): Verification {
  const { processes, sockets } = scanSockets(port);
  const ends = sockets.filter(
    ({ facts }) => isLoopback(facts.local, port) && isLoopback(facts.remote, endpoint),
  );
  // What is closed has no inode, or is no row any more.
  const inodes = new Set(ends.map(({ inode }) => inode).filter((inode) => inode !== '0'));
  const members = findMembers(root, processes);
  const member = findHolder(inodes, members);
  if (member !== undefined) return { admitted: true, caller: describe(member, processes) };
  const stranger = findHolder(inodes);
  if (stranger === undefined) {
    const why =
      inodes.size === 0
        ? 'it has closed its connection'
        : 'no process that we may read has this connection';
    return { admitted: false, caller: null, why };
  }
  const why = root === undefined ? 'no run has been admitted yet' : 'it is no process of the run';
  return { admitted: false, caller: describe(stranger, processes), why };
}

function findHolder(
  inodes: ReadonlySet<string>,
  pids?: readonly number[],
): ScannedProcess | undefined {
  if (pids?.length === 0) return undefined;
  return scanFor(inodes, { pids }).find(({ descriptors }) =>
    descriptors.some(({ inode, kind }) => kind === 'socket' && inodes.has(inode)),
  );
}

function findMembers(
  root: Root | undefined,
  processes: readonly ScannedProcess[],
): readonly number[] {
  if (root === undefined) return [];
  const top = processes.find(({ pid }) => pid === root.pid);
  return top?.startTime === root.startTime ? findTree(root.pid, processes) : [];
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
