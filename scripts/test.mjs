// Test runs: builds what is tested, runs vitest and the native tests, lists what was skipped and why,
// and ends with one line counted from the runners' reports.
//   node scripts/test.mjs                     everything
//   node scripts/test.mjs --part unit         one part of scripts/test-parts.mjs
//   node scripts/test.mjs --sum               adds up what the parts before it have left, runs nothing
//   node scripts/test.mjs test/plan           what vitest takes: only vitest runs
//   node scripts/test.mjs --forget            removes what earlier parts have left for --sum
// --built: what is tested has been built.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

import { closingLine, countVitest, failure, hasPassed, sum } from './counts.mjs';
import { testNative } from './native-test.mjs';
import { filtersOf, forgetReports, partNames, readReport, writeReport } from './test-parts.mjs';
import { mustRun, root, runNode } from './tools.mjs';

const vitestReport = path.join(root, 'reports/vitest.json');

function testTypeScript(args) {
  // A report of an earlier run must not be taken for this one's.
  rmSync(vitestReport, { force: true });
  const succeeded = runNode(
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${vitestReport}`,
    ...args,
  );
  if (!existsSync(vitestReport)) return failure('vitest: ended without a report');
  const report = JSON.parse(readFileSync(vitestReport, 'utf8'));
  const counts = countVitest(report, (file) => path.relative(root, file));
  // An error outside of every test (an unhandled rejection, a worker that crashed) fails none.
  if (!succeeded && counts.failed.length === 0) counts.failed.push('vitest: an error in no test');
  return counts;
}

function testPart(part) {
  if (part === 'native') return testNative();
  const filters = filtersOf(part);
  return filters.length === 0 ? sum([]) : testTypeScript(filters);
}

function build() {
  return runNode('scripts/build.mjs', 'typescript', 'addon');
}

function parse(words) {
  const [first, ...others] = words.filter((word) => word !== '--built');
  const isBuilt = words.includes('--built');
  if (first === '--sum') return { isBuilt: true, test: () => sum(partNames.map(readReport)) };
  if (first === '--forget') return { isBuilt: true, test: null };
  if (first !== '--part') {
    const args = first === undefined ? [] : [first, ...others];
    const all = () => sum([testTypeScript([]), testNative()]);
    return { isBuilt, test: args.length === 0 ? all : () => testTypeScript(args) };
  }
  const [part] = others;
  if (!partNames.includes(part)) {
    console.error(`test: unknown part '${part ?? ''}'; write ${partNames.join(', ')}`);
    process.exit(1);
  }
  return { isBuilt, part, test: () => testPart(part) };
}

function printSkipped(skipped) {
  for (const why of new Set(skipped.map(({ reason }) => reason))) {
    console.log(`Skipped, ${why}:`);
    for (const { name, reason } of skipped) if (reason === why) console.log(`  ${name}`);
  }
}

const { isBuilt, part, test } = parse(process.argv.slice(2));
if (test === null) forgetReports();
else {
  // The native tests have a build of their own.
  const isReady = isBuilt || part === 'native' || build();
  const counts = isReady ? test() : failure('the build');
  if (part !== undefined) writeReport(part, counts);
  console.log();
  printSkipped(counts.skipped);
  for (const name of counts.failed) console.log(`FAILED ${name}`);
  if (mustRun && counts.skipped.length > 0) {
    console.log('SALLYPORT_MUST_RUN=1: a skip is a failure');
  }
  // The line alone is that of a whole run.
  console.log(part === undefined ? closingLine(counts) : `${part}: ${closingLine(counts)}`);
  // A part of which there is nothing yet has not failed.
  const isEmpty = part !== undefined && part !== 'native' && filtersOf(part).length === 0;
  process.exitCode = isEmpty || hasPassed(counts, mustRun) ? 0 : 1;
}
