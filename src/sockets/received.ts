// What a service manager handed over at the start, LISTEN_FDS: to this process, or to another one.
const inodes = new Set<string>();

export function rememberReceived(inode: string): void {
  inodes.add(inode);
}

export function wasReceived(inode: string): boolean {
  return inodes.has(inode);
}

/** What LISTEN_PID and LISTEN_FDS said, where this process has not taken it. */
export interface HandedOver {
  readonly pid: number;
  /** Of the numbers from 3 on. */
  readonly count: number;
}

let elsewhere: HandedOver | undefined;

/** The variables are gone afterwards, and a bind that fails later is explained by them. */
export function rememberHandedElsewhere(
  pid: string | undefined,
  count: string | undefined,
): HandedOver | undefined {
  // Asked again, when the variables are gone, it is as it was.
  elsewhere = parse(pid, count) ?? elsewhere;
  return elsewhere;
}

/** Also where nobody has asked for them. */
export function findNotReceived(): HandedOver | undefined {
  return elsewhere ?? parse(process.env['LISTEN_PID'], process.env['LISTEN_FDS']);
}

function parse(pid = '', count = ''): HandedOver | undefined {
  if (![pid, count].every((text) => /^[1-9]\d{0,8}$/.test(text))) return undefined;
  return { pid: Number(pid), count: Number(count) };
}
