// Runs the benchmarks: `node bench/run.mjs [trial…] [--quick] [--drivers id,id] [--write-docs]`.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { evaluateGoals } from './goals.mjs';
import { describeMachine } from './machine.mjs';
import { listDrivers } from './registry.mjs';
import { printGoals, printMachine, printMissing, printSection, writeResults } from './report.mjs';
import { buildTargets } from './targets.mjs';
import * as audit from './trials/audit.mjs';
import * as calls from './trials/calls.mjs';
import * as descriptors from './trials/descriptors.mjs';
import * as dropIn from './trials/drop-in.mjs';
import * as heap from './trials/heap.mjs';
import * as importTime from './trials/import-time.mjs';
import * as memory from './trials/memory.mjs';
import * as options from './trials/options.mjs';
import * as pipes from './trials/pipes.mjs';
import * as supervised from './trials/supervised.mjs';
import * as throughput from './trials/throughput.mjs';
import * as verify from './trials/verify.mjs';
import { writeDocs } from './write-docs.mjs';

const TRIALS = {
  calls,
  options,
  verify,
  heap,
  'drop-in': dropIn,
  descriptors,
  throughput,
  supervised,
  pipes,
  import: importTime,
  memory,
  audit,
};

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    drivers: { type: 'string' },
    'write-docs': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const names = positionals.length > 0 ? positionals : Object.keys(TRIALS);
const unknown = names.filter((name) => !Object.hasOwn(TRIALS, name));
const isPartial = positionals.length > 0 || flags.drivers !== undefined;
const isRefused = unknown.length > 0 || (flags['write-docs'] && isPartial);
if (flags.help || isRefused) {
  for (const name of unknown) console.error(`bench: no trial '${name}'`);
  if (flags['write-docs'] && isPartial)
    console.error('bench: --write-docs takes all trials and drivers');
  console.log(
    'usage: npm run bench -- [--quick] [--drivers spawn,node,…] [--write-docs] [trial…]\n',
  );
  for (const [name, { title }] of Object.entries(TRIALS))
    console.log(`  ${name.padEnd(12)}${title}`);
  process.exit(isRefused ? 2 : 0);
}

const root = path.join(import.meta.dirname, '..');
const targets = buildTargets();
const wanted = flags.drivers?.split(',');
const all = listDrivers({
  spawnLoop: targets.spawn_loop,
  dist: path.join(root, 'dist/index.mjs'),
}).filter(({ id }) => wanted === undefined || wanted.includes(id));
const missing = all.filter((driver) => driver.missing);
const drivers = all.filter((driver) => !driver.missing);
const machine = describeMachine();

printMachine(machine);
const sections = [];
for (const name of names) {
  const found = await TRIALS[name].run({ drivers, targets, quick: flags.quick, machine });
  for (const section of found) {
    printSection(section);
    sections.push({ trial: name, ...section });
  }
}
const goals = evaluateGoals(sections);
if (!isPartial) printGoals(goals);
printMissing(missing);
const file = writeResults({ machine, quick: flags.quick, sections, goals, missing });
console.log(`\nAll numbers: ${path.relative(process.cwd(), file)}`);
if (flags['write-docs']) console.log(`Written: ${writeDocs(file).join(', ')}`);
