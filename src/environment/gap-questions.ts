// What is tried for each gap, and what the answers mean.
import { readFileSync, statSync } from 'node:fs';
import { constants } from 'node:os';

import { native } from '../native.js';
import { phraseCount } from '../phrase-count.js';
import type { CacheGrant } from '../plan/environment-record.js';
import {
  closed,
  closedByOwner,
  open,
  phraseAccess,
  unknown,
  type Gap,
  type GapKind,
  type Ids,
} from './gap.js';
import type { Answer, Attempt, Conditions } from './probe.js';

const { EACCES, EAGAIN, EBADF, ECONNREFUSED, EFAULT, ENOENT, ENOTDIR, EPERM } = constants.errno;

/** What is to be tried, and what the answers mean. */
export interface Question {
  readonly attempts: readonly Attempt[];
  readonly judge: (answers: readonly Answer[], ids: Ids) => Gap;
}

export function askFile(path: string): Question {
  const subject = { kind: 'disk', subject: path } as const;
  return {
    attempts: [{ what: 'read', operand: path }],
    judge: ([answer], ids) => judgePath(subject, answer, ids, 4, 'read it'),
  };
}

function judgePath(
  subject: Pick<Gap, 'kind' | 'subject'>,
  answer: Answer | undefined,
  ids: Ids,
  bits: number,
  what: string,
): Gap {
  switch (answer?.errno) {
    case 0:
    case EAGAIN: // somebody listens, and has no room at the moment
      return open(subject, `${phraseAccess(subject.subject, ids, bits)}: it may ${what}`);
    case ENOENT:
    case ENOTDIR:
      return closed(subject, 'absence', 'there is none', answer.errno);
    case EACCES:
    case EPERM:
      return closedByOwner(subject, ids, answer.errno);
    case ECONNREFUSED:
      return closed(subject, 'absence', 'nobody listens there', answer.errno);
    default:
      return unknown(subject, 'the attempt ended in another way', answer?.errno);
  }
}

export function askAgent(path: string): Question {
  const subject = { kind: 'ssh-agent', subject: path } as const;
  return {
    attempts: [{ what: 'agent', operand: path }],
    judge: ([answer], ids) => {
      const gap = judgePath(subject, answer, ids, 2, 'connect');
      if (gap.state !== 'open') return gap;
      const keys = Number(answer?.value ?? -1);
      const loaded =
        keys < 0
          ? 'it did not answer as an agent does'
          : `${phraseCount(keys, 'key is', 'keys are')} loaded, and it signs with each`;
      return { ...gap, reason: `${gap.reason}; ${loaded}` };
    },
  };
}

export function askControlSocket(path: string, what: string): Question {
  const subject = { kind: 'control-socket', subject: path } as const;
  return {
    attempts: [{ what: 'connect', operand: path }],
    judge: ([answer], ids) => judgePath(subject, answer, ids, 2, `connect to ${what}`),
  };
}

export const METADATA = { kind: 'metadata', subject: '169.254.169.254:80' } as const;

export function askMetadata(): Question {
  return {
    attempts: [{ what: 'tcp', operand: METADATA.subject }],
    judge: ([answer]) => {
      if (answer?.errno !== 0) {
        return closed(METADATA, 'network', 'no way leads there, or nobody answers', answer?.errno);
      }
      const said = answer.value === '0' ? 'something' : `HTTP status ${answer.value}`;
      return open(METADATA, `the network of the run leads there, and ${said} answers`);
    },
  };
}

/** This process as its child finds it, and the environment of those that started it. */
export function askParent(pid: number): Question[] {
  const dumpable = native().isDumpable();
  const ask = (
    kind: GapKind,
    what: Attempt['what'],
    operand: string,
    subject: string,
  ): Question => ({
    attempts: [{ what, operand }],
    judge: ([answer], ids) =>
      judgeProcess({ kind, subject }, answer, ids, process.geteuid?.() ?? 0, dumpable),
  });
  const proc = `/proc/${pid}`;
  return [
    ask('parent-environment', 'read', `${proc}/environ`, `${proc}/environ`),
    ...listAncestors(pid).map(askAncestor),
    ask('parent-descriptors', 'link', `${proc}/fd/${lowestOpen()}`, `${proc}/fd`),
    ask('parent-sockets', 'descriptor', String(pid), `pidfd_getfd of ${pid}`),
    ask('ptrace', 'memory', String(pid), `the memory of ${pid}`),
  ];
}

