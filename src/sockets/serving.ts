// Whether a process that holds a listener accepts on it, or only has a copy that it was given.
import { describeErrno } from '../errors.js';
import { localPort } from '../audit/port.js';
import type { DescriptorRecord, SocketRecord } from '../audit/record.js';
import { scan } from '../audit/scan.js';
import type { ScannedProcess, ScannedSocket } from '../audit/unpack.js';
import { native } from '../native.js';

const AF_UNIX = 1;
const ownPid = process.pid;

/** What a holder does with a listener. */
export type Role = 'owner' | 'copy' | 'unknown';

export interface Judgement {
  readonly role: Role;
  readonly evidence: string;
}

/** Evidence of nothing but that. */
export const IS_ITSELF = 'it is this process itself';

const NUMBERS_FOR_EACH = 5;

/**
 * What counts is what a process does with the listener, not how it came to it: a server that was
 * given its socket by a manager is the owner, and a child that merely inherited it is not.
 *
 * @param listeners those that the process has; all at the cost of one look at it
 * @param above processes above it that have any of them too
 * @returns by inode
 */
export function judge(
  process: ScannedProcess,
  listeners: readonly ScannedSocket[],
  above: readonly number[],
): Map<string, Judgement> {
  const inodes = Float64Array.from(listeners, ({ inode }) => Number(inode));
  const numbers = native().findServingEvidence(process.pid, inodes);
  let accepted: ReadonlySet<string> | undefined;
  const hasAccepted = ({ facts }: ScannedSocket): boolean => {
    accepted ??= findAccepted(process.pid, above);
    return accepted.has(keyOf(facts));
  };
  return new Map(
    listeners.map((socket, index) => {
      const at = index * NUMBERS_FOR_EACH;
      const evidence = numbers.subarray(at, at + NUMBERS_FOR_EACH);
      return [socket.inode, conclude(process.pid, evidence, () => hasAccepted(socket))];
    }),
  );
}

function conclude(pid: number, evidence: Int32Array, hasAccepted: () => boolean): Judgement {
  const [epoll, accept, poll, unclear, errno = 0] = evidence;
  if (accept) return { role: 'owner', evidence: 'a thread of it sits in accept(2) on it' };
  if (epoll) return { role: 'owner', evidence: 'an epoll of it watches it' };
  if (poll)
    return { role: 'owner', evidence: 'a thread of it waits for it in poll(2) or select(2)' };
  if (hasAccepted()) {
    return { role: 'owner', evidence: 'it has connections that came in by it' };
  }
  // Whoever asks is running, which tells nothing.
  if (pid === ownPid) return { role: 'owner', evidence: IS_ITSELF };
  if (errno !== 0) {
    return {
      role: 'unknown',
      evidence: `what it does cannot be read (${describeErrno(errno).name})`,
    };
  }
  if (unclear) {
    return { role: 'unknown', evidence: 'what it was doing when it was looked at does not tell' };
  }
  return {
    role: 'copy',
    evidence: 'no thread of it waits for a connection, no epoll watches it, and it has none',
  };
}

/** What a listener and the connections that came in by it have in common. */
function keyOf(socket: SocketRecord): string {
  const { family, type, local, network } = socket;
  const port = localPort(socket);
  return port === null ? `${family} ${local}` : `${type} ${port} ${network ?? ''}`;
}

/**
 * A server that handles one connection at a time is in no accept(2) meanwhile: it has the connection.
 * One that a process above has too was handed down as the listener was.
 */
function findAccepted(pid: number, above: readonly number[]): ReadonlySet<string> {
  const accepted = new Set<string>();
  const connections = findConnections(pid);
  if (connections.length === 0) return accepted;
  const handedDown = new Set(above.flatMap(findConnections).map(({ inode }) => inode));
  for (const { inode, socket } of connections) {
    if (socket !== undefined && !handedDown.has(inode)) accepted.add(keyOf(socket));
  }
  return accepted;
}

function findConnections(pid: number): DescriptorRecord[] {
  const { descriptors = [] } = scan({ pids: [pid] }).processes[0] ?? {};
  return descriptors.filter(({ kind, socket }) => {
    if (kind !== 'socket' || socket === undefined || socket.local === '') return false;
    // Of a Unix connection the client mostly has no name.
    return socket.remote !== '' || (socket.family === AF_UNIX && socket.state === 'ESTABLISHED');
  });
}
