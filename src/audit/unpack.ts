// Takes apart what the native scan gives: one array of numbers and one string.
import { OBJECT_KINDS, type ObjectAccess, type ObjectKind } from '../objects/kind.js';
import { SOCKET_STATES, type DescriptorRecord, type SocketRecord } from './record.js';

/** ScanRefusal in native/core/process_scan.h. */
const REFUSALS = [
  'none',
  'process',
  'descriptors',
  'details',
  'threads',
  'ended',
  'executed',
  'loading',
] as const;

export type Refusal = (typeof REFUSALS)[number];

/** One row of the kernel's tables. */
export interface ScannedSocket {
  readonly inode: string;
  readonly uid: number | null;
  readonly facts: Writable<SocketRecord>;
}

/** A scan's records belong to whoever asked for it, who may complete them before handing them out. */
export type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

export interface ScannedProcess {
  pid: number;
  state: string;
  parentPid: number;
  groupId: number;
  sessionId: number;
  threads: number;
  startTime: number;
  uid: number | null;
  network: number | null;
  refusal: Refusal;
  errno: number;
  command: string;
  executable: string | null;
  commandLine: string[];
  descriptors: Array<Writable<DescriptorRecord>>;
}

export interface Scanned {
  processes: ScannedProcess[];
  sockets: ScannedSocket[];
  /** Inode of our own network namespace; 0 where sockets were not asked for. */
  ownNetwork: number;
}

const ACCESSES: readonly ObjectAccess[] = ['read', 'write', 'both', 'none'];
const NO_LOCKS: readonly string[] = Object.freeze([]);
const LISTEN = SOCKET_STATES.indexOf('LISTEN');

class Reader {
  private at = 0;
  private textAt = 0;
  private readonly texts: readonly string[];

  constructor(
    private readonly numbers: Float64Array,
    text: string,
  ) {
    this.texts = text.split('\0');
  }

  number(): number {
    return this.numbers[this.at++] ?? 0;
  }

  text(): string {
    return this.texts[this.textAt++] ?? '';
  }

  inode(): string {
    const high = this.number();
    const low = this.number();
    return high === 0 ? String(low) : String((BigInt(high) << 32n) | BigInt(low));
  }
}

/** In the order of native/binding/auditing.cc. */
export function unpackScan([numbers, text]: [Float64Array, string]): Scanned {
  const reader = new Reader(numbers, text);
  const processCount = reader.number();
  const socketCount = reader.number();
  const ownNetwork = reader.number();
  const sockets: ScannedSocket[] = [];
  for (let i = 0; i < socketCount; i++) sockets.push(unpackSocket(reader));
  const processes: ScannedProcess[] = [];
  for (let i = 0; i < processCount; i++) processes.push(unpackProcess(reader, sockets));
  return { processes, sockets, ownNetwork };
}

const orNull = (number: number): number | null => (number < 0 ? null : number);

function unpackSocket(reader: Reader): ScannedSocket {
  const inode = reader.inode();
  const family = reader.number();
  const type = reader.number();
  const protocol = reader.number();
  const state = reader.number();
  const receiveQueue = orNull(reader.number());
  const sendQueue = orNull(reader.number());
  const uid = orNull(reader.number());
  const peer = reader.inode();
  const network = reader.number();
  const facts: SocketRecord = {
    family,
    type,
    protocol,
    listening: state === LISTEN,
    local: reader.text(),
    remote: reader.text(),
    state: SOCKET_STATES[state] ?? 'UNKNOWN',
    receiveQueue,
    sendQueue,
    peer: peer === '0' ? null : { inode: peer },
    network: network === 0 ? null : network,
  };
  return { inode, uid, facts };
}

function unpackProcess(reader: Reader, sockets: readonly ScannedSocket[]): ScannedProcess {
  const pid = reader.number();
  const state = String.fromCharCode(reader.number());
  const parentPid = reader.number();
  const groupId = reader.number();
  const sessionId = reader.number();
  const threads = reader.number();
  const startTime = reader.number();
  const uid = orNull(reader.number());
  const network = reader.number();
  const refusal = REFUSALS[reader.number()] ?? 'process';
  const errno = reader.number();
  const argumentCount = reader.number();
  const descriptorCount = reader.number();
  const command = reader.text();
  const executable = reader.text();
  const commandLine: string[] = [];
  for (let i = 0; i < argumentCount; i++) commandLine.push(reader.text());
  const descriptors: Array<Writable<DescriptorRecord>> = [];
  for (let i = 0; i < descriptorCount; i++) descriptors.push(unpackDescriptor(reader, sockets));
  return {
    pid,
    state,
    parentPid,
    groupId,
    sessionId,
    threads,
    startTime,
    uid,
    network: network === 0 ? null : network,
    refusal,
    errno,
    command,
    executable: executable === '' ? null : executable,
    commandLine,
    descriptors,
  };
}

function unpackDescriptor(
  reader: Reader,
  sockets: readonly ScannedSocket[],
): Writable<DescriptorRecord> {
  const fd = reader.number();
  const thread = reader.number();
  const kind: ObjectKind = OBJECT_KINDS[reader.number()] ?? 'other';
  const access = ACCESSES[reader.number()] ?? 'none';
  const closeOnExec = reader.number();
  const flags = reader.number();
  const offset = reader.number();
  const dev = reader.number();
  const inode = reader.inode();
  const deleted = reader.number() === 1;
  const pidfdTarget = reader.number();
  const lockCount = reader.number();
  const row = sockets[reader.number()];
  const target = reader.text();
  const record: Writable<DescriptorRecord> = {
    fd,
    kind,
    access,
    target,
    dev,
    inode,
    closeOnExec: closeOnExec < 0 ? null : closeOnExec === 1,
    flags,
    offset,
    deleted,
    locks: lockCount === 0 ? NO_LOCKS : Array.from({ length: lockCount }, () => reader.text()),
  };
  if (thread !== 0) record.thread = thread;
  if (pidfdTarget !== 0) record.pidfdTarget = pidfdTarget;
  if (row !== undefined) record.socket = row.facts;
  return record;
}
