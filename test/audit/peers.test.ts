// Field by field the same as lsof, lsfd and ss say, of a process with 10 000 sockets and 1 000 files.
import { afterAll, beforeAll, expect } from 'vitest';

import { auditProcess, type DescriptorRecord, type ProcessAudit } from '../../src/index.js';
import { startCrowd, type Crowd } from '../support/crowd.js';
import { readLsfd, readLsof, readSs } from '../support/peers.js';
import { needs } from '../support/tools.js';

const SOCKETS = 10_000;
const FILES = 1_000;
const O_CLOEXEC = 0o2000000;

needs('lsof', 'lsfd', 'ss').describe('a crowd of descriptors', () => {
  let crowd: Crowd;
  let audit: ProcessAudit;
  let byFd: Map<number, DescriptorRecord>;

  beforeAll(async () => {
    crowd = await startCrowd(['--kinds', '--pairs', String(SOCKETS), '--files', String(FILES)]);
    audit = auditProcess(crowd.pid, { otherEnds: false });
    byFd = new Map(audit.descriptors.map((record) => [record.fd, record]));
  });

  afterAll(() => crowd.end());

  const { it } = needs();

  it('is read whole', () => {
    expect(audit.unreadable).toBeUndefined();
    const count = (kind: string): number =>
      audit.descriptors.filter((record) => record.kind === kind).length;
    expect(count('socket')).toBeGreaterThanOrEqual(SOCKETS);
    expect(count('file')).toBeGreaterThanOrEqual(FILES);
    const kinds = new Set(audit.descriptors.map(({ kind }) => kind));
    for (const kind of [
      'pipe',
      'fifo',
      'listener',
      'epoll',
      'memfd',
      'eventfd',
      'timerfd',
      'signalfd',
      'inotify',
      'pidfd',
      'directory',
      'char-device',
      'tty',
      'namespace',
    ] as const) {
      expect(kinds).toContain(kind);
    }
  });

  it('as lsof has it: numbers, kinds, access, close-on-exec, inodes, addresses, states', () => {
    const rows = readLsof(crowd.pid);
    expect(rows.length).toBeGreaterThan(SOCKETS + FILES);
    expect(rows.map(({ fd }) => fd)).toEqual(audit.descriptors.map(({ fd }) => fd));
    const differences = rows.flatMap((row): unknown[] => {
      const record = byFd.get(row.fd);
      if (record === undefined) return [row];
      const ours = asLsof(record, row);
      const theirs = {
        type: row.type,
        access: row.access,
        flags: row.flags & ~O_CLOEXEC,
        closeOnExec: (row.flags & O_CLOEXEC) !== 0,
        inode: ours.inode === null ? null : row.inode,
        name: ours.name === null ? null : row.name,
        state: ours.state === null ? null : row.state,
      };
      return JSON.stringify(ours) === JSON.stringify(theirs) ? [] : [{ ours, theirs, row }];
    });
    expect(differences.slice(0, 5)).toEqual([]);
  });

  it('as lsfd has it: numbers, types, access, close-on-exec, inodes, deleted', () => {
    const rows = readLsfd(crowd.pid);
    expect(rows.map(({ fd }) => fd).sort((a, b) => a - b)).toEqual(
      audit.descriptors.map(({ fd }) => fd),
    );
    const differences = rows.flatMap((row): unknown[] => {
      const record = byFd.get(row.fd);
      if (record === undefined) return [row];
      const ours = {
        type: asLsfdType(record),
        mode: { read: 'r--', write: '-w-', both: 'rw-', none: '---' }[record.access],
        closeOnExec: record.closeOnExec,
        inode: record.inode,
      };
      const theirs = {
        type: row.type,
        mode: row.mode.slice(0, 3),
        closeOnExec: row.flags.split(',').includes('cloexec'),
        inode: row.inode,
      };
      return JSON.stringify(ours) === JSON.stringify(theirs) ? [] : [{ ours, theirs, row }];
    });
    expect(differences.slice(0, 5)).toEqual([]);
    const deleted = audit.descriptors.filter((record) => record.deleted);
    expect(deleted.map(({ target }) => target)).toEqual([expect.stringMatching(/ \(deleted\)$/)]);
  });

  it('as ss has it: addresses, states and queues of TCP and UDP', () => {
    const sockets = audit.descriptors.filter(
      ({ socket }) => socket !== undefined && (socket.family === 2 || socket.family === 10),
    );
    const table = readSs();
    const differences = sockets.flatMap((record) => {
      const { socket, inode } = record;
      const row = table.get(inode);
      // One that was never bound is in no table.
      if (socket === undefined || (row === undefined && socket.network === null)) return [];
      const ours = {
        state: asSsState(socket),
        local: socket.local,
        remote: socket.remote,
        receive: socket.receiveQueue,
        send: socket.sendQueue,
      };
      const theirs = row && {
        state: row.state,
        local: row.local,
        remote: /^(0\.0\.0\.0|\[::\]|\*):\*$/.test(row.remote) ? '' : row.remote,
        receive: row.receiveQueue,
        send: row.sendQueue,
      };
      return JSON.stringify(ours) === JSON.stringify(theirs) ? [] : [{ ours, theirs }];
    });
    expect(differences.slice(0, 5)).toEqual([]);
    expect(sockets.length).toBeGreaterThan(SOCKETS);
  });
});

