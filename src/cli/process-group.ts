// What /proc says about a process group: its members, and whether anybody can continue it.
import { readdirSync, readFileSync } from 'node:fs';

interface Member {
  pid: number;
  state: string;
  parent: number;
  group: number;
  session: number;
}

/** Whether a process other than this one is in its process group. */
export function isGroupShared(group: number): boolean {
  return readProcesses().some(
    (member) => member.group === group && member.pid !== process.pid && isAlive(member),
  );
}

/**
 * As the kernel has it: no member has a parent in another group of the same session. It stops such a
 * group at no SIGTSTP, SIGTTIN or SIGTTOU, since nobody would be there to continue it.
 */
export function isGroupOrphaned(group: number): boolean {
  const processes = readProcesses();
  const byPid = new Map(processes.map((member) => [member.pid, member]));
  return !processes.some((member) => {
    if (member.group !== group || !isAlive(member)) return false;
    const parent = byPid.get(member.parent);
    return parent !== undefined && parent.group !== group && parent.session === member.session;
  });
}

function isAlive(member: Member): boolean {
  return member.state !== 'Z' && member.state !== 'X';
}

function readProcesses(): Member[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? readMember(name) : []));
}

function readMember(pid: string): Member[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name stands in brackets and may itself hold brackets and spaces.
    const [state = '', parent, group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [
      {
        pid: Number(pid),
        state,
        parent: Number(parent),
        group: Number(group),
        session: Number(session),
      },
    ];
  } catch {
    return []; // ended since
  }
}
