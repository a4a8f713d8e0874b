// `sallyport holders`: which processes hold a port or a path.
import { findHolders, type HolderReport } from '../index.js';
import { phraseCount } from '../phrase-count.js';
import { FOUND } from './audit.js';
import { describeNumber, describeTarget } from './describe-record.js';
import { UsageError } from './failure.js';
import { printJson, type HoldersOutput } from './json-output.js';
import { print } from './output.js';
import { formatTable, paint } from './table.js';

export function holders(what: string | undefined, flags: { json?: boolean }): number {
  if (what === undefined || what === '')
    throw new UsageError('holders: nothing given: write a path or a port');
  // A file that is named like a port is written ./8080.
  const report = findHolders(isPort(what) ? { port: Number(what) } : { path: what });
  if (flags.json === true) printJson('holders', toJson(report));
  else print(format(report));
  if (report.holders.length > 0) return FOUND.something;
  return report.unreadable.length > 0 ? FOUND.unknown : FOUND.nothing;
}

export const isPort = (text: string): boolean =>
  /^[1-9]\d{0,4}$/.test(text) && Number(text) < 65536;

function toJson({ holders, unreadable }: HolderReport): HoldersOutput {
  return {
    version: 1,
    holders: holders.map(({ pid, fd, command, process, record }) => ({
      pid,
      fd,
      command,
      uid: process.uid,
      startTime: process.startTime,
      record,
    })),
    unreadable,
  };
}

function format({ holders, unreadable }: HolderReport): string {
  const rows = holders.map(({ pid, command, process, record }) => ({
    cells: [
      String(pid),
      command,
      String(process.uid ?? '?'),
      describeNumber(record),
      record.access,
      describeTarget(record),
    ],
  }));
  const parts = [
    rows.length === 0
      ? 'no process that can be read has it open\n'
      : formatTable(['PID', 'COMMAND', 'UID', 'FD', 'ACCESS', 'WHAT'], rows),
  ];
  if (unreadable.length > 0) parts.push(formatUnreadable(unreadable));
  return parts.join('');
}

export function formatUnreadable(unreadable: HolderReport['unreadable']): string {
  const pids = unreadable.slice(0, 8).map(({ pid }) => pid);
  const more = unreadable.length > pids.length ? ', …' : '';
  return `${paint(`${phraseCount(unreadable.length, 'process', 'processes')} could not be read (${pids.join(', ')}${more}): ${unreadable.length === 1 ? 'it' : 'any of them'} may hold it too`, 'yellow')}\n`;
}
