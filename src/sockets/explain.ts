// Says in words why a server could not bind to a TCP port now, and what to do about it.
import { readFileSync } from 'node:fs';

import { localPort, requirePort } from '../audit/port.js';
import { scanListeners } from '../audit/scan.js';
import type { Scanned, ScannedSocket } from '../audit/unpack.js';
import { findListeners, findUnreadable, type Listener, type ListenerHolder } from './listeners.js';

export type PortCauseKind =
  | 'own' // this process itself listens
  | 'copy' // a process that does nothing with the listener was given it
  | 'orphan' // a server whose parent has ended
  | 'foreign' // another process listens
  | 'hidden' // a process listens that cannot be read
  | 'bound' // a socket is bound to it and does not listen
  | 'connection' // a connection has it as its local end
  | 'time-wait' // connections of a server that has ended are being forgotten
  | 'privileged' // this user may not
  | 'other-namespace' // listens in another network namespace
  | 'udp'; // has it for UDP

export interface PortCause {
  readonly kind: PortCauseKind;
  /** Whether a bind fails by it: `always`, only without SO_REUSEADDR (which Node sets), or `never`. */
  readonly blocks: 'always' | 'without-reuse' | 'never';
  /** What is there. */
  readonly text: string;
  /** What to do; empty where there is nothing to be done. */
  readonly advice: string;
  readonly pid?: number;
  readonly fd?: number;
  readonly command?: string;
}

export interface PortExplanation {
  readonly port: number;
  /** Whether a server that sets SO_REUSEADDR, as Node does, could bind to all addresses now. */
  readonly free: boolean;
  /** The weightiest first. */
  readonly causes: readonly PortCause[];
  /** All of it, for people. */
  readonly text: string;
}

/**
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
  const free = !causes.some(({ blocks }) => blocks === 'always');
  return { port: number, free, causes, text: tell(number, free, causes) };
}

function tell(port: number, free: boolean, causes: readonly PortCause[]): string {
  if (causes.length === 0) return `Port ${port} is free: no socket of any process has it.`;
  const head = free
    ? `A server that sets SO_REUSEADDR, as Node does, can bind to port ${port} now.`
    : `A bind to port ${port} fails now.`;
  const lines = causes.map(({ text, advice }) => (advice === '' ? text : `${text} ${advice}`));
  return [head, ...lines].join('\n');
}

function explainListener(listener: Listener, scanned: Scanned): PortCause[] {
  if (listener.holders.length > 0) {
    return listener.holders.map((holder) => explainHolder(listener, holder));
  }
  const hidden = findUnreadable(scanned).map(({ pid }) => pid);
  const which = hidden.length === 0 ? '' : ` (not readable: ${hidden.slice(0, 8).join(', ')})`;
  const user = listener.uid === null ? '' : ` of user ${listener.uid}`;
  return [
    {
      kind: 'hidden',
      blocks: 'always',
      text: `A process${user} that cannot be read from here listens on ${listener.local}${which}.`,
      advice: 'Ask again as root.',
    },
  ];
}

function explainHolder({ local }: Listener, holder: ListenerHolder): PortCause {
  const { pid, fd, command, role, evidence, howItGotThere } = holder;
  const who = `${command} (pid ${pid}, descriptor ${fd})`;
  const base = { blocks: 'always', pid, fd, command } as const;
  if (pid === process.pid) {
    return {
      ...base,
      kind: 'own',
      text: `This process itself listens on ${local}, descriptor ${fd}.`,
      advice:
        'Close the server first: closeListener(server) also silences copies in other processes.',
    };
  }
  const how = `How it got there: ${howItGotThere}.`;
  if (role === 'copy') {
    return {
      ...base,
      kind: 'copy',
      text: `${who} holds a copy of the listener on ${local} and does not serve it: ${evidence}. ${how}`,
      advice: `To free the port and let it live: releaseListener({ pid: ${pid}, fd: ${fd} }), or sallyport listeners ${portOf(local)} --release. To prevent it: sealDescriptors() before children are started, or spawn them by sallyport.`,
    };
  }
  const kind = holder.parentPid === 1 ? 'orphan' : 'foreign';
  const serves = role === 'owner' ? 'listens' : 'may be the server that listens';
  return {
    ...base,
    kind,
    text: `${who} of user ${holder.uid ?? 'unknown'} ${serves} on ${local}: ${evidence}. It has run since ${holder.since.toISOString()}. ${how}`,
    advice:
      kind === 'orphan'
        ? `If it is a server that an earlier run left behind, end it: kill ${pid}.`
        : 'End that process, or choose another port.',
  };
}

const portOf = (local: string): string => local.slice(local.lastIndexOf(':') + 1);

const isTcp = ({ facts }: ScannedSocket): boolean => facts.type === 1;
const isUdp = ({ facts }: ScannedSocket): boolean => facts.type === 2;

function here({ sockets, ownNetwork }: Scanned, port: number): ScannedSocket[] {
  return sockets.filter(({ facts }) => facts.network === ownNetwork && localPort(facts) === port);
}

/** "sleep (12, descriptor 40)" for each, or what is known instead. */
function tellHolders({ inode, uid }: ScannedSocket, { processes }: Scanned): string {
  const names = processes.flatMap(({ pid, command, descriptors }) =>
    descriptors
      .filter((record) => record.inode === inode && record.socket !== undefined)
      .map(({ fd }) => `${command} (pid ${pid}, descriptor ${fd})`),
  );
  if (names.length > 0) return names.join(', ');
  return inode === '0'
    ? 'no process any more'
    : `a process of user ${uid ?? 'unknown'} that cannot be read`;
}

