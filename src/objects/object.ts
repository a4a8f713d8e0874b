// What a descriptor refers to, as the native classifier describes it.
import type { ObjectAccess, ObjectKind } from './kind.js';

/** A socket as it answers for itself, socket(7). Numbers are those of this system's headers. */
export interface SocketFacts {
  /** AF_* */
  readonly family: number;
  /** SOCK_* */
  readonly type: number;
  /** IPPROTO_* */
  readonly protocol: number;
  /** Whether it accepts connections. */
  readonly listening: boolean;
  /** `127.0.0.1:80`, `[::1]:80`, `/run/x.sock`, `@abstract`; '' when unnamed. */
  readonly local: string;
  /** Address of the other end; written as `local` is. */
  readonly remote: string;
}

/** The object behind a descriptor. */
export interface DescriptorObject {
  /** What it is. */
  readonly kind: ObjectKind;
  /** What it permits: reading, writing, both, or `path` for O_PATH. */
  readonly access: ObjectAccess;
  /** What `/proc/self/fd/N` links to, proc_pid_fd(5): a path, `pipe:[123]`, `socket:[123]`, … */
  readonly target: string;
  /** st_dev, stat(2). */
  readonly dev: number;
  /** st_ino, stat(2), in decimal: 64 bits do not fit into a JSON number. */
  readonly inode: string;
  /** Number of the mount that it is on, proc_pid_mountinfo(5). Absent: not told (before kernel 5.8). */
  readonly mount?: number;
  /** Open file status flags, fcntl(2) F_GETFL. */
  readonly flags: number;
  /** For sockets only. */
  readonly socket?: SocketFacts;
}

/** One phrase for people: `listener 127.0.0.1:80 (both)`, `file /etc/hosts (read)`. */
export function phraseObject(object: DescriptorObject): string {
  const { kind, access, socket, target } = object;
  const ends =
    socket === undefined ? [target] : [socket.local, socket.remote].filter((end) => end !== '');
  return [kind, ends.join(' → '), `(${access})`].filter((part) => part !== '').join(' ');
}

/** Stands for each byte of a name that is no UTF-8. */
const UNREADABLE = '\ufffd';

/**
 * Whether what the kernel shows is that name, and no other. Of two names that are no UTF-8 we see the
 * same text.
 */
export function isExactly(shown: string | undefined, name: string): boolean {
  return shown === name && isReadable(name);
}

export function isReadable(name: string): boolean {
  return !name.includes(UNREADABLE);
}
