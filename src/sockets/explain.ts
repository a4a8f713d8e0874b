// Says in words why a server could not bind to a TCP port now, and what to do about it.
import { readFileSync } from 'node:fs';

import { localPort, requirePort } from '../audit/port.js';
import { findUnreadable, scanListeners } from '../audit/scan.js';
import type { Scanned, ScannedSocket } from '../audit/unpack.js';
import { clean } from '../clean-text.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { phraseCount } from '../phrase-count.js';
import {
  ancestorsOf,
  findListeners,
  isSystemd,
  type Listener,
  type ListenerHolder,
} from './listeners.js';
import { findNotReceived } from './received.js';

/** What may stand in the way of a bind. */
export type PortCauseKind =
  | 'own' // this process itself listens
  | 'copy' // a process that does nothing with the listener was given it
  | 'orphan' // a server whose parent is process 1: left behind, or a service
  | 'foreign' // another process listens
  | 'hidden' // a process listens that cannot be read
  | 'bound' // a socket is bound to it and does not listen
  | 'connection' // a connection has it as its local end
  | 'time-wait' // connections of a server that has ended are being forgotten
  | 'privileged' // this user may not
  | 'other-namespace' // listens in another network namespace
  | 'udp'; // has it for UDP

/** One thing that stands in the way of a bind, or seems to. */
export interface PortCause {
  /** What is there. */
  readonly kind: PortCauseKind;
  /**
   * Whether a bind fails by it: `always`, only without SO_REUSEADDR (which Node sets), or `never`.
   * `unknown`: without it, and with it unless all that is there has SO_REUSEADDR too, which cannot be
   * seen from here.
   */
  readonly blocks: 'always' | 'without-reuse' | 'unknown' | 'never';
  /** What is there. */
  readonly text: string;
  /** What to do; empty where there is nothing to be done. */
  readonly advice: string;
  /** Process id of the holder. */
  readonly pid?: number;
  /** Number of the descriptor there. */
  readonly fd?: number;
  /** Name of the holder, at most 15 bytes, which it chose itself. */
  readonly command?: string;
}

/** Why a bind to a port fails, or that it does not. */
export interface PortExplanation {
  /** The port that was asked for. */
  readonly port: number;
  /**
   * Whether a server that sets SO_REUSEADDR, as Node does, could bind to all addresses now. Null: it
   * cannot be told.
   */
  readonly free: boolean | null;
  /** The weightiest first. */
  readonly causes: readonly PortCause[];
  /** All of it, for people. */
  readonly text: string;
}

/**
 * Why a bind to a TCP port of this machine fails now, and what to do; or that it does not.
 * Looks and does not try: a bind of ours could make somebody else's fail.
 *
 * @throws {SallyportTypeError} for anything but a port
 */
export function explainPort(port: number): PortExplanation {
  const number = requirePort(port, 'port');
  const scanned = scanListeners(number);
  const listeners = findListeners(scanned, number);
  const causes = [
    ...listeners
      .filter(({ isHere }) => isHere)
      .flatMap((listener) => explainListener(listener, scanned)),
    ...explainBound(number, scanned),
    ...explainConnections(number, scanned),
    ...explainPrivilege(number),
    ...listeners.filter(({ isHere }) => !isHere).map(explainElsewhere),
    ...explainUdp(number, scanned),
  ];
  const blocks = (how: PortCause['blocks']): boolean =>
    causes.some((cause) => cause.blocks === how);
  const free = blocks('always') ? false : blocks('unknown') ? null : true;
  return { port: number, free, causes, text: tell(number, free, causes) };
}

function tell(port: number, free: boolean | null, causes: readonly PortCause[]): string {
  if (causes.length === 0) return `Port ${port} is free: no socket of any process has it.`;
  const heads = {
    true: `A server that sets SO_REUSEADDR, as Node does, can bind to port ${port} now.`,
    false: `A bind to port ${port} fails now.`,
    null: `Whether a server that sets SO_REUSEADDR, as Node does, can bind to port ${port} now cannot be told from here.`,
  };
  const head = heads[`${free}`];
  const lines = causes.map(({ text, advice }) => (advice === '' ? text : `${text} ${advice}`));
  return [head, ...lines].join('\n');
}

