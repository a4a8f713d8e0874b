// `sallyport leaks`: what the next plain child of a process would be handed.
import { auditProcess, type DescriptorRecord, type ProcessAudit } from '../index.js';
import { FOUND, parsePid } from './audit.js';
import { DESCRIPTOR_HEADING, describeColumns, describeProcess } from './describe-record.js';
import { UsageError } from './failure.js';
import { printJson } from './json-output.js';
import { print } from './output.js';
import { clean, formatTable, paint } from './table.js';

/** Without a pid: whoever started this command, a shell usually. */
export function leaks(what: readonly string[], flags: { json?: boolean }): number {
  const [pid, surplus] = what;
  if (surplus !== undefined) {
    throw new UsageError('leaks: more than one process: name one; a program to run goes after --');
  }
  const number = pid === undefined ? process.ppid : parsePid(pid);
  const audit = auditProcess(number);
  const found = audit.descriptors.filter(
    ({ fd, closeOnExec, thread }) => fd > 2 && closeOnExec === false && thread === undefined,
  );
  if (flags.json === true) {
    const { startTime, command, unreadable } = audit;
    const head = { version: 1, pid: number, startTime, command } as const;
    printJson('leaks', { ...head, unreadable: unreadable ?? null, leaks: found });
  } else print(format(audit, found));
  if (found.length > 0) return FOUND.something;
  return audit.unreadable === undefined ? FOUND.nothing : FOUND.unknown;
}

function format(audit: ProcessAudit, found: readonly DescriptorRecord[]): string {
  const head = `${paint(clean(describeProcess(audit)), 'bold')}\n`;
  if (audit.unreadable !== undefined) {
    return `${head}${paint(`not readable: ${clean(audit.unreadable)}`, 'yellow')}\n`;
  }
  if (found.length === 0) {
    return `${head}${paint('clean', 'green')}: beyond 0, 1 and 2 all is close-on-exec\n`;
  }
  const rows = found.map((record) => describeColumns(record, true));
  return `${head}${formatTable(DESCRIPTOR_HEADING, rows)}${found.length} would be handed to its next plain child\n`;
}
