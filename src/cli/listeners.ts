// `sallyport listeners`: who listens, who holds a mere copy, and freeing a port from it.
import { createInterface } from 'node:readline/promises';
import { isatty } from 'node:tty';

import {
  explainPort,
  listListeners,
  releaseListener,
  type Listener,
  type ListenerHolder,
  type ListenerReport,
} from '../index.js';
import { FOUND } from './audit.js';
import { UsageError } from './failure.js';
import { formatUnreadable, isPort } from './holders.js';
import { printJson } from './json-output.js';
import { print } from './output.js';
import { clean, formatTable, type Row } from './table.js';

export interface ListenersFlags {
  release?: boolean;
  yes?: boolean;
  force?: boolean;
  json?: boolean;
}

export async function listeners(port: string | undefined, flags: ListenersFlags): Promise<number> {
  if (port !== undefined && !isPort(port))
    throw new UsageError(
      'no port: a port is a number: write one from 1 to 65535; who has a Unix socket or a file says sallyport holders PATH',
    );
  if (flags.release !== true && (flags.yes === true || flags.force === true)) {
    throw new UsageError('--yes and --force: go with --release: write that too, or leave them out');
  }
  if (flags.release === true) return await release(port, flags);
  const number = port === undefined ? undefined : Number(port);
  const report = listListeners(number === undefined ? {} : { port: number });
  const explanation = number === undefined ? undefined : explainPort(number);
  if (flags.json === true) {
    printJson('listeners', { version: 1, ...report, explanation: explanation ?? null });
  } else {
    print(format(report));
    if (explanation !== undefined) {
      print(
        explanation.text
          .split('\n')
          .map((line) => `${clean(line)}\n`)
          .join(''),
      );
    }
  }
  if (explanation !== undefined) {
    if (explanation.free === null) return FOUND.unknown;
    return explanation.free ? FOUND.nothing : FOUND.something;
  }
  return judge(report);
}

/** Copies are what there is to find: that servers listen is as it should be. */
function judge({ listeners, unreadable }: ListenerReport): number {
  const holders = listeners.flatMap((listener) => listener.holders);
  if (holders.some(({ role }) => role === 'copy')) return FOUND.something;
  const cannotTell =
    unreadable.length > 0 ||
    listeners.some((listener) => listener.holders.length === 0) ||
    holders.some(({ role }) => role === 'unknown');
  return cannotTell ? FOUND.unknown : FOUND.nothing;
}

function format({ listeners, unreadable }: ListenerReport): string {
  const rows = listeners.flatMap(toRows);
  const heading = ['PORT', 'PID', 'COMMAND', 'UID', 'FD', 'ROLE', 'ADDRESS'];
  const table = rows.length === 0 ? 'nothing listens\n' : formatTable(heading, rows);
  return unreadable.length === 0 ? table : table + formatUnreadable(unreadable);
}

function toRows(listener: Listener): Row[] {
  const { port, local, uid, isHere, holders } = listener;
  const address = isHere ? local : `${local} (another network namespace)`;
  const first = port === null ? '' : String(port);
  if (holders.length === 0) {
    return [
      { cells: [first, '?', '?', String(uid ?? '?'), '?', 'hidden', address], colour: 'yellow' },
    ];
  }
  return holders.map((holder) => ({
    cells: [
      first,
      String(holder.pid),
      holder.command,
      String(holder.uid ?? '?'),
      String(holder.fd),
      holder.role,
      address,
    ],
    colour: colourOf(holder),
  }));
}

function colourOf({ role }: ListenerHolder): Row['colour'] {
  return role === 'copy' ? 'red' : role === 'unknown' ? 'yellow' : undefined;
}

async function release(
  port: string | undefined,
  { yes, force, json }: ListenersFlags,
): Promise<number> {
  if (port === undefined)
    throw new UsageError('--release: needs a port: write sallyport listeners PORT --release');
  const number = Number(port);
  if (yes !== true) {
    if (!isatty(0) || !isatty(1))
      throw new UsageError('--release: nobody to ask here: write --yes where you mean it');
    print(format(listListeners({ port: number })));
    if (!(await confirm(`Shut down what listens on port ${port}? [y/N] `))) return FOUND.something;
  }
  const released = releaseListener({ port: number, ...(force === true ? { force } : {}) });
  if (json === true) printJson('released-listeners', { version: 1, released });
  else print(released.map(({ report }) => `${clean(report)}\n`).join(''));
  return FOUND.nothing;
}

async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}
