// What lsof, lsfd and ss say of a process, to compare audits with.
import { execFileSync } from 'node:child_process';

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

export interface LsofRow {
  fd: number;
  access: string;
  type: string;
  inode: string;
  /** "TCP", "UDP", and for the rest whatever lsof has there. */
  protocol: string;
  name: string;
  state: string;
  /** Open file status flags, close-on-exec among them. */
  flags: number;
}

/** By its field output, lsof(8) -F. */
export function readLsof(pid: number): LsofRow[] {
  const rows: LsofRow[] = [];
  for (const line of run(
    'lsof',
    '-n',
    '-P',
    '+fg',
    '-w',
    '-p',
    String(pid),
    '-F',
    'fatGiPnT',
  ).split('\n')) {
    const [field, value] = [line[0], line.slice(1)];
    if (field === 'f') {
      rows.push({
        fd: readNumber(value, rows.at(-1)?.fd ?? -1),
        access: '',
        type: '',
        inode: '',
        protocol: '',
        name: '',
        state: '',
        flags: 0,
      });
    }
    const row = rows.at(-1);
    if (row === undefined) continue;
    if (field === 'a') row.access = value.trim();
    if (field === 't') row.type = value;
    if (field === 'i') row.inode = value;
    if (field === 'P') row.protocol = value;
    if (field === 'n') row.name = value;
    if (field === 'G') row.flags = Number(value.split(';')[0]);
    if (field === 'T' && value.startsWith('ST=')) row.state = value.slice(3);
  }
  return rows.filter(({ fd }) => Number.isInteger(fd));
}

/** From 10 000 on lsof prints only the last three digits, after a star. They ascend. */
function readNumber(text: string, before: number): number {
  if (!text.startsWith('*')) return Number(text === '' ? NaN : text);
  const last = Number(text.slice(1));
  let number = before + 1;
  while (number % 1000 !== last) number += 1;
  return number;
}

export interface LsfdRow {
  fd: number;
  type: string;
  mode: string;
  inode: string;
  name: string;
  flags: string;
  deleted: string;
}

export function readLsfd(pid: number): LsfdRow[] {
  const columns = 'FD,TYPE,MODE,INODE,NAME,FLAGS,DELETED';
  const text = run('lsfd', '--json', '-p', String(pid), '-o', columns);
  const { lsfd } = JSON.parse(text) as {
    lsfd: Array<Record<string, string | number | boolean | null>>;
  };
  return lsfd
    .filter(({ fd }) => fd !== null)
    .map((row) => ({
      fd: Number(row['fd']),
      type: String(row['type']),
      mode: String(row['mode']),
      inode: String(row['inode']),
      name: String(row['name']),
      flags: String(row['flags']),
      deleted: String(row['deleted']),
    }));
}

export interface SsRow {
  state: string;
  receiveQueue: number;
  sendQueue: number;
  local: string;
  remote: string;
  inode: string;
}

/** TCP and UDP of our network namespace, by inode. */
export function readSs(): Map<string, SsRow> {
  const rows = new Map<string, SsRow>();
  for (const line of run('ss', '--no-header', '-t', '-u', '-a', '-n', '-e', '-O').split('\n')) {
    const [, state = '', receive, send, local = '', remote = ''] = line.trim().split(/\s+/);
    const inode = /\bino:(\d+)/.exec(line)?.[1];
    if (inode === undefined || inode === '0') continue;
    rows.set(inode, {
      state,
      receiveQueue: Number(receive),
      sendQueue: Number(send),
      local,
      remote,
      inode,
    });
  }
  return rows;
}
