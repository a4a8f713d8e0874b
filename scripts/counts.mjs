// Counts what the test runners' own reports say: passed, failed, and skipped with the reason.

import { stripVTControlCharacters } from 'node:util';

/** @typedef {{ passed: number, failed: string[], skipped: { name: string, reason: string }[] }} Counts */

const noReason = 'no reason given';
const skipStatuses = new Set(['skipped', 'pending', 'disabled', 'todo']);

/**
 * vitest's JSON report. A file that failed with no failed test in it (it could not be loaded, or
 * a hook failed) counts as one failure, or it would go unseen.
 * @returns {Counts}
 */
export function countVitest(report, relative = (file) => file) {
  const counts = { passed: 0, failed: [], skipped: [] };
  for (const file of report.testResults) {
    const before = counts.failed.length;
    for (const test of file.assertionResults) {
      const name = `${relative(file.name)}: ${test.fullName}`;
      if (test.status === 'passed') counts.passed += 1;
      else if (test.status === 'failed') {
        counts.failed.push([name, ...reasonsOf(test)].join('\n  '));
      } else if (skipStatuses.has(test.status)) {
        counts.skipped.push({ name, reason: skipReason(test.title) });
      } else counts.failed.push(`${name}: never ended`);
    }
    if (file.status === 'failed' && counts.failed.length === before) {
      counts.failed.push(relative(file.name));
    }
  }
  return counts;
}

// Beside the name, at the end: of a long run in CI the end may be all that is kept.
const REASON_LINES = 12;

/** Without the stack: the test's name says where. Without colours: it is no terminal that gets it. */
function reasonsOf({ failureMessages = [] }) {
  return failureMessages.flatMap((message) => {
    const lines = stripVTControlCharacters(message).split('\n');
    return lines.filter((line) => line !== '' && !/^ +at /.test(line)).slice(0, REASON_LINES);
  });
}

/** The report keeps no notes, so a test names what it lacks in its title: `… [needs strace]`. */
function skipReason(title) {
  return /\[(needs [^\]]+)\]$/.exec(title)?.[1] ?? noReason;
}

/**
 * doctest's JUnit report. One test case may have several failures in it.
 * @returns {Counts}
 */
export function countJunit(xml, program) {
  const counts = { passed: 0, failed: [], skipped: [] };
  for (const [, attributes, body = ''] of xml.matchAll(
    /<testcase\b((?:[^>"]|"[^"]*")*?)(?:\/>|>(.*?)<\/testcase>)/gs,
  )) {
    const name = `${program}: ${unescape(/\bname="([^"]*)"/.exec(attributes)?.[1] ?? '?')}`;
    if (/<(failure|error)\b/.test(body)) counts.failed.push(name);
    else if (/<skipped\b/.test(body)) counts.skipped.push({ name, reason: noReason });
    else counts.passed += 1;
  }
  return counts;
}

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const unescape = (text) => text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name) => entities[name]);

/** @returns {Counts} */
export function sum(parts) {
  return {
    passed: parts.reduce((total, part) => total + part.passed, 0),
    failed: parts.flatMap((part) => part.failed),
    skipped: parts.flatMap((part) => part.skipped),
  };
}

/**
 * A part of the run that gave no report counts as one failure.
 * @returns {Counts}
 */
export function failure(name) {
  return { passed: 0, failed: [name], skipped: [] };
}

/** The line that ends every test run. */
export function closingLine({ passed, failed, skipped }) {
  const line = `${passed} passed, ${failed.length} failed`;
  return skipped.length === 0 ? line : `${line}, ${skipped.length} skipped`;
}

/** A run that tested nothing has not passed. */
export function hasPassed({ passed, failed, skipped }, mustRun) {
  return passed > 0 && failed.length === 0 && !(mustRun && skipped.length > 0);
}
