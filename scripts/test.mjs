// The whole test run: builds what is tested, runs vitest and the native tests, lists what was
// skipped and why, and ends with one line counted from the runners' reports. Arguments are passed
// on to vitest, and then only vitest runs: `npm test -- test/plan`.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

import { closingLine, countVitest, hasPassed, sum } from './counts.mjs';
import { mustRun, root, runNode } from './tools.mjs';

const reports = path.join(root, 'reports');
const relative = (file) => path.relative(root, file);

function readReport(name) {
  const file = path.join(reports, name);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

/** A part that ended badly without naming a failed test (a crash, say) is one failure itself. */
function settle(part, succeeded, counts = { passed: 0, failed: [], skipped: [] }) {
  if (!succeeded && counts.failed.length === 0) counts.failed.push(`${part}: did not end well`);
  return counts;
}

function runVitest(args) {
  const succeeded = runNode(
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=default',
    '--reporter=json',
    '--outputFile.json=reports/vitest.json',
    ...args,
  );
  const report = readReport('vitest.json');
  return settle('vitest', succeeded, report && countVitest(report, relative));
}

function runNative() {
  const ended = runNode('scripts/native-test.mjs');
  const counts = readReport('native.json');
  // With the tools missing, "nothing ran" is no failure of this part.
  return settle('native tests', ended || (counts?.skipped.length ?? 0) > 0, counts);
}

function runAll(args) {
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports);
  if (!runNode('scripts/build.mjs', 'typescript', 'addon')) return settle('the build', false);
  if (args.length > 0) return runVitest(args);
  return sum([runVitest(args), runNative()]);
}

function printSkipped(skipped) {
  for (const missing of new Set(skipped.map(({ reason }) => reason))) {
    console.log(`Skipped for want of: ${missing}`);
    for (const { name, reason } of skipped) if (reason === missing) console.log(`  ${name}`);
  }
}

const counts = runAll(process.argv.slice(2));
console.log();
printSkipped(counts.skipped);
for (const name of counts.failed) console.log(`FAILED ${name}`);
if (mustRun && counts.skipped.length > 0) console.log('SALLYPORT_MUST_RUN=1: a skip is a failure');
console.log(closingLine(counts));
process.exitCode = hasPassed(counts, mustRun) ? 0 : 1;
