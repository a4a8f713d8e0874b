// The gate of the program: which file it is, and whether what was approved is what would run.
import { SHELLS } from '../parse.js';
import { Comparison, type Case, type Gate } from '../gate.js';

export function reviewExecutable({ plan, approved, evidence }: Case): Gate {
  const comparison = new Comparison();
  const { executable } = approved;
  if (isWrapped(plan.executable, plan.argv, executable.path)) {
    // Not another program in the place of this one: the gate of the launcher says more.
    comparison.unknown('executable.path', executable.path, `${plan.executable} before it`);
  } else if (plan.executable !== executable.path) {
    comparison.wider('executable.path', executable.path, plan.executable);
  } else {
    compareFile({ plan, approved, evidence }, comparison);
  }
  const pin = executable.sha256 === undefined ? '' : `, SHA-256 ${executable.sha256}`;
  const asked =
    plan.pinned === null ? plan.executable : `${plan.executable}, SHA-256 ${plan.pinned.sha256}`;
  return comparison.gate('executable', executable.path + pin, asked, {
    accept:
      plan.pinned === null
        ? 'the program is the one that was approved, by its path; its bytes were not compared'
        : 'the program is the one that was approved, to the byte: a sealed copy of it runs',
    hold: 'it is not known that the program is the one that was approved',
    reject: 'the program is another one than was approved',
  });
}

function compareFile(
  { plan, approved: { executable }, evidence }: Omit<Case, 'now'>,
  comparison: Comparison,
): void {
  const file = evidence.executable;
  const program = plan.executable.split('/').pop() ?? '';
  if (executable.kind === 'native') {
    if (SHELLS.has(program) || leadsToShell(file?.leadsTo)) {
      comparison.wider('executable.kind', 'native', 'a shell');
    }
    if (file === undefined || file.kind === 'unknown') {
      comparison.unknown('executable.kind', 'native', 'not known');
    } else if (file.kind === 'script') {
      const by = file.interpreter ?? 'an interpreter';
      comparison.wider('executable.kind', 'native', `a script, run by ${by}`);
    }
  }
  if (executable.sha256 !== undefined) {
    const path = 'executable.sha256';
    if (plan.pinned === null) {
      comparison.unknown(path, executable.sha256, 'not pinned: the file may change before it runs');
    } else if (plan.pinned.sha256 !== executable.sha256) {
      comparison.wider(path, executable.sha256, plan.pinned.sha256);
    }
  }
  for (const field of ['dev', 'inode'] as const) {
    const wanted = executable[field];
    if (wanted === undefined) continue;
    if (file === undefined) comparison.unknown(`executable.${field}`, String(wanted), 'not known');
    else if (String(file[field]) !== String(wanted)) {
      comparison.wider(`executable.${field}`, String(wanted), String(file[field]));
    }
  }
}

/** BusyBox is what its name says: as `sort` it is no shell. */
function leadsToShell(path: string | undefined): boolean {
  const program = path?.split('/').pop() ?? '';
  return program !== 'busybox' && SHELLS.has(program);
}

/** Whether another program is asked for that is given the approved one to start: env, nice, strace … */
export function isWrapped(executable: string, argv: readonly string[], approved: string): boolean {
  return executable !== approved && argv.slice(1).includes(approved);
}
