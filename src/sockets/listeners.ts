// Every listening socket, who has it, which of them accepts on it, and how the others came to it.
import type { Holding } from '../audit/record.js';
import { localPort, requirePort } from '../audit/port.js';
import { findUnreadable, scanListeners, startedAt } from '../audit/scan.js';
import type { Scanned, ScannedProcess, ScannedSocket } from '../audit/unpack.js';
import { clean } from '../clean-text.js';
import { takeOwn } from '../own-properties.js';
import { IS_ITSELF, judge, type Role } from './serving.js';

/** What `listListeners` takes. */
export interface ListenerOptions {
  /** Only those on this TCP port. */
  port?: number | undefined;
}

/** A process that has a listener open, and whether it serves it. */
export interface ListenerHolder extends Holding {
  /**
   * `owner` accepts on it, or may; or it has handed it down to one that does, or is systemd, which
   * waits on it again later. `copy` was given it and does nothing with it; `unknown`: it cannot be
   * seen, and nothing is released from it without `force`.
   */
  readonly role: Role;
  /** What shows the role, in words. */
  readonly evidence: string;
  /** In words: how it came to the listener. */
  readonly howItGotThere: string;
  /** The holder above it in the chain of parents, if there is one: it had the listener first. */
  readonly inheritedFrom: number | null;
  /** At most 4 KiB of it. May hold secrets: everybody on the machine can read it. */
  readonly commandLine: readonly string[];
  /** Effective user id. */
  readonly uid: number | null;
  /** Process id of its parent. */
  readonly parentPid: number;
  /** When the process began; when it got the listener nobody recorded. */
  readonly since: Date;
  /** When the process began, in clock ticks after boot, proc_pid_stat(5). */
  readonly startTime: number;
  /** Whether its own next child does not get it. Null where that is not readable. */
  readonly closeOnExec: boolean | null;
}

/** A socket that listens, with all that have it. */
export interface Listener {
  /** Inode of the socket: names it on this machine. */
  readonly inode: string;
  /** `127.0.0.1:80`, `[::1]:80`, `/run/x.sock`, `@abstract`. */
  readonly local: string;
  /** Null for a Unix socket. */
  readonly port: number | null;
  /** AF_*. */
  readonly family: number;
  /** User id of whoever made it. */
  readonly uid: number | null;
  /** Connections that wait to be accepted. */
  readonly waiting: number | null;
  /** How many may wait. */
  readonly backlog: number | null;
  /** Inode of its network namespace. */
  readonly network: number | null;
  /** Whether that is ours. */
  readonly isHere: boolean;
  /** Empty where no process that can be read has it. */
  readonly holders: readonly ListenerHolder[];
}

/** Who listens. */
export interface ListenerReport {
  /** By ascending port. */
  readonly listeners: readonly Listener[];
  /** Processes that could not be read: any of them may hold a listener too. */
  readonly unreadable: ReadonlyArray<{ readonly pid: number; readonly reason: string }>;
}

/**
 * Every socket that listens in the network namespaces of the processes that can be read, with all
 * that have it: the kernel's tables by NETLINK_SOCK_DIAG, sock_diag(7), beside `/proc/<pid>/fd`.
 *
 * @throws {SallyportTypeError} for a wrong option
 * @throws {SallyportError} stage `audit`: /proc cannot be listed
 */
export function listListeners(options?: ListenerOptions): ListenerReport {
  const { port } = takeOwn(options, 'options', ['port']);
  const number = port === undefined ? undefined : requirePort(port, 'port');
  const scanned = scanListeners(number ?? 0);
  return {
    listeners: findListeners(scanned, number),
    unreadable: findUnreadable(scanned.processes),
  };
}

/** @param port undefined: all of them */
export function findListeners(scanned: Scanned, port: number | undefined): Listener[] {
  const { processes, sockets, ownNetwork } = scanned;
  const listening = sockets
    .filter(({ facts }) => facts.state === 'LISTEN')
    .filter(({ facts }) => port === undefined || localPort(facts) === port);
  const holders = findAllHolders(listening, processes);
  return listening
    .map((socket) => ({
      inode: socket.inode,
      local: socket.facts.local,
      port: localPort(socket.facts),
      family: socket.facts.family,
      uid: socket.uid,
      waiting: socket.facts.receiveQueue,
      backlog: socket.facts.sendQueue,
      network: socket.facts.network,
      isHere: socket.facts.network === ownNetwork,
      holders: holders.get(socket.inode) ?? [],
    }))
    .sort((a, b) => (a.port ?? 65536) - (b.port ?? 65536) || (a.local < b.local ? -1 : 1));
}