/** A shell that has credentials in its environment has them for whoever runs under its uid. */
function askAncestor(pid: number): Question {
  const path = `/proc/${pid}/environ`;
  const owner = ownerOf(pid);
  const subject = { kind: 'parent-environment', subject: path } as const;
  return {
    attempts: [{ what: 'read', operand: path }],
    judge: ([answer], ids) => judgeProcess(subject, answer, ids, owner, true),
  };
}

const MOST_ANCESTORS = 32;

function listAncestors(pid: number): number[] {
  const found: number[] = [];
  for (let next = parentOf(pid); next > 0 && found.length < MOST_ANCESTORS; next = parentOf(next)) {
    found.push(next);
  }
  return found;
}

/** 0 where there is none that can be seen. */
function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name stands in brackets and may itself hold brackets and blanks.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}

function ownerOf(pid: number): number {
  try {
    return statSync(`/proc/${pid}`).uid;
  } catch {
    return 0;
  }
}

/** Some number that is open here: 0 may not be. */
function lowestOpen(): number {
  const numbers = native().listDescriptors();
  return Array.isArray(numbers) ? (numbers[0] ?? 0) : 0;
}

export function askSibling(pid: number): Question {
  const proc = `/proc/${pid}`;
  const subject = { kind: 'sibling', subject: 'another run of the same plan' } as const;
  return {
    attempts: [
      { what: 'read', operand: `${proc}/environ` },
      { what: 'memory', operand: String(pid) },
    ],
    judge: ([environ, memory], ids) => {
      const first = judgeProcess(subject, environ, ids, ids.uid, true);
      const second = judgeProcess(subject, memory, ids, ids.uid, true);
      // Either is enough.
      return first.state === 'open' ? first : second;
    },
  };
}

/** An allowed attempt ends as it does because what was asked for cannot be: see the probe. */
function judgeProcess(
  subject: Pick<Gap, 'kind' | 'subject'>,
  answer: Answer | undefined,
  { uid }: Ids,
  owner: number,
  dumpable: boolean,
): Gap {
  const errno = answer?.errno;
  if (errno === 0 || errno === EFAULT || errno === EBADF) {
    const why =
      uid === owner
        ? `it has the same uid ${uid}${dumpable ? ', and is not shielded' : ''}`
        : `the run is uid ${uid}`;
    return open(subject, uid === 0 ? 'the run is root' : why);
  }
  if (errno !== EPERM && errno !== EACCES && errno !== ENOENT) {
    return unknown(subject, 'the attempt ended in another way', errno);
  }
  if (errno === ENOENT)
    return closed(subject, 'system', 'it is not in the /proc of the run', errno);
  if (uid !== owner) {
    return closed(subject, 'uid', `it is of uid ${owner}, and the run is uid ${uid}`, errno);
  }
  if (!dumpable) return closed(subject, 'shield', 'it is shielded (not dumpable)', errno);
  const scope = readScope();
  if (scope > 0 && subject.kind !== 'parent-environment') {
    return closed(subject, 'yama', `kernel.yama.ptrace_scope is ${scope}`, errno);
  }
  return closed(subject, 'system', 'it is not dumpable, or a security module refuses it', errno);
}

function readScope(): number {
  try {
    return Number(readFileSync('/proc/sys/kernel/yama/ptrace_scope', 'utf8'));
  } catch {
    return 0;
  }
}

export function judgeTable(
  answer: Answer | undefined,
  { pass, listeners = [] }: Conditions,
  program: number,
): Gap {
  const subject = { kind: 'descriptors', subject: 'the descriptor table' } as const;
  if (answer?.errno !== 0) return unknown(subject, 'it could not list its own', answer?.errno);
  const named = [
    ...[0, 1, 2],
    ...listeners.map((_, index) => index + 3),
    ...pass.map(({ fd, as }) => as ?? fd),
  ];
  const expected = new Set([...named, program]);
  const found = answer.value.split(',').map(Number);
  const others = found.filter((fd) => !expected.has(fd));
  if (others.length > 0) return open(subject, `it holds ${others.join(', ')}, which nobody named`);
  return closed(subject, 'descriptor-table', `it holds ${named.join(', ')}, which the plan names`);
}

export function askCache({ name, path }: CacheGrant): Question {
  const subject = { kind: 'cache', subject: path } as const;
  return {
    attempts: [{ what: 'write', operand: path }],
    judge: ([answer], ids) =>
      judgePath(subject, answer, ids, 2, `write to what was granted to be read (${name})`),
  };
}
