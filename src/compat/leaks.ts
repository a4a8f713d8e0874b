// What a plain spawn of this process would hand over: open without close-on-exec beyond 0, 1 and 2.
import type { DescriptorRecord } from '../audit/record.js';
import { scan } from '../audit/scan.js';
import type { ObjectKind } from '../objects/kind.js';
import { phraseObject } from '../objects/object.js';

export interface Leak {
  readonly fd: number;
  readonly kind: ObjectKind;
  /** `file /etc/hosts (read)`. */
  readonly what: string;
  /** `inherited`: open since before the program's first line; `opened`: by the program itself. */
  readonly from: 'inherited' | 'opened';
}

/** By number: the object that stood there when this process began. */
let atStart: ReadonlyMap<number, string> | undefined;

/** Before the program's first line, so that what is open now was handed to this process. */
export function rememberStart(): void {
  atStart ??= new Map(scanLeaks().map((record) => [record.fd, identify(record)]));
}

export function listLeaks(): Leak[] {
  return scanLeaks().map((record) => ({
    fd: record.fd,
    kind: record.kind,
    what: phraseObject(record),
    from: atStart?.get(record.fd) === identify(record) ? 'inherited' : 'opened',
  }));
}

export function describeLeak({ fd, what, from }: Leak): string {
  return `${fd} ${what} (${from === 'inherited' ? 'inherited at its start' : 'opened by it'})`;
}

function identify({ dev, inode }: DescriptorRecord): string {
  return `${dev}:${inode}`;
}

function scanLeaks(): DescriptorRecord[] {
  const [self] = scan({ pids: [process.pid] }).processes;
  return (self?.descriptors ?? []).filter(
    ({ fd, closeOnExec, thread }) => fd > 2 && closeOnExec === false && thread === undefined,
  );
}
