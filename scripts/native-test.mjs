// Builds the native unit tests with sanitizers, runs each program and counts its JUnit report.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { build } from './cmake.mjs';
import { closingLine, countJunit, failure, hasPassed, sum } from './counts.mjs';
import { hasDoctest, isInstalled, mustRun, root } from './tools.mjs';

const sources = path.join(root, 'test/native');
const reports = path.join(root, 'reports/native');

function missingTools() {
  const missing = [];
  if (!isInstalled('cmake')) missing.push('cmake');
  if (!hasDoctest()) missing.push('doctest');
  return missing.join(', ');
}

function runProgram(name) {
  const report = path.join(reports, `${name}.xml`);
  // --no-skip: a test that is switched off in its source would be missing from the report.
  const result = spawnSync(
    path.join(root, 'build-cmake/tests', name),
    ['--reporters=junit', `--out=${report}`, '--no-skip'],
    { cwd: root, stdio: 'inherit', env: { ...process.env, UBSAN_OPTIONS: 'print_stacktrace=1' } },
  );
  const xml = existsSync(report) ? readFileSync(report, 'utf8') : '';
  const counts = countJunit(xml, name);
  // A leak or a crash leaves no failed test case behind.
  if (result.status !== 0 && counts.failed.length === 0) {
    const how = result.error?.message ?? result.signal ?? `exit code ${result.status}`;
    counts.failed.push(`${name}: ended with ${how}`);
  }
  if (counts.failed.length > 0) console.log(xml);
  console.log(`native tests: ${name}, ${counts.passed} of ${counts.passed + counts.failed.length}`);
  return counts;
}

/** @returns {import('./counts.mjs').Counts} */
export function testNative() {
  const programs = (existsSync(sources) ? readdirSync(sources) : [])
    .filter((name) => name.endsWith('.cc'))
    .map((name) => path.basename(name, '.cc'));
  if (programs.length === 0) return failure('native tests: none found');
  const missing = missingTools();
  if (missing !== '') {
    const reason = `needs ${missing}`;
    const skipped = programs.map((name) => ({ name: `test/native/${name}.cc`, reason }));
    return { passed: 0, failed: [], skipped };
  }
  if (!build()) return failure('native tests: the build failed');
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  return sum(programs.map(runProgram));
}

// `npm run test:native`; scripts/test.mjs imports this file and adds the counts to its own.
if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const counts = testNative();
  for (const { name, reason } of counts.skipped) console.log(`skipped ${name}: ${reason}`);
  for (const name of counts.failed) console.log(`FAILED ${name}`);
  console.log(closingLine(counts));
  process.exitCode = hasPassed(counts, mustRun) ? 0 : 1;
}
