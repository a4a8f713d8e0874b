// `sallyport audit`: what a process has open, compared with what it should have.
import { readFileSync, writeFileSync } from 'node:fs';

import {
  auditProcess,
  auditTree,
  watchProcess,
  type AuditOptions,
  type ProcessAudit,
  type SallyportError,
} from '../index.js';
import {
  DESCRIPTOR_HEADING,
  describeColumns,
  describeNumber,
  describeProcess,
  describeTarget,
} from './describe-record.js';
import { UsageError } from './failure.js';
import { printJson } from './json-output.js';
import { complain, print } from './output.js';
import { clean, formatTable, paint } from './table.js';
import { renderPage } from './tree-page.js';

/** Of all commands that look: nothing found, something found, or it could not be told. */
export const FOUND = { nothing: 0, something: 1, unknown: 2 } as const;

export interface AuditFlags {
  tree?: boolean;
  json?: boolean;
  against?: string;
  watch?: boolean;
  interval?: string;
  html?: string;
}

export async function audit(pid: string | undefined, flags: AuditFlags): Promise<number> {
  const number = parsePid(pid);
  requireOneWay(flags);
  if (flags.watch === true) return await watchWhileReadable(number, flags);
  const against = flags.against === undefined ? undefined : readAgainst(flags.against);
  const audits =
    flags.tree === true
      ? auditTree(number)
      : [auditProcess(number, against === undefined ? {} : { against })];
  if (flags.html !== undefined) writeFileSync(flags.html, renderPage(audits));
  else if (flags.json === true) printJson('audit', { version: 1, processes: audits });
  else print(audits.map(formatAudit).join('\n'));
  return judge(audits);
}

function requireOneWay({ tree, json, against, watch, interval, html }: AuditFlags): void {
  if (interval !== undefined && watch !== true)
    throw new UsageError('--interval: needs --watch: write that too, or leave it out');
  if (html !== undefined && tree !== true)
    throw new UsageError('--html: needs --tree: write that too, or leave it out');
  if (html !== undefined && json === true)
    throw new UsageError('--html and --json: both print the result: choose one');
  if (against !== undefined && tree === true) {
    throw new UsageError('--against: a plan is of one process: leave --tree out');
  }
  if (watch === true && (tree === true || against !== undefined)) {
    throw new UsageError(
      '--watch: it shows one process as it changes: leave --tree and --against out',
    );
  }
}

export function parsePid(text: string | undefined): number {
  if (text !== undefined && /^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new UsageError(
    text === undefined
      ? 'no process given: write its id, as ps(1) lists it'
      : 'no process id: a process is given by its id: write a number from 1',
  );
}

function readAgainst(file: string): NonNullable<AuditOptions['against']> {
  try {
    const plan = JSON.parse(readFileSync(file, 'utf8')) as AuditOptions['against'] | null;
    // To the library it would mean: compare with nothing.
    if (plan === null || plan === undefined) throw new TypeError('it is null');
    return plan;
  } catch (error) {
    const why = error instanceof SyntaxError ? 'it is no JSON' : (error as Error).message;
    throw new UsageError(`--against: ${why}: give what 'sallyport run --explain --json' printed`);
  }
}

function judge(audits: readonly ProcessAudit[]): number {
  if (audits.some(({ leaks }) => leaks.length > 0)) return FOUND.something;
  return audits.some(({ unreadable }) => unreadable !== undefined) ? FOUND.unknown : FOUND.nothing;
}

function formatAudit(audit: ProcessAudit): string {
  const { descriptors, leaks, unreadable, verdict } = audit;
  const leaking = new Set(leaks);
  const parts = [`${paint(clean(describeProcess(audit)), 'bold')}\n`];
  if (descriptors.length > 0) {
    const rows = descriptors.map((record) => describeColumns(record, leaking.has(record)));
    parts.push(formatTable(DESCRIPTOR_HEADING, rows));
  } else if (unreadable === undefined) parts.push('has nothing open\n');
  if (unreadable !== undefined)
    parts.push(`${paint(`not readable: ${clean(unreadable)}`, 'yellow')}\n`);
  if (verdict === 'clean') parts.push(`${paint('clean', 'green')}: all that is open is named\n`);
  if (verdict === 'leaks') {
    parts.push(
      `${paint('leaks', 'red')}: ${leaks.map(describeNumber).join(', ')} ${leaks.length === 1 ? 'is not named, or is' : 'are not named, or are'} something else\n`,
    );
  }
  if (verdict === 'unknown')
    parts.push(`${paint('unknown', 'yellow')}: not all of it could be read\n`);
  return parts.join('');
}

/** One that cannot be read is no failure of ours: it could not be told what it has. */
async function watchWhileReadable(pid: number, flags: AuditFlags): Promise<number> {
  try {
    return await watch(pid, flags);
  } catch (error) {
    const { code, stage, message } = error as Partial<SallyportError> & Error;
    if (stage !== 'audit' || code === 'ESRCH') throw error;
    complain(message);
    return FOUND.unknown;
  }
}

async function watch(pid: number, { interval, json }: AuditFlags): Promise<number> {
  const milliseconds = interval === undefined ? undefined : parseInterval(interval);
  const changes = watchProcess(pid, milliseconds === undefined ? {} : { interval: milliseconds });
  for await (const change of changes) {
    const { type, record, at } = change;
    const sign = { appeared: '+', vanished: '-', changed: '~' }[type];
    const colour = { appeared: 'green', vanished: 'red', changed: 'yellow' } as const;
    const line = `${at.toISOString()}  ${sign} ${describeNumber(record)}  ${record.kind} ${record.access}  ${describeTarget(record)}`;
    if (json === true) printJson('audit-change', change);
    else print(`${paint(clean(line), colour[type])}\n`);
  }
  return FOUND.nothing;
}

function parseInterval(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError('--interval: no time: give milliseconds, 1 or more');
}