function explainBound(port: number, scanned: Scanned): PortCause[] {
  return here(scanned, port)
    .filter((socket) => isTcp(socket) && ['BOUND', 'CLOSE'].includes(socket.facts.state))
    .map((socket) => ({
      kind: 'bound',
      blocks: 'without-reuse',
      text: `A socket is bound to ${socket.facts.local} and does not listen; it belongs to ${tellHolders(socket, scanned)}.`,
      advice:
        'A server without SO_REUSEADDR fails until it is closed; one with it only if that socket lacks SO_REUSEADDR.',
    }));
}

const FORGETTING = ['TIME-WAIT', 'FIN-WAIT-1', 'FIN-WAIT-2', 'LAST-ACK', 'CLOSING'];
const CONNECTED = ['ESTABLISHED', 'CLOSE-WAIT', 'SYN-SENT', 'SYN-RECV'];

function explainConnections(port: number, scanned: Scanned): PortCause[] {
  const sockets = here(scanned, port).filter(isTcp);
  const forgetting = sockets.filter(({ facts }) => FORGETTING.includes(facts.state));
  const connected = sockets.filter(({ facts }) => CONNECTED.includes(facts.state));
  const causes: PortCause[] = [];
  const first = connected[0];
  if (first !== undefined) {
    causes.push({
      kind: 'connection',
      blocks: 'without-reuse',
      text: `${connected.length} connections have it as their local end, the first ${first.facts.local} to ${first.facts.remote} in ${tellHolders(first, scanned)}.`,
      advice:
        'Connections that came in by a server with SO_REUSEADDR stop only servers without it; one that a program began from this port stops every server until it ends.',
    });
  }
  if (forgetting.length > 0) {
    causes.push({
      kind: 'time-wait',
      blocks: 'without-reuse',
      text: `${forgetting.length} connections of an earlier server are being forgotten (${[...new Set(forgetting.map(({ facts }) => facts.state))].join(', ')}).`,
      advice: 'Set SO_REUSEADDR (Node does), or wait a minute.',
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
  const who = holders.map(({ pid, command }) => `${command} (pid ${pid})`).join(', ');
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
