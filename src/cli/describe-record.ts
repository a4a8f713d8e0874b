// A descriptor of an audit in words and columns.
import type { DescriptorRecord, Holding, ProcessAudit, SocketRecord } from '../index.js';
import type { Row } from './table.js';

const FAMILIES: Record<number, string> = {
  1: 'unix',
  2: 'inet',
  10: 'inet6',
  16: 'netlink',
  17: 'packet',
  40: 'vsock',
};
const TYPES: Record<number, string> = { 1: 'stream', 2: 'dgram', 3: 'raw', 5: 'seqpacket' };
const PROTOCOLS: Record<string, string> = {
  '6': 'tcp',
  '17': 'udp',
  '1': 'icmp',
  '58': 'icmp',
  '262': 'mptcp',
};

/** `tcp`, `udp6`, `unix stream`. */
function nameProtocol({ family, type, protocol }: SocketRecord): string {
  const isIp = family === 2 || family === 10;
  const known = isIp ? PROTOCOLS[String(protocol)] : undefined;
  if (known !== undefined) return family === 10 ? `${known}6` : known;
  return [FAMILIES[family] ?? `family ${family}`, TYPES[type] ?? ''].join(' ').trim();
}

const who = ({ pid, command, fd }: Holding): string => `${command}(${pid}):${fd}`;

/** What is behind it, in one phrase. */
export function describeTarget(record: DescriptorRecord): string {
  const { target, socket, otherEnd, pidfdTarget, deleted, locks } = record;
  const notes: string[] = [];
  if (otherEnd !== undefined) {
    // A process that cannot be read may have it: that nobody does is more than is known.
    notes.push(otherEnd.length === 0 ? 'other end not found' : `⇄ ${otherEnd.map(who).join(' ')}`);
  }
  if (socket?.peer?.holders !== undefined && socket.peer.holders.length > 0) {
    notes.push(`⇄ ${socket.peer.holders.map(who).join(' ')}`);
  }
  if (pidfdTarget !== undefined)
    notes.push(pidfdTarget < 0 ? 'of one that has ended' : `of ${pidfdTarget}`);
  if (locks.length > 0) notes.push('locked');
  if (deleted && !target.endsWith('(deleted)')) notes.push('(deleted)');
  return [socket === undefined ? target : describeSocket(target, socket), ...notes].join(' ');
}

function describeSocket(target: string, socket: SocketRecord): string {
  const ends = [socket.local, socket.remote].filter((end) => end !== '').join(' → ');
  const queue =
    socket.listening && socket.sendQueue !== null
      ? ` (${socket.receiveQueue ?? 0} of ${socket.sendQueue} waiting)`
      : '';
  return `${nameProtocol(socket)} ${ends === '' ? target : ends} ${socket.state}${queue}`;
}

export const DESCRIPTOR_HEADING = ['FD', 'KIND', 'ACCESS', 'EXEC', 'ORIGIN', 'WHAT'] as const;

/** `7`; `7@4243` where thread 4243 has a table of its own. */
export function describeNumber({ fd, thread }: DescriptorRecord): string {
  return thread === undefined ? String(fd) : `${fd}@${thread}`;
}

export function describeColumns(record: DescriptorRecord, isLeak: boolean): Row {
  const { kind, access, closeOnExec, origin } = record;
  const stays = closeOnExec === null ? '?' : closeOnExec ? 'closed' : 'kept';
  const came = origin === undefined ? '' : origin.inherited ? 'inherited' : 'own';
  const number = describeNumber(record);
  return {
    cells: [isLeak ? `${number}!` : number, kind, access, stays, came, describeTarget(record)],
    colour: isLeak ? 'red' : undefined,
  };
}

/** `4242 node: /usr/bin/node (uid 0, parent 1, session 4242, since …)`. */
export function describeProcess(audit: ProcessAudit): string {
  const { pid, command, executable, uid, parentPid, sessionId, startedAt } = audit;
  const facts = [
    `uid ${uid ?? '?'}`,
    `parent ${parentPid}`,
    `session ${sessionId}`,
    `since ${startedAt.toISOString()}`,
  ];
  // Threads of the kernel have none.
  const none = audit.unreadable === undefined ? 'no program' : 'a program that cannot be read';
  return `${pid} ${command}: ${executable ?? none} (${facts.join(', ')})`;
}
