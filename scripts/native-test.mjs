// Builds the native unit tests with sanitizers, runs each program and counts its JUnit report.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { build } from './cmake.mjs';
import { closingLine, countJunit, hasPassed, sum } from './counts.mjs';
import { hasDoctest, isInstalled, mustRun, root } from './tools.mjs';

const reports = path.join(root, 'reports/native');
const sources = path.join(root, 'test/native');
const programs = (existsSync(sources) ? readdirSync(sources) : [])
  .filter((name) => name.endsWith('.cc'))
  .map((name) => path.basename(name, '.cc'));

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
  console.log(`  ${name}: ${closingLine(counts)}`);
  return counts;
}

function testAll() {
  const missing = missingTools();
  if (missing !== '') {
    const skipped = programs.map((name) => ({ name: `test/native/${name}.cc`, reason: missing }));
    return { passed: 0, failed: [], skipped };
  }
  if (!build()) return { passed: 0, failed: ['native tests: the build failed'], skipped: [] };
  return sum(programs.map(runProgram));
}

rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });
const counts = testAll();
// scripts/test.mjs adds these to its own.
writeFileSync(path.join(root, 'reports/native.json'), JSON.stringify(counts, null, 2));
for (const { name, reason } of counts.skipped) console.log(`  skipped ${name}: ${reason}`);
console.log(closingLine(counts));
process.exitCode = hasPassed(counts, mustRun) ? 0 : 1;
