// Which processes hold an object: a port, a path, an inode, a descriptor of ours.
import { readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

import { invalid, systemError } from '../errors.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { takeOwn } from '../own-properties.js';
import { compareFiles, isAnonymous } from './identity.js';
import { localPort, requirePort } from './port.js';
import type { DescriptorRecord, Holding, ProcessAudit, SocketRecord } from './record.js';
import { findUnreadable, scan, toAudit } from './scan.js';

const AF_UNIX = 1;

/** Exactly one of them. */
export type HolderQuery =
  | { port: number; path?: never; inode?: never; dev?: never; fd?: never }
  | { path: string; port?: never; inode?: never; dev?: never; fd?: never }
  | {
      inode: number | bigint | string;
      dev?: number | bigint | undefined;
      port?: never;
      path?: never;
      fd?: never;
    }
  | { fd: number; port?: never; path?: never; inode?: never; dev?: never };

/** A process and the descriptor by which it holds what was asked for. */
export interface Holder extends Holding {
  /** The process. */
  readonly process: ProcessAudit;
  /** The descriptor. */
  readonly record: DescriptorRecord;
}

/** Who has something open. */
export interface HolderReport {
  /** By ascending pid and number. One for each descriptor. */
  readonly holders: readonly Holder[];
  /** Processes that could not be read: any of them may hold it too. */
  readonly unreadable: ReadonlyArray<{ readonly pid: number; readonly reason: string }>;
}

/** Undefined: it cannot be told. */
type Match = (record: DescriptorRecord, pid: number) => boolean | undefined;

/**
 * Which processes have a port, a path, an inode or a descriptor of this process open: a look at
 * every process that can be read.
 *
 * @throws {SallyportTypeError} for anything but one of the four
 * @throws {SallyportError} stage `audit`: no such path, or the descriptor is not open
 */
export function findHolders(query: HolderQuery): HolderReport {
  const matches = takeQuery(query);
  const holders: Holder[] = [];
  const everybody = scan().processes;
  const unreadable = findUnreadable(everybody);
  for (const scanned of everybody) {
    const audit = toAudit(scanned);
    for (const record of audit.descriptors) {
      const match = matches(record, audit.pid);
      if (match === undefined) {
        const reason = `whether its descriptor ${record.fd} is the same cannot be told: kcmp(2) is refused`;
        unreadable.push({ pid: audit.pid, reason });
      }
      if (match !== true) continue;
      holders.push({
        pid: audit.pid,
        fd: record.fd,
        command: audit.command,
        process: audit,
        record,
      });
    }
  }
  return { holders, unreadable };
}

function takeQuery(query: unknown): Match {
  const { port, path, inode, dev, fd } = takeOwn(query, 'query', [
    'port',
    'path',
    'inode',
    'dev',
    'fd',
  ]);
  if ([port, path, inode, fd].filter((value) => value !== undefined).length !== 1) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'query',
      'must have one of port, path, inode, fd',
    );
  }
  if (port !== undefined) return hasLocalPort(requirePort(port, 'query.port'));
  if (path !== undefined) return isAtPath(path);
  if (fd !== undefined) return isSameAs(fd);
  return hasInode(inode, dev);
}

function hasLocalPort(port: number): Match {
  return ({ socket }) => socket !== undefined && localPort(socket) === port;
}

function isAtPath(path: unknown): Match {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'query.path', 'must be a path without NUL');
  }
  // A Unix socket's own inode is another than that of its name, and its name may be gone.
  const names = namesOf(path);
  const isNamedSo: Match = ({ socket, target }, pid) =>
    names.has(target) ||
    (socket !== undefined && socket.local !== '' && names.has(whereNamed(socket, pid)));
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    const same = hasInode(ino, dev);
    return (record, pid) => same(record, pid) === true || isNamedSo(record, pid);
  } catch (error) {
    const { errno = 0 } = error as NodeJS.ErrnoException;
    if (path.startsWith('@')) return isNamedSo;
    throw systemError(-errno, 'stat', '', {
      syscall: 'find holders',
      stage: 'audit',
      stagePath: path,
      stageSource: 'reported',
    });
  }
}

/** As it was given; from the root; and without symbolic links, the last name's own excepted. */
function namesOf(path: string): Set<string> {
  const absolute = resolve(path);
  const names = new Set([path, absolute]);
  try {
    names.add(join(realpathSync(dirname(absolute)), basename(absolute)));
  } catch {
    // No such directory: an abstract name, or one that is gone.
  }
  return names;
}

/** The kernel has a Unix socket's name as it was bound: relative to where its process was then. */
function whereNamed({ family, local }: SocketRecord, pid: number): string {
  if (family !== AF_UNIX || local.startsWith('/') || local.startsWith('@')) return local;
  try {
    return resolve(readlinkSync(`/proc/${pid}/cwd`), local);
  } catch {
    return local;
  }
}

function hasInode(inode: unknown, dev: unknown): Match {
  const text = takeNumber(inode, 'query.inode');
  const device = dev === undefined ? undefined : Number(takeNumber(dev, 'query.dev'));
  return (record) => record.inode === text && (device === undefined || record.dev === device);
}

/** @returns its digits */
function takeNumber(value: unknown, option: string): string {
  const given = typeof value === 'string' || typeof value === 'bigint' || typeof value === 'number';
  if (given && /^\d{1,20}$/.test(String(value))) return BigInt(value).toString();
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, 'must be a number or its digits');
}

function isSameAs(fd: unknown): Match {
  if (typeof fd !== 'number' || !Number.isSafeInteger(fd) || fd < 0 || fd >= 2 ** 31) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'query.fd', 'must be a descriptor number');
  }
  const object = native().describeDescriptor(fd);
  if (isFailure(object)) {
    throw systemError(object.errno, 'fstat', 'it is not open here', {
      syscall: 'find holders',
      stage: 'audit',
      stagePath: String(fd),
      stageSource: 'reported',
    });
  }
  const { dev, inode, kind, target } = object;
  const hasInodeOf = (record: DescriptorRecord): boolean =>
    record.dev === dev && record.inode === inode;
  if (!isAnonymous(target)) return hasInodeOf;
  return (record, pid) => {
    if (!hasInodeOf(record) || record.kind !== kind) return false;
    const order = compareFiles(process.pid, fd, record.thread ?? pid, record.fd);
    return order < 0 ? undefined : order === 0;
  };
}
