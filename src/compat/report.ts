// Tells what a plain spawn would have handed to a child that was started without it.
import { appendFileSync, writeSync } from 'node:fs';

import { describeLeak, listLeaks, type Leak } from './leaks.js';
import type { ProgramCall } from './node-internals.js';
import type { Settings } from './settings.js';

const [append, write] = [appendFileSync, writeSync];

/** One line of a report in a file. */
export interface LeakRecord {
  readonly version: 1;
  /** The process that started the child, and its command line without its arguments' values. */
  readonly parent: number;
  readonly program: string;
  readonly pid: number;
  /** As the caller named it. */
  readonly file: string;
  readonly leaks: readonly Leak[];
}

let hasWarned = false;

/**
 * Does nothing where nothing is to be reported; never throws: a program must not fail because nobody
 * listens. Where the file cannot be written that is a warning, once.
 */
export function reportChild({ file, stdio }: ProgramCall, pid: number, settings: Settings): void {
  const { report, pass } = settings;
  if (report === undefined) return;
  const leaks = listLeaks().filter(
    ({ fd }) => !pass.includes(fd) && !(fd in stdio && stdio[fd]?.type !== 'ignore'),
  );
  try {
    if (report === 'stderr') {
      if (leaks.length > 0) write(2, formatLine(file, pid, leaks));
      return;
    }
    const program = process.argv[1] ?? process.title;
    const record: LeakRecord = { version: 1, parent: process.pid, program, pid, file, leaks };
    append(report, `${JSON.stringify(record)}\n`);
  } catch (error) {
    if (report === 'stderr' || hasWarned) return;
    hasWarned = true;
    process.emitWarning(`no child is reported in ${report}: ${(error as Error).message}`, {
      type: 'SallyportWarning',
    });
  }
}

function formatLine(file: string, pid: number, leaks: readonly Leak[]): string {
  const list = leaks.map(describeLeak).join(', ');
  return `sallyport: ${file} (pid ${pid}) was spared what a plain spawn hands over: ${list}\n`;
}
