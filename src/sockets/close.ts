// Closes a server of ours so that copies of its listener in other processes do not matter.
import type { Cluster } from 'node:cluster';
import type { Server } from 'node:net';

import { scanListeners } from '../audit/scan.js';
import { invalid, refused, systemError } from '../errors.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { takeOwn } from '../own-properties.js';
import { findListeners, type ListenerHolder } from './listeners.js';
import { wasReceived } from './received.js';

/** What `closeListener` takes. */
export interface CloseListenerOptions {
  /** Also where the listener was handed to us or is shared on purpose. */
  force?: boolean | undefined;
}

/**
 * Shuts the listener down, which makes every copy of it deaf, and closes the server. A plain `close`
 * leaves the port taken for as long as any other process has a copy.
 *
 * @returns once the server has emitted `close`, which is when its last connection has ended
 * @throws {SallyportTypeError} for anything but a server that listens
 * @throws {SallyportError} `ERR_SALLYPORT_LISTENER_SHARED`, stage `release`: it was handed to this
 *   process, or others accept on it
 */
export async function closeListener(
  server: Pick<Server, 'close' | 'listening'>,
  options?: CloseListenerOptions,
): Promise<void> {
  const { force } = takeOwn(options, 'options', ['force']);
  if (force !== undefined && typeof force !== 'boolean') {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'force', 'must be true or false');
  }
  const fd = findDescriptor(server);
  // Somebody else may have shut it down: `releaseListener` with `force`.
  if (stillListens(fd)) {
    if (force !== true) requireOurs(fd);
    // Both in one turn: the event loop must not see the listener deaf and still open.
    shutDown(fd);
  }
  await new Promise<void>((resolve, reject) => {
    server.close((error?: Error) => {
      if (error === undefined) resolve();
      else reject(error);
    });
  });
}

function isClusterWorker(): boolean {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- late: loading it takes 1 ms
  return (require('node:cluster') as Cluster).isWorker;
}

function findDescriptor(server: unknown): number {
  // Node has no public way to the number of a server's descriptor.
  const { _handle: handle } = (server ?? {}) as { _handle?: { fd?: unknown } | null };
  const fd = handle?.fd;
  if (typeof fd === 'number' && fd >= 0) return fd;
  if (handle && isClusterWorker()) throw shared('a worker of a cluster has it from the primary');
  const found = handle ? findByAddress(server as Server) : undefined;
  if (found !== undefined) return found;
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    'server',
    'must be a net.Server, or one made of it, that listens',
  );
}

/** Deno's handles have no number. undefined where it is not clear which one it is. */
function findByAddress(server: Server): number | undefined {
  const address = server.address();
  if (address === null) return undefined;
  const host = (value: string): string => (value.includes(':') ? `[${value}]` : value);
  const local = typeof address === 'string' ? address : `${host(address.address)}:${address.port}`;
  const open = native().listDescriptors();
  const listeners = (isFailure(open) ? [] : open).flatMap((fd) => {
    const object = native().describeDescriptor(fd);
    const isIt = !isFailure(object) && object.socket?.listening && object.socket.local === local;
    return isIt ? [{ fd, inode: object.inode }] : [];
  });
  const inodes = new Set(listeners.map(({ inode }) => inode));
  return inodes.size === 1 ? listeners[0]?.fd : undefined;
}

function requireOurs(fd: number): void {
  if (isClusterWorker()) throw shared('a worker of a cluster has it from the primary');
  const object = native().describeDescriptor(fd);
  if (isFailure(object)) return;
  if (wasReceived(object.inode)) {
    throw shared('it was handed to this process at its start (LISTEN_FDS)');
  }
  const listener = findListeners(scanListeners(0), undefined).find(
    ({ inode }) => inode === object.inode,
  );
  const own = listener?.holders.find(({ pid }) => pid === process.pid);
  if (own !== undefined && own.inheritedFrom !== null) {
    throw shared(
      `process ${own.inheritedFrom}, above this one, has it too: it was inherited from there`,
    );
  }
  const other = listener?.holders.find(({ pid, role }) => pid !== process.pid && role !== 'copy');
  if (other !== undefined) throw shared(tell(other));
}

const tell = ({ command, pid, evidence }: ListenerHolder): string =>
  `${command} (${pid}) has it too, and ${evidence}`;

function shared(why: string): Error {
  return refused(
    'ERR_SALLYPORT_LISTENER_SHARED',
    `the listener is not closed for all that have it: ${why}: close only the server, or say force`,
    { stage: 'release', stageSource: 'reported' },
  );
}

function stillListens(fd: number): boolean {
  const object = native().describeDescriptor(fd);
  return isFailure(object) || object.socket?.listening !== false;
}

function shutDown(fd: number): void {
  const failure = native().shutDownListener(fd);
  if (!isFailure(failure)) return;
  throw systemError(failure.errno, failure.path, '', {
    syscall: 'close listener',
    stage: 'release',
    stagePath: String(fd),
    stageSource: 'reported',
  });
}
