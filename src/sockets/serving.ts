// Whether a process that holds a listener accepts on it, or only has a copy that it was given.
import { describeErrno } from '../errors.js';
import { localPort } from '../audit/port.js';
import { scan } from '../audit/scan.js';
import type { ScannedProcess, ScannedSocket } from '../audit/unpack.js';
import { native } from '../native.js';

const ownPid = process.pid;

export type Role = 'owner' | 'copy' | 'unknown';

/**
 * What counts is what a process does with the listener, not how it came to it: a server that was
 * given its socket by a manager is the owner, and a child that merely inherited it is not.
 */
export function judge(
  process: ScannedProcess,
  socket: ScannedSocket,
): { role: Role; evidence: string } {
  const inode = Number(socket.inode);
  const [epoll, accept, poll, unclear, errno] = native().findServingEvidence(process.pid, inode);
  if (accept) return { role: 'owner', evidence: 'a thread of it sits in accept(2) on it' };
  if (epoll) return { role: 'owner', evidence: 'an epoll of it watches it' };
  if (poll)
    return { role: 'owner', evidence: 'a thread of it waits for it in poll(2) or select(2)' };
  if (hasAccepted(process, socket)) {
    return { role: 'owner', evidence: 'it has connections that came in by it' };
  }
  // Whoever asks is running, which tells nothing.
  if (process.pid === ownPid) return { role: 'owner', evidence: 'it is this process itself' };
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

/** A server that handles one connection at a time is in no accept(2) meanwhile. */
function hasAccepted({ pid }: ScannedProcess, { facts }: ScannedSocket): boolean {
  const port = localPort(facts);
  const descriptors = scan({ pids: [pid] }).processes[0]?.descriptors;
  return (
    descriptors?.some(({ kind, socket }) => {
      if (kind !== 'socket' || socket === undefined || socket.remote === '') return false;
      if (socket.type !== facts.type) return false;
      if (port !== null) return localPort(socket) === port && socket.network === facts.network;
      return socket.family === facts.family && facts.local !== '' && socket.local === facts.local;
    }) === true
  );
}
