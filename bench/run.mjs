// Runs the benchmarks: `node bench/run.mjs [trial…] [--quick] [--drivers id,id]`, all by default.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine } from './machine.mjs';
import { listDrivers } from './registry.mjs';
import { printMachine, printMissing, printSection, writeResults } from './report.mjs';
import { buildTargets } from './targets.mjs';
import * as calls from './trials/calls.mjs';
import * as descriptors from './trials/descriptors.mjs';
import * as heap from './trials/heap.mjs';
import * as importTime from './trials/import-time.mjs';
import * as memory from './trials/memory.mjs';
import * as pipes from './trials/pipes.mjs';
import * as throughput from './trials/throughput.mjs';

const TRIALS = {
  calls,
  heap,
  descriptors,
  throughput,
  pipes,
  import: importTime,
  memory,
};

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    drivers: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const names = positionals.length > 0 ? positionals : Object.keys(TRIALS);
const unknown = names.filter((name) => !Object.hasOwn(TRIALS, name));
if (options.help || unknown.length > 0) {
  for (const name of unknown) console.error(`bench: no trial '${name}'`);
  console.log('usage: npm run bench -- [--quick] [--drivers spawn,node,…] [trial…]\n');
  for (const [name, { title }] of Object.entries(TRIALS)) console.log(`  ${name.padEnd(12)}${title}`);
  process.exit(unknown.length > 0 ? 2 : 0);
}

const root = path.join(import.meta.dirname, '..');
const targets = buildTargets();
const wanted = options.drivers?.split(',');
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
  const found = await TRIALS[name].run({ drivers, targets, quick: options.quick, machine });
  for (const section of found) {
    printSection(section);
    sections.push({ trial: name, ...section });
  }
}
printMissing(missing);
const file = writeResults({ machine, quick: options.quick, sections, missing });
console.log(`\nAll numbers: ${path.relative(process.cwd(), file)}`);
