// Frees the port of a listener that another process holds, and lets that process live.
import { requirePort } from '../audit/port.js';
import { scanListeners } from '../audit/scan.js';
import { clean } from '../clean-text.js';
import { invalid, refused, systemError } from '../errors.js';
import { isFailure, type NativeFailure } from '../native-binding.js';
import { native } from '../native.js';
import { takeOwn } from '../own-properties.js';
import { findListeners, isSystemd, type Listener, type ListenerHolder } from './listeners.js';

/** One descriptor of one process, or every listener on a TCP port. */
export type ReleaseQuery = (
  { pid: number; fd: number; port?: never } | { port: number; pid?: never; fd?: never }
) & {
  /**
   * Also where the holder accepts on it, or may. A server of Node then keeps a core busy until it closes
   * the listener: its event loop is woken again and again.
   */
  force?: boolean | undefined;
};

/** A listener that was shut down, so that its port is free. */
export interface ReleasedListener {
  /** Its address: `127.0.0.1:80`, `[::1]:80`. */
  readonly local: string;
  /** TCP port. */
  readonly port: number | null;
  /** Inode of the socket. */
  readonly inode: string;
  /** Through whose descriptor it was shut down; all copies are one socket. */
  readonly through: { readonly pid: number; readonly fd: number; readonly command: string };
  /** All that hold it, and still do: it is a dead socket to them now. */
  readonly holders: readonly ListenerHolder[];
  /** In words: what was done, and what that means. */
  readonly report: string;
}

/**
 * Takes a duplicate of the listener, pidfd_getfd(2), sets SO_REUSEADDR on it and shuts it down. A
 * server that sets SO_REUSEADDR, as Node does, can bind at once. Nothing is shut down where any of
 * the listeners is refused.
 *
 * @throws {SallyportTypeError} for a wrong argument
 * @throws {SallyportError} stage `release`: `ERR_SALLYPORT_LISTENER_IN_USE` where a holder accepts on
 *   it, or may, and `force` was not given; `ERR_SALLYPORT_NOT_RELEASABLE` where there is no such
 *   listener, or this cannot help; EPERM where this user may not
 */
export function releaseListener(query: ReleaseQuery): ReleasedListener[] {
  const { pid, fd, port, force } = takeOwn(query, 'query', ['pid', 'fd', 'port', 'force']);
  if (force !== undefined && typeof force !== 'boolean') {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'query.force', 'must be true or false');
  }
  const targets =
    port === undefined ? findByDescriptor(pid, fd) : findByPort(requireAlone(port, pid, fd));
  for (const listener of targets) requireReleasable(listener, force === true);
  return targets.map(release);
}

function requireAlone(port: unknown, pid: unknown, fd: unknown): number {
  if (pid === undefined && fd === undefined) return requirePort(port, 'query.port');
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    'query',
    'must have either a port, or pid and fd',
  );
}

function findByPort(port: number): Listener[] {
  const scanned = scanListeners(port);
  const here = findListeners(scanned, port).filter(({ isHere }) => isHere);
  if (here.length > 0) return here;
  const udp = scanned.sockets.some(
    ({ facts }) => facts.type === 2 && facts.local.endsWith(`:${port}`),
  );
  throw notReleasable(
    udp
      ? `port ${port}: it is held by UDP, which has no listener that could be shut down: end the process that has it`
      : `port ${port}: no TCP socket listens on it in this network namespace`,
    String(port),
  );
}

function findByDescriptor(pid: unknown, fd: unknown): Listener[] {
  const isNumber = (value: unknown): value is number =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value < 2 ** 31;
  if (!isNumber(pid) || !isNumber(fd) || pid < 1) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'query', 'must have a port, or pid and fd');
  }
  const holds = ({ holders }: Listener): boolean =>
    holders.some((holder) => holder.pid === pid && holder.fd === fd);
  const listeners = findListeners(scanListeners(0), undefined).filter(holds);
  if (listeners.length > 0) {
    // The one that was named goes first: through it the listener is taken.
    return listeners.map((listener) => ({
      ...listener,
      holders: [...listener.holders].sort((a, b) => Number(b.pid === pid) - Number(a.pid === pid)),
    }));
  }
  throw notReleasable(
    `descriptor ${fd} of process ${pid} is no listener that can be seen from here`,
    `${pid}:${fd}`,
  );
}

function requireReleasable({ local, port, holders, inode }: Listener, force: boolean): void {
  if (port === null) {
    throw notReleasable(
      `${local}: a Unix socket has no port; remove its path to bind there anew`,
      local,
    );
  }
  if (holders.length === 0) {
    throw notReleasable(
      `${local}: none of the processes that can be read has socket ${inode}: try as root`,
      local,
    );
  }
  const serving = holders.find(({ role }) => role !== 'copy');
  if (serving === undefined || force) return;
  throw refused(
    'ERR_SALLYPORT_LISTENER_IN_USE',
    `${local} is not released: ${serving.command} (${serving.pid}) ${serving.role === 'owner' ? 'is its server' : 'may be its server'}: ${serving.evidence}: ${isSystemd(serving) ? 'stop the unit that it is for (systemctl list-sockets)' : 'end that process'}, or say force`,
    { stage: 'release', stagePath: local, stageSource: 'reported' },
  );
}

function release(listener: Listener): ReleasedListener {
  let failure: NativeFailure | undefined;
  for (const { pid, fd, command, startTime } of listener.holders) {
    const outcome = native().releaseListener(pid, startTime, fd, Number(listener.inode));
    if (!isFailure(outcome)) return describe(listener, { pid, fd, command });
    // Some holders may be another user's: one that is not is enough.
    failure ??= outcome;
  }
  throw refusedBySystem(listener, failure ?? { errno: 3, path: 'pidfd_open', stage: 'release' });
}

function describe(listener: Listener, through: ReleasedListener['through']): ReleasedListener {
  const { local, port, inode, holders } = listener;
  const served = holders.filter(({ role }) => role !== 'copy').map(({ pid }) => pid);
  const deaf =
    served.length === 0
      ? ''
      : ` What served it (${served.join(', ')}) is deaf, and a server of Node keeps a core busy until it closes the listener: end or restart it.`;
  return {
    local,
    port,
    inode,
    through,
    holders,
    report: `${local} was shut down through descriptor ${through.fd} of ${clean(through.command)} (${through.pid}), which lives on with a socket that listens no more. A server that sets SO_REUSEADDR can bind now; one that does not must wait until every holder has closed it.${deaf}`,
  };
}

const EPERM = 1;
const ENOSYS = 38;

function refusedBySystem({ local }: Listener, { errno, path }: NativeFailure): Error {
  const advice: Record<number, string> = {
    [EPERM]:
      'this user may not take descriptors of that process (another uid, a setuid program, or Yama: see /proc/sys/kernel/yama/ptrace_scope): try as root, or end the process',
    [ENOSYS]: 'this needs kernel 5.6',
  };
  return systemError(errno, path, advice[errno] ?? '', {
    syscall: 'release listener',
    stage: 'release',
    stagePath: local,
    stageSource: 'reported',
  });
}

function notReleasable(message: string, stagePath: string): Error {
  return refused('ERR_SALLYPORT_NOT_RELEASABLE', message, {
    stage: 'release',
    stagePath,
    stageSource: 'reported',
  });
}