function explainListener(listener: Listener, scanned: Scanned): PortCause[] {
  if (listener.holders.length > 0) {
    const above = findThoseAbove(scanned);
    // What stays when the others have gone weighs least.
    const holders = [...listener.holders].sort(
      (a, b) => Number(a.role === 'copy') - Number(b.role === 'copy'),
    );
    return holders.map((holder) => explainHolder(listener, holder, above));
  }
  const hidden = findUnreadable(scanned.processes).map(({ pid }) => pid);
  const more = hidden.length > 8 ? ', …' : '';
  const user = listener.uid === null ? '' : ` of user ${listener.uid}`;
  const who =
    hidden.length === 0
      ? 'no process has it: the kernel itself, or a message on its way that hands it over'
      : `it is held by a process that cannot be read from here (${hidden.slice(0, 8).join(', ')}${more}), by the kernel itself, or by a message on its way that hands it over`;
  return [
    {
      kind: 'hidden',
      blocks: 'always',
      text: `A listener${user} is on ${listener.local}, and ${who}.`,
      advice: process.geteuid?.() === 0 ? '' : 'Ask again as root.',
    },
  ];
}

/** Our parent, its parent, and so on. */
function findThoseAbove({ processes }: Scanned): ReadonlySet<number> {
  const byPid = new Map(processes.map((each) => [each.pid, each]));
  const self = byPid.get(process.pid);
  if (self === undefined) return new Set();
  return new Set(Array.from(ancestorsOf(self, byPid), ({ pid }) => pid));
}

function explainHolder(
  listener: Listener,
  holder: ListenerHolder,
  above: ReadonlySet<number>,
): PortCause {
  const { local } = listener;
  const { pid, fd, command, role, evidence, howItGotThere } = holder;
  const who = `${clean(command)} (pid ${pid}, descriptor ${fd})`;
  const base = { blocks: 'always', pid, fd, command } as const;
  if (pid === process.pid) return { ...base, kind: 'own', ...explainOwn(local, fd) };
  const how = `How it got there: ${howItGotThere}.`;
  if (role === 'copy') {
    return {
      ...base,
      kind: 'copy',
      text: `${who} holds a copy of the listener on ${local} and does not serve it: ${evidence}. ${how}`,
      advice:
        above.has(pid) && findNotReceived()?.pid === pid
          ? START_DIRECTLY
          : adviseCopy(listener, holder),
    };
  }
  const kind = holder.parentPid === 1 ? 'orphan' : 'foreign';
  const serves = role === 'owner' ? 'listens' : 'may be the server that listens';
  return {
    ...base,
    kind,
    text: `${who} of user ${holder.uid ?? 'unknown'} ${serves} on ${local}: ${evidence}. It has run since ${holder.since.toISOString()}. ${how}`,
    advice: adviseServer(listener, holder, above),
  };
}

const START_DIRECTLY =
  'It was meant for that process alone (LISTEN_PID): let the service manager start the server itself, with no shell or npm in between, and take it by receiveListeners().';

function explainOwn(local: string, fd: number): Pick<PortCause, 'text' | 'advice'> {
  const handed = findNotReceived();
  if (handed === undefined || fd < 3 || fd >= 3 + handed.count) {
    return {
      text: `This process itself listens on ${local}, descriptor ${fd}.`,
      advice:
        'Close the server first: closeListener(server) also silences copies in other processes.',
    };
  }
  const isOurs = handed.pid === process.pid;
  return {
    text: `A service manager handed the listener on ${local} to ${isOurs ? 'this process' : `process ${handed.pid}`}, and here it is descriptor ${fd}.`,
    advice: isOurs
      ? 'Take it by receiveListeners(), and serve it by server.listen({ fd }).'
      : START_DIRECTLY,
  };
}