/** By inode. Each process is looked at once, whatever the number of its listeners. */
function findAllHolders(
  listening: readonly ScannedSocket[],
  processes: readonly ScannedProcess[],
): Map<string, ListenerHolder[]> {
  const byPid = new Map(processes.map((process) => [process.pid, process]));
  const sockets = new Map(listening.map((socket) => [socket.inode, socket]));
  const pids = new Map<string, Set<number>>(listening.map(({ inode }) => [inode, new Set()]));
  for (const { pid, descriptors } of processes) {
    for (const { inode, kind } of descriptors) {
      if (kind === 'listener') pids.get(inode)?.add(pid);
    }
  }
  const holders = new Map<string, ListenerHolder[]>(listening.map(({ inode }) => [inode, []]));
  for (const process of processes) {
    const held = process.descriptors.filter(
      ({ inode, kind }) => kind === 'listener' && sockets.has(inode),
    );
    if (held.length === 0) continue;
    const inodes = [...new Set(held.map(({ inode }) => inode))];
    const inheritedFrom = new Map(
      inodes.map((inode) => [inode, findAncestor(process, pids.get(inode) ?? new Set(), byPid)]),
    );
    const above = [...new Set(inheritedFrom.values())].filter((pid) => pid !== null);
    const judgements = judge(
      process,
      inodes.flatMap((inode) => sockets.get(inode) ?? []),
      above,
    );
    for (const { fd, inode, closeOnExec } of held) {
      const judgement = judgements.get(inode);
      if (judgement === undefined) continue;
      const from = inheritedFrom.get(inode) ?? null;
      holders.get(inode)?.push({
        pid: process.pid,
        fd,
        command: process.command,
        ...judgement,
        howItGotThere: tellHow(process, from, byPid),
        inheritedFrom: from,
        commandLine: process.commandLine,
        uid: process.uid,
        parentPid: process.parentPid,
        since: startedAt(process.startTime),
        startTime: process.startTime,
        closeOnExec,
      });
    }
  }
  for (const [inode, all] of holders) holders.set(inode, withThoseAbove(all));
  return holders;
}

/**
 * Who opened a listener for others waits on it no more, and is no stray: the master of a server's
 * workers, and systemd while the service runs.
 */
function withThoseAbove(holders: readonly ListenerHolder[]): ListenerHolder[] {
  const below = new Map<number, ListenerHolder>();
  for (const server of holders) {
    if (server.role !== 'owner' || server.evidence === IS_ITSELF) continue;
    for (const above of holdersAbove(server, holders)) below.set(above, server);
  }
  return holders.map((holder) => {
    if (holder.role !== 'copy') return holder;
    const server = below.get(holder.pid);
    if (server !== undefined) {
      const evidence = `${clean(server.command)} (${server.pid}), which has it from there, serves it`;
      return { ...holder, role: 'owner', evidence };
    }
    if (!isSystemd(holder)) return holder;
    return { ...holder, role: 'owner', evidence: 'it waits on it whenever no service of it runs' };
  });
}

function* holdersAbove(
  { inheritedFrom }: ListenerHolder,
  holders: readonly ListenerHolder[],
): Generator<number> {
  for (let pid = inheritedFrom; pid !== null;) {
    yield pid;
    pid = holders.find((holder) => holder.pid === pid)?.inheritedFrom ?? null;
  }
}

/** By the name that it has given itself: what is done with that only makes us more careful. */
export function isSystemd({ command }: Pick<ListenerHolder, 'command'>): boolean {
  return command === 'systemd';
}

/** The nearest one above that has the listener too. */
function findAncestor(
  process: ScannedProcess,
  holders: ReadonlySet<number>,
  byPid: ReadonlyMap<number, ScannedProcess>,
): number | null {
  for (const { pid } of ancestorsOf(process, byPid)) if (holders.has(pid)) return pid;
  return null;
}

export function* ancestorsOf(
  process: ScannedProcess,
  byPid: ReadonlyMap<number, ScannedProcess>,
): Generator<ScannedProcess> {
  const seen = new Set([process.pid]);
  let above = byPid.get(process.parentPid);
  while (above !== undefined && !seen.has(above.pid)) {
    seen.add(above.pid);
    yield above;
    above = byPid.get(above.parentPid);
  }
}

/** Its name is whatever it chose, and this is for people: it must move no cursor. */
const nameProcess = ({ command, pid }: ScannedProcess): string => `${clean(command)} (${pid})`;

function tellHow(
  process: ScannedProcess,
  inheritedFrom: number | null,
  byPid: ReadonlyMap<number, ScannedProcess>,
): string {
  if (inheritedFrom !== null) {
    const chain = [nameProcess(process)];
    for (const above of ancestorsOf(process, byPid)) {
      chain.push(nameProcess(above));
      if (above.pid === inheritedFrom) break;
    }
    return `the same socket is open above it: ${chain.join(' ← ')}, so it was inherited from ${inheritedFrom}`;
  }
  const parent = byPid.get(process.parentPid);
  if (process.parentPid === 0) {
    return 'no process above it can be seen from here: opened by itself, or handed to it at its start';
  }
  // Process 1 adopts orphans, and also starts services: which of the two nobody recorded.
  if (process.parentPid === 1) {
    return 'its parent is process 1, which has started it, or adopted it once its parent had ended: opened by itself, or inherited from one that has closed it since or is gone';
  }
  if (parent !== undefined && parent.startTime > process.startTime) {
    return `its parent has ended and ${process.parentPid} adopted it: opened by itself, or inherited from one that is gone`;
  }
  const name = parent === undefined ? String(process.parentPid) : nameProcess(parent);
  return `no process above it has the socket: opened by itself, or inherited from ${name}, which has closed it since`;
}
