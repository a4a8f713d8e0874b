// Ledgers and reviews as text for people, and as tables in Markdown.
import { clean } from '../clean-text.js';
import type { PlanDescription } from '../plan/describe.js';
import type { PlayedCard } from './cards.js';
import type { Gate } from './gate.js';
import { CATEGORIES, type Ledger, type LedgerCategory, type LedgerEntry } from './ledger.js';
import type { Review } from './review.js';

const SESSIONS: Record<PlanDescription['session'], string> = {
  new: 'new: no controlling terminal',
  group: 'group: a process group of its own in the session of the caller',
  inherit: 'inherit: the session and process group of the caller',
};

/** Columns under each other; the last one as long as it is. */
function align(rows: ReadonlyArray<readonly string[]>, indent: string): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  }
  return rows.map((row) =>
    (indent + row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).trimEnd(),
  );
}

function cells({ target, object, operation, identity, note }: LedgerEntry): string[] {
  return [target === null ? '' : String(target), operation, object, identity ?? '', note].map(
    clean,
  );
}

/** A ledger as text for a terminal, a line for each entry. Control characters are made visible. */
export function formatLedger({ plan, entries, notTested }: Ledger): string {
  const lines = [line('program', plan.executable)];
  // One width for all categories: they are parts of one table.
  const rows = align(entries.map(cells), '  ');
  let category: LedgerCategory | null = null;
  entries.forEach((entry, index) => {
    if (entry.category !== category) lines.push(CATEGORIES[entry.category]);
    category = entry.category;
    lines.push(rows[index] ?? '');
  });
  const none = (Object.keys(CATEGORIES) as LedgerCategory[]).filter(
    (each) => !entries.some((entry) => entry.category === each),
  );
  for (const each of none) lines.push(`${CATEGORIES[each]}: none`);
  return `${[...lines, ...describeLaunch(plan), ...notTested.map((each) => line('not tested', each))].join('\n')}\n`;
}

function describeLaunch(plan: PlanDescription): string[] {
  const keyboard =
    plan.foreground === null ? '' : `, in the foreground of the terminal on ${plan.foreground}`;
  const attributes = Object.keys(plan.attributes);
  return [
    line('session', SESSIONS[plan.session] + keyboard),
    line(
      'privileges',
      plan.noNewPrivileges
        ? 'no new ones: setuid programs give it nothing'
        : 'setuid programs may grant it new ones',
    ),
    ...(attributes.length === 0 ? [] : [line('attributes', JSON.stringify(plan.attributes))]),
    line('route', `${plan.route.kind}: ${plan.route.reasons.join('; ')}`),
    line('verified', plan.verify ?? 'not: nobody looks at its exec'),
    ...(plan.pinned === null ? [] : [line('pinned', `SHA-256 ${plan.pinned.sha256}`)]),
    line('digest', plan.digest),
    ...plan.warnings.map((warning) => line('warning', warning)),
  ];
}

function line(label: string, text: string): string {
  return `${label.padEnd(12)} ${clean(text)}`;
}

/** A ledger as a table in Markdown. */
export function markdownLedger({ entries }: Ledger): string {
  const rows = entries.map((entry) => [CATEGORIES[entry.category], ...cells(entry)]);
  return markdownTable(['category', 'number', 'operation', 'object', 'dev:inode', 'note'], rows);
}

function markdownTable(heading: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const escape = (cell: string): string => cell.replaceAll('\\', '\\\\').replaceAll('|', '\\|');
  const row = (each: readonly string[]): string => `| ${each.map(escape).join(' | ')} |`;
  return `${[row(heading), `|${' --- |'.repeat(heading.length)}`, ...rows.map(row)].join('\n')}\n`;
}

/** A review as text for a terminal: the decision, each gate, and what was not looked at. */
export function formatReview({ decision, gates, planDigest, notTested }: Review): string {
  return `${[
    `decision     ${decision}`,
    ...formatGates(gates),
    line('digest', planDigest),
    ...notTested.map((each) => line('not tested', each)),
    'This is a comparison with what was approved, and authorizes nothing.',
  ].join('\n')}\n`;
}

/** One line for each gate, and below it what differs. */
export function formatGates(gates: readonly Gate[]): string[] {
  const heads = align(
    gates.map(({ name, decision, sentence }) => [name, decision, sentence]),
    '  ',
  );
  return gates.flatMap(({ differences }, index) => [
    heads[index] ?? '',
    ...differences.map(
      ({ path, approved, asked, effect }) =>
        `      ${clean(path)} (${effect}): approved ${clean(approved)}, asked ${clean(asked)}`,
    ),
  ]);
}

export function formatCards(played: readonly PlayedCard[]): string {
  const rows = played.map(({ card, review, gate, asExpected }) => [
    card.id,
    review.decision,
    `${gate.name}: ${gate.decision}`,
    asExpected ? card.condition : `${card.condition} (NOT AS THE CARD SAYS)`,
  ]);
  return `${align([['CARD', 'DECISION', 'GATE', 'CHANGED'], ...rows], '').join('\n')}\n`;
}