function adviseCopy({ local, holders }: Listener, { pid, fd }: ListenerHolder): string {
  const server = holders.find(({ role }) => role !== 'copy');
  const when =
    server === undefined
      ? 'To free the port and let it live'
      : `It makes no difference while ${clean(server.command)} (${server.pid}) runs, and keeps the port after that. To free it then`;
  return `${when}: releaseListener({ pid: ${pid}, fd: ${fd} }), or sallyport listeners ${portOf(local)} --release. To prevent it: sealDescriptors() before children are started, or spawn them by sallyport.`;
}

function adviseServer(
  { holders }: Listener,
  holder: ListenerHolder,
  above: ReadonlySet<number>,
): string {
  const { pid } = holder;
  const from = holders.find((other) => other.pid === holder.inheritedFrom);
  if ([holder, from].some((each) => each !== undefined && isSystemd(each))) {
    return "Stop the unit that it is for, and leave systemd alone: systemctl list-sockets names it, with --user where systemd is a user's.";
  }
  if (above.has(pid)) {
    return 'It is above this process, which may end with it: the primary of a cluster, or a process manager. Let that hand its listener down, or choose another port.';
  }
  if (pid === 1) return 'All that runs here ends with process 1: choose another port.';
  if (holder.parentPid === 1) {
    return `If it is a server that an earlier run left behind, end it: kill ${pid}. If it is a service, or the daemon of a process manager, ask that to stop it.`;
  }
  if (from?.role !== 'owner') return 'End that process, or choose another port.';
  return `End ${clean(from.command)} (${from.pid}) instead, which handed it down and may start another.`;
}

const portOf = (local: string): string => local.slice(local.lastIndexOf(':') + 1);

const isTcp = ({ facts }: ScannedSocket): boolean => facts.type === 1;
const isUdp = ({ facts }: ScannedSocket): boolean => facts.type === 2;

function here({ sockets, ownNetwork }: Scanned, port: number): ScannedSocket[] {
  return sockets.filter(({ facts }) => facts.network === ownNetwork && localPort(facts) === port);
}

/** "sleep (12, descriptor 40)" for each, or what is known instead. */
function tellHolders(
  { inode, uid }: ScannedSocket,
  { processes }: Scanned,
  nobody = 'no process any more',
): string {
  const names = processes.flatMap(({ pid, command, descriptors }) =>
    descriptors
      .filter((record) => record.inode === inode && record.socket !== undefined)
      .map(({ fd }) => `${clean(command)} (pid ${pid}, descriptor ${fd})`),
  );
  if (names.length > 0) return names.join(', ');
  return inode === '0' ? nobody : `a process of user ${uid ?? 'unknown'} that cannot be read`;
}

/**
 * SO_REUSEADDR lets a bind pass those sockets only that have it too, and no table shows which have: a
 * duplicate of the socket is asked, as in releaseListener.
 */
function askReuse(sockets: readonly ScannedSocket[], scanned: Scanned): PortCause['blocks'] {
  const holders = new Map<string, { pid: number; startTime: number; fd: number }>();
  for (const { pid, startTime, descriptors } of scanned.processes) {
    for (const { fd, inode, thread, socket } of descriptors) {
      if (socket === undefined || thread !== undefined) continue;
      holders.set(inode, { pid, startTime, fd });
    }
  }
  let isKnown = true;
  for (const { inode } of sockets) {
    const holder = holders.get(inode);
    const reuses =
      holder !== undefined &&
      native().reusesAddress(holder.pid, holder.startTime, holder.fd, Number(inode));
    if (holder === undefined || isFailure(reuses)) isKnown = false;
    else if (!reuses) return 'always';
  }
  return isKnown ? 'without-reuse' : 'unknown';
}

const REUSE_ADVICE: Record<PortCause['blocks'], string> = {
  always:
    'It stops every server until it is closed, since it was bound or connected without SO_REUSEADDR.',
  'without-reuse': 'It stops only servers that do not set SO_REUSEADDR.',
  unknown:
    'A server that sets SO_REUSEADDR can bind only if they have it too; a server without it cannot.',
  never: '',
};

