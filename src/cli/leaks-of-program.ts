// `sallyport leaks -- node app.js`: what plain spawns would have handed to the children of a program.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { LeakRecord } from '../compat/report.js';
import { auditSelf, spawn, type ExitStatus } from '../index.js';
import { phraseCount } from '../phrase-count.js';
import { FOUND } from './audit.js';
import { UsageError } from './failure.js';
import { forwardToChild, Receiver } from './forward.js';
import { printJson } from './json-output.js';
import { complain, print } from './output.js';
import { clean, paint } from './table.js';

export async function leaksOfProgram(
  words: readonly string[],
  flags: { json?: boolean },
): Promise<number> {
  const [file, ...args] = words;
  if (file === undefined || file === '') {
    throw new UsageError("leaks: no program after '--': write sallyport leaks -- node app.js");
  }
  const scratch = mkdtempSync(join(tmpdir(), 'sallyport-leaks-'));
  try {
    const report = join(scratch, 'report');
    const status = await runProgram(file, args, report);
    const records = readReport(report);
    if (flags.json === true) {
      const { code, signal } = status;
      const facts = { program: file, code, signal, children: records };
      printJson('leaks-of-program', { version: 1, ...facts });
    } else print(format(file, records));
    return records.some(({ leaks }) => leaks.length > 0) ? FOUND.something : FOUND.nothing;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** As a shell would start it, with all that this process was handed. */
async function runProgram(
  file: string,
  args: readonly string[],
  report: string,
): Promise<ExitStatus> {
  const receiver = new Receiver();
  // The terminal tells both of us.
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) process.on(signal, () => undefined);
  forwardToChild(receiver, ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']);
  const child = spawn(file, args, {
    stdio: 'inherit',
    pass: auditSelf({ origins: false, otherEnds: false }).leaky.map(({ fd }) => fd),
    env: { ...process.env, NODE_OPTIONS: nodeOptions(), SALLYPORT_REGISTER: `report=${report}` },
    session: 'inherit',
    noNewPrivileges: false,
  });
  receiver.begin(child);
  const status = await child.exited;
  if (status.code !== 0) {
    complain(`leaks: ${file} ended with ${status.signal ?? `exit code ${String(status.code)}`}`);
  }
  return status;
}

/** --require serves programs of either kind of module. */
function nodeOptions(): string {
  const path = join(__dirname, '../register.js').replace(/["\\]/g, '\\$&');
  const before = process.env.NODE_OPTIONS ?? '';
  return `--require "${path}" ${before}`.trim();
}

function readReport(report: string): LeakRecord[] {
  let text: string;
  try {
    text = readFileSync(report, 'utf8');
  } catch (error) {
    // Nobody has written to it.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as LeakRecord);
}

function format(file: string, records: readonly LeakRecord[]): string {
  if (records.length === 0) {
    return `${clean(file)} started no child by child_process, or is no Node program\n`;
  }
  const lines = records.flatMap(({ parent, pid, file: name, leaks }) => {
    const head = `${paint(clean(`${name} (pid ${pid}, started by ${parent})`), 'bold')}: `;
    if (leaks.length === 0) return [`${head}${paint('clean', 'green')}`];
    const found = leaks.map(({ fd, what, from }) => {
      const origin = from === 'inherited' ? 'its parent inherited it' : 'its parent opened it';
      return paint(clean(`  ${fd}! ${what}: ${origin}`), 'red');
    });
    return [`${head}${leaks.length} would have been handed to it`, ...found];
  });
  const leaky = records.filter(({ leaks }) => leaks.length > 0).length;
  return `${lines.join('\n')}\n${phraseCount(records.length, 'child', 'children')}, ${leaky} of them with more than their stdio\n`;
}
