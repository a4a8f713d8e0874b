// Puts the numbers of a run into docs/: `node bench/write-docs.mjs [results.json]`, by default those
// that were put there last (bench/published.json). With --check it only says whether they are there.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { drawPlot } from './plot.mjs';

const root = path.join(import.meta.dirname, '..');
const PUBLISHED = 'bench/published.json';
const PAGE = 'docs/performance.md';
const HEAP_PLOT = 'docs/performance-heap.svg';
const DESCRIPTOR_PLOT = 'docs/performance-descriptors.svg';

// Of the Nodes the one that runs sallyport: the lines of all others lie on its own.
const LINES = [
  { id: 'launch', label: 'launch()', color: '#0a6b3d', strong: true },
  { id: 'spawn', label: 'spawn()', color: '#2da44e', strong: true },
  { id: 'direct', label: 'spawn(), direct', color: '#7fbf3f' },
  { id: 'node', label: 'Node child_process', color: '#cf222e' },
  { id: 'bun', label: 'Bun.spawn', color: '#8250df' },
  { id: 'deno', label: 'Deno.Command', color: '#0969da' },
  { id: 'python', label: 'Python subprocess', color: '#9a6700' },
  { id: 'c', label: 'C posix_spawn', color: '#57606a' },
];

function describeRun({ machine, when, quick }) {
  const kind = quick ? 'a quick run' : 'one run';
  return (
    `From ${kind} on ${when.slice(0, 10)}: Node ${machine.node}, Linux ${machine.kernel}, ${machine.libc}, ` +
    `${machine.cores} cores of ${machine.processor}, load ${machine.loadAverage.toFixed(1)} when it began.`
  );
}