function explainBound(port: number, scanned: Scanned): PortCause[] {
  return here(scanned, port)
    .filter((socket) => isTcp(socket) && ['BOUND', 'CLOSE'].includes(socket.facts.state))
    .map((socket) => {
      const blocks = askReuse([socket], scanned);
      return {
        kind: 'bound',
        blocks,
        text: `A socket is bound to ${socket.facts.local} and does not listen; it belongs to ${tellHolders(socket, scanned)}.`,
        advice: REUSE_ADVICE[blocks],
      };
    });
}

const FORGETTING = ['TIME-WAIT', 'FIN-WAIT-1', 'FIN-WAIT-2', 'LAST-ACK', 'CLOSING'];
const CONNECTED = ['ESTABLISHED', 'CLOSE-WAIT', 'SYN-SENT', 'SYN-RECV'];

function explainConnections(port: number, scanned: Scanned): PortCause[] {
  const sockets = here(scanned, port).filter(isTcp);
  const forgetting = sockets.filter(({ facts }) => FORGETTING.includes(facts.state));
  const connected = sockets.filter(({ facts }) => CONNECTED.includes(facts.state));
  // Where a listener stops every server already, it does not matter: thousands need not be asked.
  const listens = sockets.some(({ facts }) => facts.state === 'LISTEN');
  const ask = (some: readonly ScannedSocket[]): PortCause['blocks'] =>
    listens ? 'unknown' : askReuse(some, scanned);
  const causes: PortCause[] = [];
  const first = connected[0];
  if (first !== undefined) {
    const blocks = ask(connected);
    const isOne = connected.length === 1;
    causes.push({
      kind: 'connection',
      blocks,
      text: `${phraseCount(connected.length, 'connection has it', 'connections have it')} as ${isOne ? 'its' : 'their'} local end, the first ${first.facts.local} to ${first.facts.remote} in ${tellHolders(first, scanned, 'no process yet: it waits to be accepted')}.`,
      advice:
        blocks === 'always'
          ? `${isOne ? 'It stops every server until it ends: it' : 'They stop every server until they end: one of them'} came in by a server without SO_REUSEADDR, or was begun from this port.`
          : isOne
            ? REUSE_ADVICE[blocks]
            : REUSE_ADVICE[blocks].replace('It stops', 'They stop'),
    });
  }
  if (forgetting.length > 0) {
    const blocks = ask(forgetting);
    causes.push({
      kind: 'time-wait',
      blocks,
      text: `${phraseCount(forgetting.length, 'connection is', 'connections are')} being forgotten (${[...new Set(forgetting.map(({ facts }) => facts.state))].join(', ')}).`,
      advice:
        blocks === 'always'
          ? `Wait until ${forgetting.length === 1 ? 'it is' : 'they are'}: a minute.`
          : `Set SO_REUSEADDR (Node does)${blocks === 'unknown' ? ', which helps if the earlier server set it too' : ''}, or wait a minute.`,
    });
  }
  return causes;
}

function explainPrivilege(port: number): PortCause[] {
  if (process.geteuid?.() === 0) return [];
  const first = readNumber('/proc/sys/net/ipv4/ip_unprivileged_port_start') ?? 1024;
  if (port >= first) return [];
  return [
    {
      kind: 'privileged',
      blocks: 'always',
      text: `Ports below ${first} need CAP_NET_BIND_SERVICE, unless this process has it (EACCES).`,
      advice: 'Choose a higher one, or let a service manager open it: receiveListeners().',
    },
  ];
}

function readNumber(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'latin1'));
  } catch {
    return undefined;
  }
}

function explainElsewhere({ local, network, holders }: Listener): PortCause {
  const who = holders.map(({ pid, command }) => `${clean(command)} (pid ${pid})`).join(', ');
  return {
    kind: 'other-namespace',
    blocks: 'never',
    text: `${who === '' ? 'A process' : who} listens on ${local} in another network namespace (${network ?? 'unknown'}).`,
    advice: '',
  };
}

function explainUdp(port: number, scanned: Scanned): PortCause[] {
  const sockets = here(scanned, port).filter(isUdp);
  const first = sockets[0];
  if (first === undefined) return [];
  return [
    {
      kind: 'udp',
      blocks: 'never',
      text: `For UDP, which has ports of its own, ${tellHolders(first, scanned)} has it.`,
      advice: '',
    },
  ];
}