const ACCESS = { read: 'r', write: 'w', both: 'u', none: 'u' } as const;

const LSOF_TYPES: Partial<Record<DescriptorRecord['kind'], string>> = {
  file: 'REG',
  memfd: 'REG',
  directory: 'DIR',
  pipe: 'FIFO',
  fifo: 'FIFO',
  'char-device': 'CHR',
  tty: 'CHR',
  namespace: 'REG',
};

/** Null: lsof has no comparable field for this kind. */
function asLsof(
  record: DescriptorRecord,
  row: { type: string; name: string },
): Record<string, unknown> {
  const { kind, access, flags, closeOnExec, socket, target, inode } = record;
  const isIp = socket?.family === 2 || socket?.family === 10;
  return {
    type: socket === undefined ? (LSOF_TYPES[kind] ?? 'a_inode') : asLsofSocketType(record, row),
    // lsof has no word for a descriptor that permits nothing (O_PATH).
    access: ACCESS[access],
    flags,
    closeOnExec,
    // Of IP sockets it prints the inode where a device would be.
    inode: socket !== undefined || kind === 'namespace' || !(kind in LSOF_TYPES) ? null : inode,
    name: isIp && socket.local !== '' ? joinAddresses(socket) : nameInLsof(kind, target),
    state: isIp && socket.type === 1 && socket.network !== null ? asLsofState(socket.state) : null,
  };
}

function nameInLsof(kind: DescriptorRecord['kind'], target: string): string | null {
  if (['file', 'directory', 'fifo', 'char-device'].includes(kind)) return target;
  return null;
}

function asLsofSocketType({ socket }: DescriptorRecord, row: { type: string }): string {
  switch (socket?.family) {
    case 2:
      // Never bound: lsof knows no more than that it is one.
      return socket.network === null ? row.type : 'IPv4';
    case 10:
      return socket.network === null ? row.type : 'IPv6';
    case 1:
      return 'unix';
    case 16:
      return 'netlink';
    default:
      return 'sock';
  }
}

const joinAddresses = ({ local, remote }: { local: string; remote: string }): string =>
  remote === '' ? local : `${local}->${remote}`;

const asLsofState = (state: string): string => state.replaceAll('-', '_');

function asLsfdType({ kind, target }: DescriptorRecord): string {
  if (target.startsWith('anon_inode:')) return 'UNKN';
  const types: Partial<Record<DescriptorRecord['kind'], string>> = {
    directory: 'DIR',
    pipe: 'FIFO',
    fifo: 'FIFO',
    socket: 'SOCK',
    listener: 'SOCK',
    'char-device': 'CHR',
    tty: 'CHR',
  };
  return types[kind] ?? 'REG';
}

function asSsState({ state, type }: { state: string; type: number }): string {
  const names: Record<string, string> = {
    ESTABLISHED: 'ESTAB',
    CLOSE: type === 2 ? 'UNCONN' : 'CLOSE',
  };
  return names[state] ?? state;
}
