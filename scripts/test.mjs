// The whole test run: builds what is tested, runs vitest and the native tests, lists what was
// skipped and why, and ends with one line counted from the runners' reports. Arguments are passed
// on to vitest, and then only vitest runs: `npm test -- test/plan`.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

import { closingLine, countVitest, failure, hasPassed, sum } from './counts.mjs';
import { testNative } from './native-test.mjs';
import { mustRun, root, runNode } from './tools.mjs';

const vitestReport = path.join(root, 'reports/vitest.json');

function testTypeScript(args) {
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

function testAll(args) {
  // A report of an earlier run must not be taken for this one's.
  rmSync(vitestReport, { force: true });
  if (!runNode('scripts/build.mjs', 'typescript', 'addon')) return failure('the build');
  return args.length > 0 ? testTypeScript(args) : sum([testTypeScript(args), testNative()]);
}

function printSkipped(skipped) {
  for (const why of new Set(skipped.map(({ reason }) => reason))) {
    console.log(`Skipped, ${why}:`);
    for (const { name, reason } of skipped) if (reason === why) console.log(`  ${name}`);
  }
}

const counts = testAll(process.argv.slice(2));
console.log();
printSkipped(counts.skipped);
for (const name of counts.failed) console.log(`FAILED ${name}`);
if (mustRun && counts.skipped.length > 0) console.log('SALLYPORT_MUST_RUN=1: a skip is a failure');
console.log(closingLine(counts));
process.exitCode = hasPassed(counts, mustRun) ? 0 : 1;
