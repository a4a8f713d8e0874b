// Builds the native unit tests with sanitizers, runs each program and counts its JUnit report.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { build, developerBuild } from './cmake.mjs';
import { closingLine, countJunit, failure, hasPassed, sum } from './counts.mjs';
import { hasDoctest, hasSanitizer, isInstalled, mustRun, root } from './tools.mjs';

const sources = path.join(root, 'test/native');
const reports = path.join(root, 'reports/native');

// A program that hangs has failed; none takes a minute.
const timeout = 150_000;

/** @returns {{ label: string, programs: string[], build: import('./cmake.mjs').Build, launcher: string[] }[]} */
function suites() {
  const programs = (existsSync(sources) ? readdirSync(sources) : [])
    .filter((name) => name.endsWith('.cc'))
    .map((name) => path.basename(name, '.cc'));
  // Only what has threads can have races.
  const threaded = programs.filter((name) =>
    /^(lane|reactor|reaper|init_links|watched_pipes|account_lookups|process_scan)/.test(name),
  );
  return [
    { label: '', programs, build: developerBuild, launcher: [] },
    {
      label: ' (thread)',
      programs: threaded,
      build: { folder: 'build-cmake-tsan', sanitize: 'thread', tests: threaded },
      launcher: withKnownAddresses(),
    },
  ].filter(({ programs }) => programs.length > 0);
}

/** ThreadSanitizer's layout of the memory allows for 28 bits of randomness; newer kernels have 32. */
function withKnownAddresses() {
  const setting = '/proc/sys/vm/mmap_rnd_bits';
  const bits = existsSync(setting) ? Number(readFileSync(setting, 'utf8')) : 0;
  return bits > 28 && isInstalled('setarch') ? ['setarch', '-R'] : [];
}

function missingTools(sanitize) {
  const missing = [];
  if (!isInstalled('cmake')) missing.push('cmake');
  if (!hasDoctest()) missing.push('doctest');
  if (!hasSanitizer(sanitize)) missing.push(`a compiler with -fsanitize=${sanitize}`);
  return missing.join(', ');
}

function runProgram(program, { label, build, launcher }) {
  const name = program + label;
  const report = path.join(reports, `${name}.xml`);
  // --no-skip: a test that is switched off in its source would be missing from the report.
  const [file, ...args] = [
    ...launcher,
    path.join(root, build.folder, 'tests', program),
    '--reporters=junit',
    `--out=${report}`,
    '--no-skip',
  ];
  // To a file: the standard error of a lane, on which most of it happens, is /dev/null.
  const log = `log_path="${path.join(reports, `${name}.log`)}"`;
  const options = { ASAN_OPTIONS: log, TSAN_OPTIONS: log };
  const env = { ...process.env, ...options, UBSAN_OPTIONS: `print_stacktrace=1:${log}` };
  const result = spawnSync(file, args, {
    cwd: root,
    stdio: 'inherit',
    env,
    timeout,
    killSignal: 'SIGKILL',
  });
  const xml = existsSync(report) ? readFileSync(report, 'utf8') : '';
  const counts = countJunit(xml, name);
  // A leak, a race or a crash leaves no failed test case behind.
  if (result.status !== 0 && counts.failed.length === 0) {
    const how = result.error?.message ?? result.signal ?? `exit code ${result.status}`;
    counts.failed.push(`${name}: ended with ${how}`);
  }
  if (counts.failed.length > 0) console.log(xml, readLogs(name));
  console.log(`native tests: ${name}, ${counts.passed} of ${counts.passed + counts.failed.length}`);
  return counts;
}

/** What the sanitizers said: each process writes a file of its own, named after its pid. */
function readLogs(name) {
  return readdirSync(reports)
    .filter((file) => file.startsWith(`${name}.log.`))
    .map((file) => readFileSync(path.join(reports, file), 'utf8'))
    .join('\n');
}

function runSuite(suite) {
  const { programs } = suite;
  const missing = missingTools(suite.build.sanitize);
  if (missing !== '') {
    const reason = `needs ${missing}`;
    const skipped = programs.map((name) => ({
      name: `test/native/${name}.cc${suite.label}`,
      reason,
    }));
    return { passed: 0, failed: [], skipped };
  }
  if (!build(suite.build, 'native_tests')) {
    return failure(`native tests${suite.label}: the build failed`);
  }
  return sum(programs.map((name) => runProgram(name, suite)));
}

/** @returns {import('./counts.mjs').Counts} */
export function testNative() {
  const all = suites();
  if (all.length === 0) return failure('native tests: none found');
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  return sum(all.map(runSuite));
}

// `npm run test:native`; scripts/test.mjs imports this file and adds the counts to its own.
if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const counts = testNative();
  for (const { name, reason } of counts.skipped) console.log(`skipped ${name}: ${reason}`);
  for (const name of counts.failed) console.log(`FAILED ${name}`);
  console.log(closingLine(counts));
  process.exitCode = hasPassed(counts, mustRun) ? 0 : 1;
}
