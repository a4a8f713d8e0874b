// Prints sections as tables, with the ratios of each run; writes the same as JSON.
//
// A section: { trial, title, note, metrics: [{ key, title, digits, compare }], rows }, a row:
// { id, label, subject, values: { [key]: number }, failure }.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const results = path.join(import.meta.dirname, 'results');

/** Of each compared metric, each subject's value divided by this row's, where that is not nothing. */
function ratiosOf(section, row) {
  const ratios = {};
  for (const subject of section.rows.filter((other) => other.subject)) {
    for (const { key, compare, digits = 0 } of section.metrics) {
      const [ours, theirs] = [subject.values?.[key], row.values?.[key]];
      const printsAsZero = !(theirs >= 0.5 * 10 ** -digits);
      if (compare && ours !== undefined && !printsAsZero) {
        ratios[`${subject.id} ${key}`] = ours / theirs;
      }
    }
  }
  return ratios;
}

function formatNumber(value, digits) {
  if (value === undefined || Number.isNaN(value)) return '-';
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

const formatRatio = (ratio) => formatNumber(ratio, ratio < 0.1 ? 3 : 2);

function layOut(rows, pad = 'padStart') {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((text, column) => text[column === 0 ? 'padEnd' : pad](widths[column]))
      .join('  ')
      .trimEnd(),
  );
}

function renderSection(section) {
  const measured = section.rows.filter(({ values }) => values);
  const subjects = measured.filter(({ subject }) => subject);
  const compared = section.metrics.filter(({ compare }) => compare);
  const ratioColumns = subjects.flatMap(({ id }) => compared.map((metric) => ({ id, ...metric })));
  const header = [
    ['', ...section.metrics.map(() => ''), ...ratioColumns.map(({ id }) => `${id} ÷ this`)],
    ['', ...section.metrics.map(({ title }) => title), ...ratioColumns.map(({ title }) => title)],
  ];
  const body = measured.map((row) => {
    const ratios = ratiosOf(section, row);
    return [
      row.label,
      ...section.metrics.map(({ key, digits = 0 }) => formatNumber(row.values[key], digits)),
      ...ratioColumns.map(({ id, key }) => formatRatio(ratios[`${id} ${key}`])),
    ];
  });
  const table = layOut([...header.slice(ratioColumns.length > 0 ? 0 : 1), ...body]);
  const failures = section.rows
    .filter(({ failure }) => failure)
    .map(({ label, failure }) => `${label} failed: ${failure}`);
  const note = section.note ? [section.note] : [];
  return [section.title, ...[...note, ...table, ...failures].map((line) => `  ${line}`)].join('\n');
}

export function printMachine(machine) {
  console.log(
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; ` +
      `Linux ${machine.kernel}, ${machine.libc}, Node ${machine.node}; ` +
      `load ${machine.loadAverage.toFixed(1)}, huge pages ${machine.transparentHugePages}`,
  );
}

export function printSection(section) {
  console.log(`\n${renderSection(section)}`);
}

export function printGoals(goals) {
  const rows = goals.map(({ what, target, seen, met }) => [what, target, seen, met]);
  const table = layOut([['', 'target', 'seen', 'met'], ...rows], 'padEnd');
  console.log(`\n${['the speed to reach', ...table.map((line) => `  ${line}`)].join('\n')}`);
}

export function printMissing(missing) {
  if (missing.length === 0) return;
  console.log('\nNot installed, so not in the tables:');
  for (const { id, missing: remedy } of missing) console.log(`  ${id} (${remedy})`);
}

/** Five digits are more than any measurement here is good for. */
const shorten = (_, value) => (typeof value === 'number' ? Number(value.toPrecision(5)) : value);

export function writeResults({ machine, quick, sections, goals, missing }) {
  const when = new Date().toISOString();
  const file = path.join(results, `${when.replaceAll(':', '-').slice(0, 19)}.json`);
  mkdirSync(results, { recursive: true });
  const withRatios = sections.map((section) => ({
    ...section,
    rows: section.rows.map((row) => ({ ...row, ratios: ratiosOf(section, row) })),
  }));
  const content = {
    when,
    quick,
    machine,
    missing: missing.map(({ id }) => id),
    goals,
    sections: withRatios,
  };
  writeFileSync(file, `${JSON.stringify(content, shorten, 2)}\n`);
  return file;
}
