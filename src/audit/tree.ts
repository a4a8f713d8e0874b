// Which processes belong to a tree, orphans of it included.
import type { ScannedProcess } from './unpack.js';

type Facts = Pick<ScannedProcess, 'pid' | 'parentPid' | 'groupId' | 'sessionId' | 'startTime'>;

/**
 * Descendants by parent, and what shares a session or process group that a member leads: those stay
 * when a parent in between has ended and its children were adopted by somebody outside.
 *
 * @returns parents before their children; empty where there is no such process
 */
export function findTree(root: number, processes: readonly Facts[]): number[] {
  const byPid = new Map(processes.map((process) => [process.pid, process]));
  const top = byPid.get(root);
  if (top === undefined) return [];
  const members = new Set([root]);
  const order = [root];
  for (let grown = true; grown;) {
    grown = false;
    for (const { pid, parentPid, groupId, sessionId, startTime } of processes) {
      if (members.has(pid) || startTime < top.startTime) continue;
      if (!members.has(parentPid) && !members.has(groupId) && !members.has(sessionId)) continue;
      members.add(pid);
      order.push(pid);
      grown = true;
    }
  }
  return sortByParent(order, byPid);
}

function sortByParent(order: readonly number[], byPid: ReadonlyMap<number, Facts>): number[] {
  const children = new Map<number, number[]>();
  const inTree = new Set(order);
  const sorted: number[] = [];
  const tops: number[] = [];
  for (const pid of order) {
    const parent = byPid.get(pid)?.parentPid ?? 0;
    if (pid === order[0] || !inTree.has(parent)) tops.push(pid);
    else children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const visit = (pid: number): void => {
    sorted.push(pid);
    for (const child of children.get(pid) ?? []) visit(child);
  };
  tops.forEach(visit);
  return sorted;
}
