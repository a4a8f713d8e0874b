// `sallyport gaps`: what a run could reach here although nothing was handed over.
import { reportGaps, shieldParent, type Gap, type GapReport, type PlanOptions } from '../index.js';
import { FOUND } from './audit.js';
import type { EnvironmentFlags } from './environment-flags.js';
import { buildEnvironment } from './environment-options.js';
import { printJson } from './json-output.js';
import { parseUser } from './quantities.js';
import { clean, formatTable, paint, type Row } from './table.js';
import { printLines } from './wrap.js';

export interface GapsFlags extends EnvironmentFlags {
  probeMetadata?: boolean;
  /** False with --no-shield. */
  shield?: boolean;
  json?: boolean;
}

export async function gaps(flags: GapsFlags): Promise<number> {
  const user = parseUser(flags.user);
  const options: PlanOptions = {
    env: buildEnvironment(flags),
    ...(user === undefined ? {} : { user }),
  };
  // As a run would find its parent.
  if (flags.shield !== false) shieldParent();
  const report = await reportGaps({ options, probeMetadata: flags.probeMetadata === true });
  if (flags.json === true) printJson('gaps', report);
  else printLines(formatReport(report));
  if (report.gaps.some(({ state }) => state === 'open')) return FOUND.something;
  return report.gaps.some(({ state }) => state === 'unknown') ? FOUND.unknown : FOUND.nothing;
}

const HEADING = ['GAP', 'WHAT', 'STATE'] as const;

function formatReport({ uid, gid, gaps, notTested }: GapReport): string {
  const count = gaps.filter(({ state }) => state === 'open').length;
  return [
    `${paint(`A run as uid ${uid}, gid ${gid}`, 'bold')}: ${count} of ${gaps.length} are open\n`,
    formatTable(HEADING, gaps.map(describeGap)),
    '\nNot tested:\n',
    ...notTested.map((text) => `  ${clean(text)}\n`),
  ].join('');
}

function describeGap(gap: Gap): Row {
  const { kind, subject, state } = gap;
  const colour = ({ open: 'red', closed: 'green', unknown: 'yellow' } as const)[
    state as 'open' | 'closed' | 'unknown'
  ];
  return { cells: [kind, subject, phrase(gap)], colour };
}

function phrase({ state, mechanism, reason, errno }: Gap): string {
  const refused = errno === null ? '' : ` (${errno})`;
  switch (state) {
    case 'open':
      return `open because ${reason}`;
    case 'closed':
      return `closed by ${mechanism ?? 'system'}: ${reason}${refused}`;
    case 'unknown':
      return `unknown: ${reason}${refused}`;
    case 'not-probed':
      return 'not looked at: write --probe-metadata';
  }
}
