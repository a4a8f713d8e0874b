// One gap: what a run could reach although nothing was handed over, and whether that is so here.
import { statSync } from 'node:fs';

import { describeErrno } from '../errors.js';

/** Ways by which a run may reach credentials that it was not given. */
export type GapKind =
  | 'disk' // a file that holds credentials
  | 'ssh-agent'
  | 'control-socket' // of a daemon that acts for whoever reaches it
  | 'metadata' // the service of a cloud that hands out the role of the host
  | 'parent-environment' // /proc/<pid>/environ of this process
  | 'parent-descriptors' // /proc/<pid>/fd of this process
  | 'parent-sockets' // pidfd_getfd(2) on this process
  | 'ptrace' // reading the memory of this process
  | 'sibling' // another run's /proc entries and memory
  | 'descriptors' // in the table, and not in the plan
  | 'cache'; // granted to be read

/** `not-probed`: only looked at when asked for. */
export type GapState = 'open' | 'closed' | 'unknown' | 'not-probed';

/**
 * `uid`: it belongs to another user. `permissions`: its mode, whoever asks. `absence`: there is none.
 * `shield`: `shieldParent`. `yama`: the ptrace scope of the system. `network`: no way there.
 * `descriptor-table`: that of the plan. `system`: another refusal of the kernel.
 */
export type GapMechanism =
  'uid' | 'permissions' | 'absence' | 'shield' | 'yama' | 'network' | 'descriptor-table' | 'system';

/** One way by which a run may reach credentials, tried. */
export interface Gap {
  /** Which way. */
  readonly kind: GapKind;
  /** The path, the address, or the process. */
  readonly subject: string;
  /** Whether it was open. */
  readonly state: GapState;
  /** What closes it; null where nothing does. */
  readonly mechanism: GapMechanism | null;
  /** Why it is open, closed or unknown, as a clause. */
  readonly reason: string;
  /** What the attempt was refused with, or null. */
  readonly errno: string | null;
}

/** Who the run is. */
export interface Ids {
  readonly uid: number;
  readonly gid: number;
}

type Subject = Pick<Gap, 'kind' | 'subject'>;

export function open(subject: Subject, reason: string): Gap {
  return { ...subject, state: 'open', mechanism: null, reason, errno: null };
}

export function closed(
  subject: Subject,
  mechanism: GapMechanism,
  reason: string,
  errno?: number,
): Gap {
  return { ...subject, state: 'closed', mechanism, reason, errno: nameErrno(errno) };
}

export function unknown(subject: Subject, reason: string, errno?: number): Gap {
  return { ...subject, state: 'unknown', mechanism: null, reason, errno: nameErrno(errno) };
}

export function notProbed(subject: Subject, reason: string): Gap {
  return { ...subject, state: 'not-probed', mechanism: null, reason, errno: null };
}

function nameErrno(errno: number | undefined): string | null {
  return errno === undefined ? null : describeErrno(errno).name;
}

/** Why a file can be opened, or a socket connected to, by this user. */
export function phraseAccess(path: string, { uid, gid }: Ids, bits: number): string {
  if (uid === 0) return 'the run is root';
  try {
    const stat = statSync(path);
    const mode = `mode 0${(stat.mode & 0o7777).toString(8)}`;
    if (stat.uid === uid) return `the run has the uid ${uid} of its owner`;
    if (stat.gid === gid && (stat.mode & (bits << 3)) !== 0) return `its group may (${mode})`;
    if ((stat.mode & bits) !== 0) return `everybody may (${mode})`;
    return `uid ${uid} may (${mode}, uid ${stat.uid}, gid ${stat.gid}, or an access list)`;
  } catch {
    return `uid ${uid} may`;
  }
}

/** What EACCES or EPERM of a path comes from. */
export function closedByOwner(subject: Subject, { uid }: Ids, errno: number): Gap {
  try {
    const stat = statSync(subject.subject);
    const mode = `mode 0${(stat.mode & 0o7777).toString(8)}`;
    return stat.uid === uid
      ? closed(subject, 'permissions', `its ${mode} keeps its owner out too`, errno)
      : closed(
          subject,
          'uid',
          `it belongs to uid ${stat.uid} (${mode}), and the run is uid ${uid}`,
          errno,
        );
  } catch {
    // There is none, or the way there is closed to us too.
    return closed(subject, 'uid', `the way there is closed to uid ${uid}`, errno);
  }
}
