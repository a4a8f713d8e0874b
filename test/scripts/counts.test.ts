// The closing line of a test run: it says what the reports say, and never hides a failure.
import { describe, expect, it } from 'vitest';

import { closingLine, countJunit, countVitest, hasPassed, sum } from '../../scripts/counts.mjs';

const testOf = (title: string, status: string) => ({ title, fullName: title, status });

function reportOf(status: string, ...assertionResults: ReturnType<typeof testOf>[]) {
  return { testResults: [{ name: 'a.test.ts', status, assertionResults }] };
}

describe('countVitest', () => {
  it('counts each test once', () => {
    const counts = countVitest(
      reportOf('failed', testOf('one', 'passed'), testOf('two', 'failed'), testOf('three', 'todo')),
    );
    expect(counts.passed).toBe(1);
    expect(counts.failed).toEqual(['a.test.ts: two']);
    expect(counts.skipped).toEqual([{ name: 'a.test.ts: three', reason: 'no reason given' }]);
  });

  it('says why a test failed, without its stack', () => {
    const message =
      'Error: \u001b[31m4 is not 3\u001b[39m\n\n- 3\n+ 4\n    at a.ts:1\n    at b.ts:2';
    const test = { ...testOf('one', 'failed'), failureMessages: [message] };
    expect(countVitest(reportOf('failed', test)).failed).toEqual([
      'a.test.ts: one\n  Error: 4 is not 3\n  - 3\n  + 4',
    ]);
  });

  it('takes the reason of a skip from its title', () => {
    const counts = countVitest(reportOf('passed', testOf('traces [needs strace, git]', 'skipped')));
    expect(counts.skipped[0]?.reason).toBe('needs strace, git');
  });

  it('counts a file that could not be loaded as a failure', () => {
    expect(countVitest(reportOf('failed')).failed).toEqual(['a.test.ts']);
  });

  it('counts a test that never ended as a failure', () => {
    expect(countVitest(reportOf('passed', testOf('one', 'run'))).failed).toHaveLength(1);
  });
});

describe('countJunit', () => {
  const report = `<?xml version="1.0"?>
    <testsuites><testsuite name="t" tests="9">
      <testcase name="a &gt; b" status="run"/>
      <testcase name="plain" status="run"/>
      <testcase name="broken" status="run">
        <failure message="1 &lt; 2">text</failure>
        <failure message="3">text</failure>
      </testcase>
      <testcase name="after" status="run"/>
    </testsuite></testsuites>`;

  it("counts test cases, not assertions, and not the suite's own number", () => {
    const counts = countJunit(report, 'program');
    expect(counts.passed).toBe(3);
    expect(counts.failed).toEqual(['program: broken']);
  });

  it('finds nothing in an empty report', () => {
    expect(countJunit('', 'program')).toEqual({ passed: 0, failed: [], skipped: [] });
  });
});

describe('the closing line', () => {
  const skip = { name: 'x', reason: 'needs y' };

  it('mentions skips only where there are some', () => {
    expect(closingLine({ passed: 3, failed: [], skipped: [] })).toBe('3 passed, 0 failed');
    expect(closingLine({ passed: 3, failed: ['x'], skipped: [skip] })).toBe(
      '3 passed, 1 failed, 1 skipped',
    );
  });

  it('passes only a run that tested something, without failures, and in CI without skips', () => {
    const good = { passed: 1, failed: [], skipped: [skip] };
    expect(hasPassed(good, false)).toBe(true);
    expect(hasPassed(good, true)).toBe(false);
    expect(hasPassed({ passed: 0, failed: [], skipped: [] }, false)).toBe(false);
    expect(hasPassed(sum([good, { passed: 0, failed: ['x'], skipped: [] }]), false)).toBe(false);
  });
});