/** Numbers stand right, but for the first column. */
const tabulate = ([header, ...rows]) =>
  [header, header.map((_, column) => (column === 0 ? '---' : '--:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');

const find = (sections, id) => sections.find((section) => section.id === id);

function formatTime(microseconds) {
  if (microseconds === undefined) return '-';
  return microseconds.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

function tabulateGoals({ goals }) {
  const rows = goals.map(
    ({ what, target, seen, met }) => `| ${what} | ${target} | ${seen} | ${met} |`,
  );
  return ['| what | target | seen | met |', '|---|---|---|---|', ...rows].join('\n');
}

function tabulateCalls({ sections }) {
  const [shell, bare] = ['true', 'freestanding'].map((name) => find(sections, `calls ${name}`));
  const rows = (bare ?? shell).rows.map(({ id, label }) => {
    const [ofShell, ofBare] = [shell, bare].map(
      (section) => section?.rows.find((row) => row.id === id)?.values ?? {},
    );
    return [
      label,
      formatTime(ofBare.blockedP50),
      formatTime(ofBare.blockedP99),
      formatTime(ofBare.busy),
      formatTime(ofBare.exitedP50),
      formatTime(ofShell.blockedP50),
      formatTime(ofShell.exitedP50),
    ];
  });
  const header = ['µs', 'blocked p50', 'p99', 'busy', 'to exit', '`/bin/true`: blocked', 'to exit'];
  return tabulate([header, ...rows]);
}

function tabulateOptions({ sections }) {
  const section = find(sections, 'options');
  if (section === undefined) return 'Not measured.';
  const names = { spawn: '`spawn`', launch: '`launch`', direct: '`spawn`, direct' };
  const rows = section.rows.map(({ label, values = {} }) => [
    label,
    ...section.metrics.map(({ key }) => formatTime(values[key])),
  ]);
  return tabulate([['µs blocked', ...section.metrics.map(({ key }) => names[key])], ...rows]);
}

function formatTick(microseconds) {
  const units = [
    [1e6, 's'],
    [1e3, 'ms'],
    [1, 'µs'],
  ];
  const [divisor, unit] = units.find(([least]) => microseconds >= least) ?? units.at(-1);
  return `${Number((microseconds / divisor).toPrecision(2))} ${unit}`;
}

function subtitle({ machine }) {
  return `median, freestanding program; Node ${machine.node}, Linux ${machine.kernel}, ${machine.cores} cores`;
}

/** `pointsOf(id)` gives the points of one line; a line without is left out. */
function draw(results, pointsOf, words) {
  const lines = LINES.map((line) => ({ ...line, points: pointsOf(line.id) })).filter(
    ({ points }) => points.length > 0,
  );
  return drawPlot({
    subtitle: subtitle(results),
    yTitle: 'time that the call blocks',
    formatValue: formatTick,
    lines,
    ...words,
  });
}

function drawHeap(results) {
  const valueAt = (gibibytes, id, key) =>
    results.sections
      .filter((section) => section.id === `heap buffers ${gibibytes}`)
      .map((section) => section.rows.find((row) => row.id === id)?.values?.[key])
      .find((value) => value !== undefined);
  const pointsOf = (id) =>
    [
      [0, valueAt(1, id, 'p50 0')],
      [1, valueAt(1, id, 'p50 1')],
      [4, valueAt(4, id, 'p50 4')],
    ].filter(([, y]) => y !== undefined);
  return draw(results, pointsOf, {
    title: 'Starting a program while the parent holds memory',
    xTitle: 'memory in the parent (Buffers; malloc in C)',
    ticks: [0, 1, 2, 3, 4].map((gibibytes) => [gibibytes, `${gibibytes} GiB`]),
  });
}

function drawDescriptors(results) {
  const section = find(results.sections, 'descriptors');
  const pointsOf = (id) => {
    const values = section.rows.find((row) => row.id === id)?.values ?? {};
    return section.levels.map((level) => [level, values[`p50 ${level}`]]).filter(([, y]) => y);
  };
  return draw(results, pointsOf, {
    title: 'Starting a program while the parent has descriptors open',
    xTitle: 'descriptors open in the parent',
    ticks: section.levels.map((level) => [level, level.toLocaleString('en-US')]),
  });
}

function replaceBlock(page, name, text) {
  const pattern = new RegExp(`(<!-- bench: ${name} -->\n)[^]*?(<!-- end -->)`);
  if (!pattern.test(page)) throw new Error(`${PAGE} has no place for '${name}'`);
  return page.replace(pattern, (_, begin, end) => `${begin}\n${text}\n\n${end}`);
}

/** Text by path of all that shows numbers of a run. */
function render(results) {
  const blocks = {
    run: describeRun(results),
    goals: tabulateGoals(results),
    calls: tabulateCalls(results),
    options: tabulateOptions(results),
  };
  let page = readFileSync(path.join(root, PAGE), 'utf8');
  for (const [name, text] of Object.entries(blocks)) page = replaceBlock(page, name, text);
  return {
    [PAGE]: page,
    [HEAP_PLOT]: drawHeap(results),
    [DESCRIPTOR_PLOT]: drawDescriptors(results),
    [PUBLISHED]: `${JSON.stringify(results, null, 1)}\n`,
  };
}

/** @param file JSON of a run of all trials */
export function writeDocs(file) {
  const texts = render(JSON.parse(readFileSync(file, 'utf8')));
  for (const [name, text] of Object.entries(texts)) writeFileSync(path.join(root, name), text);
  return Object.keys(texts);
}

/** The files that do not show the numbers of bench/published.json. */
export function findStale() {
  const results = JSON.parse(readFileSync(path.join(root, PUBLISHED), 'utf8'));
  return Object.entries(render(results))
    .filter(([name, text]) => readFileSync(path.join(root, name), 'utf8') !== text)
    .map(([name]) => name);
}

function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { check: { type: 'boolean', default: false } },
  });
  if (!values.check) {
    const written = writeDocs(positionals[0] ?? path.join(root, PUBLISHED));
    console.log(`Written: ${written.join(', ')}`);
    return;
  }
  const stale = findStale();
  for (const name of stale) console.error(`bench: ${name} is not from ${PUBLISHED}`);
  process.exitCode = stale.length > 0 ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();
