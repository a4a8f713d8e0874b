// What an audit says of a process and of each of its descriptors.
import type { DescriptorObject, SocketFacts } from '../objects/object.js';

/** tcp(7). `BOUND`: bound, and neither listening nor connected. */
export const SOCKET_STATES = [
  'UNKNOWN',
  'ESTABLISHED',
  'SYN-SENT',
  'SYN-RECV',
  'FIN-WAIT-1',
  'FIN-WAIT-2',
  'TIME-WAIT',
  'CLOSE',
  'CLOSE-WAIT',
  'LAST-ACK',
  'LISTEN',
  'CLOSING',
  'NEW-SYN-RECV',
  'BOUND',
] as const;

/** State of a socket, as the kernel names it. */
export type SocketState = (typeof SOCKET_STATES)[number];

/** A descriptor of some process that refers to an object in question. */
export interface Holding {
  /** Process id. */
  readonly pid: number;
  /** Number of the descriptor there. */
  readonly fd: number;
  /** At most 15 bytes, and whatever the process chose. */
  readonly command: string;
}

/** A socket as the kernel's tables have it. */
export interface SocketRecord extends SocketFacts {
  /** State of the connection. */
  readonly state: SocketState;
  /** Bytes to be read; of a listener the connections that wait to be accepted. Null: not told. */
  readonly receiveQueue: number | null;
  /** Bytes that are not sent yet; of a listener how many connections may wait (its backlog). */
  readonly sendQueue: number | null;
  /** The other end of a Unix socket, where the kernel tells it. */
  readonly peer: SocketPeer | null;
  /** Inode of the network namespace in whose tables it was found; null where it is in none. */
  readonly network: number | null;
}

/** The other end of a connection on this machine. */
export interface SocketPeer {
  /** Inode of the other socket. */
  readonly inode: string;
  /** Only where it was asked for: see `auditProcess`. */
  readonly holders?: readonly Holding[];
}

/** How a process came to a descriptor. */
export interface DescriptorOrigin {
  /** Whether its parent has the same open file description now. */
  readonly inherited: boolean;
  /** `kcmp`: the kernel said so. `identity`: the parent has the same object, or none such. */
  readonly by: 'kcmp' | 'identity';
}

/** One descriptor of a process. */
export interface DescriptorRecord extends DescriptorObject {
  /** Number of the descriptor. */
  readonly fd: number;
  /** Null where the reader may not know; `flags` and `offset` are then 0. */
  readonly closeOnExec: boolean | null;
  /** Position in the file, in bytes. */
  readonly offset: number;
  /** It has no name in any directory any more. */
  readonly deleted: boolean;
  /** As /proc/locks has them, without their number. */
  readonly locks: readonly string[];
  /** The thread whose own table it is in; absent where it is the process's. */
  readonly thread?: number;
  /** What the kernel's tables say of it; of sockets only. */
  readonly socket?: SocketRecord;
  /** Of a pidfd: the process it stands for, -1 once that has been reaped. */
  readonly pidfdTarget?: number;
  /** Of a pipe: who has the other end. Only where it was asked for: see `auditProcess`. */
  readonly otherEnd?: readonly Holding[];
  /** Absent where it cannot be known: the parent is gone, or not readable. */
  readonly origin?: DescriptorOrigin;
}

/** What a comparison came to. What could not be read is never clean. */
export type Verdict = 'clean' | 'leaks' | 'unknown';

/** What was open in a process at one look. */
export interface ProcessAudit {
  /** Process id. */
  readonly pid: number;
  /** Clock ticks after boot: with `pid` it names one process for ever. */
  readonly startTime: number;
  /** When it began, by the clock of this machine. */
  readonly startedAt: Date;
  /** R, S, D, Z, …: proc_pid_stat(5). */
  readonly state: string;
  /** At most 15 bytes, and whatever the process chose. */
  readonly command: string;
  /** Null where it has none (a thread of the kernel) or the reader may not know. */
  readonly executable: string | null;
  /** At most 4 KiB of it. May hold secrets: everybody on the machine can read it. */
  readonly commandLine: readonly string[];
  /** The effective one. Null where it is not readable. */
  readonly uid: number | null;
  /** Id of its session, proc_pid_stat(5). */
  readonly sessionId: number;
  /** Id of its process group, proc_pid_stat(5). */
  readonly groupId: number;
  /** Process id of its parent; 0: in another namespace of processes, or none. */
  readonly parentPid: number;
  /** By ascending number; those of threads with a table of their own come last. */
  readonly descriptors: readonly DescriptorRecord[];
  /** Only where there is something to compare with. */
  readonly verdict?: Verdict;
  /** Empty without `against`. */
  readonly leaks: readonly DescriptorRecord[];
  /** Why it could not be read, or not wholly. Absent: it was. */
  readonly unreadable?: string;
}
