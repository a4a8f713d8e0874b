// Who has the other ends of a process's pipes and Unix sockets.
import type { DescriptorRecord, Holding } from './record.js';
import { indexHoldings, scanFor } from './scan.js';
import type { ScannedProcess } from './unpack.js';

/**
 * One look at all processes, whatever the number of those that are completed.
 *
 * @param everybody all processes, where they have been scanned already
 */
export function addOtherEnds(
  processes: readonly ScannedProcess[],
  everybody?: readonly ScannedProcess[],
): void {
  const inodes = findInodes(processes);
  const index = indexHoldings(inodes, everybody ?? scanFor(inodes));
  for (const { descriptors } of processes) {
    for (const record of descriptors) {
      if (record.kind === 'pipe')
        record.otherEnd = pickOtherEnd(record, index.get(record.inode) ?? []);
      const peer = record.socket?.peer;
      if (!record.socket || !peer) continue;
      const holders = (index.get(peer.inode) ?? []).map(withoutAccess);
      record.socket = { ...record.socket, peer: { ...peer, holders } };
    }
  }
}

/** Of pipes their own, of Unix sockets that of the other end. */
function findInodes(processes: readonly ScannedProcess[]): Set<string> {
  const inodes = new Set<string>();
  for (const { descriptors } of processes) {
    for (const { kind, inode, socket } of descriptors) {
      if (kind === 'pipe') inodes.add(inode);
      else if (socket?.peer) inodes.add(socket.peer.inode);
    }
  }
  return inodes;
}

function pickOtherEnd(
  { access }: DescriptorRecord,
  holdings: ReadonlyArray<Holding & { access: string }>,
): Holding[] {
  return holdings.filter((other) => other.access !== access).map(withoutAccess);
}

const withoutAccess = ({ pid, fd, command }: Holding): Holding => ({ pid, fd, command });
