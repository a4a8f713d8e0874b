// run(): how it ends, what a mistake and a refusal look like, and what the report is made of.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';

import { planDigest, planLaunch, run, type RunOptions } from '../../src/index.js';
import { makeScratch } from '../support/fixtures.js';
import { witness } from '../support/witness.js';
import { contained } from './support.js';

describe('the outcome', () => {
  it('exited', async () => {
    const { outcome } = await run('sh', ['-c', 'exit 3'], contained);
    expect(outcome).toMatchObject({
      kind: 'exited',
      code: 3,
      signal: null,
      coreDumped: false,
      resourceUsage: { userCPUTime: expect.any(Number) },
      startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(outcome.durationMs).toBeGreaterThan(0);
    expect(outcome).not.toHaveProperty('error');
  });

  it('signaled', async () => {
    const { outcome, complete } = await run('sh', ['-c', 'kill -USR1 $$'], contained);
    expect(outcome).toMatchObject({ kind: 'signaled', code: null, signal: 'SIGUSR1' });
    expect(complete).toBe(true);
  });

  it.each([
    ['a program', 'no-such-program', {}, { code: 'ENOENT', stage: 'lookup' }],
    ['a program by its path', '/no/such', {}, { code: 'ENOENT', stage: 'lookup' }],
    ['a directory', 'true', { cwd: '/srv/missing' }, { code: 'ENOENT', stage: 'cwd' }],
    ['an input', 'true', { input: { file: '/srv/missing' } }, { code: 'ENOENT' }],
    ['a place for the record', 'true', { record: '/srv/missing/r' }, { code: 'ENOENT' }],
  ] as const)('spawn-failed, for want of %s', async (_, file, options, error) => {
    const report = await run(file, [], { ...contained, ...(options as RunOptions) });
    expect(report.outcome).toMatchObject({ kind: 'spawn-failed', code: null, error });
    expect(report.outcome.error?.message).toMatch(/^spawn \S+ ENOENT: /);
    expect(report).toMatchObject({
      plan: null,
      cleanup: { method: 'init', survivors: [], signalled: [] },
      output: { stdout: { bytesSeen: 0 } },
      complete: false,
    });
  });

  it('spawn-failed by the kernel', async () => {
    const report = await run('/bin/echo', ['x'.repeat(200_000)], contained);
    expect(report.outcome.error).toMatchObject({ code: 'E2BIG', stage: 'exec' });
  });
});

describe('the report', () => {
  it('says what was planned, and that nobody looked', async () => {
    const options = { env: { MADE_UP: 'made-up-value' }, cwd: '/' };
    const report = await run('cat', ['/dev/null'], { ...contained, ...options });
    const plan = planLaunch('cat', ['/dev/null'], options);
    expect(report.admission).toEqual({
      decision: 'unreviewed',
      gates: [],
      planDigest: planDigest(plan),
    });
    expect(report.inheritance).toEqual({
      verified: 'not-verified',
      descriptors: plan.descriptors,
      seen: null,
      unexpected: [],
      differences: [],
      statement: 'nobody looked',
      environmentNames: ['MADE_UP'],
      absentNames: [],
    });
    expect(report.authorization).toBe('not assessed');
    expect(report.notTested.length).toBeGreaterThan(3);
    expect(report.complete).toBe(true);
    expect(JSON.stringify(report)).not.toContain('made-up-value');
  });
});

describe('a mistake of the caller rejects', () => {
  it.each<[string, object, string]>([
    ['deadline', { deadline: 0 }, 'milliseconds from 1'],
    ['stall', { stall: '5' }, 'milliseconds'],
    ['grace', { grace: -1 }, 'milliseconds from 0'],
    ['drain', { drain: Infinity }, 'milliseconds'],
    ['signal', { signal: {} }, 'an AbortSignal'],
    ['input', { input: 5 }, 'not number'],
    ['input.file', { input: { file: '' } }, 'a path'],
    ['stdio[0]', { stdio: 'pipe' }, 'give input'],
    ['stdio[0]', { stdio: ['inherit'], input: '' }, 'left out with input'],
    ['output', { output: 5 }, 'must be an object'],
    ['output.to', { output: { to: '/x' } }, 'for one channel'],
    ['output.maxBytes', { output: { maxBytes: -1 } }, 'bytes from 0'],
    ['output.stdout.keep', { output: { stdout: { keep: 'all' } } }, "'tail'"],
    ['output.stderr.onExceed', { output: { stderr: { onExceed: 'stop' } } }, "'end'"],
    ['output.stdout.to', { output: { stdout: { to: 5 } } }, 'not number'],
    ['output.merge', { output: { merge: 1 } }, 'true or false'],
    ['containment', { containment: 'docker' }, "'cgroup'"],
    ['containment', { containment: { prefer: [] } }, "'cgroup'"],
    ['containment.prefers', { containment: { prefers: 1 } }, 'no such option'],
    ['verify', { verify: true }, "'at-exec'"],
    ['record', { record: 5 }, 'a path'],
    ['record', { record: new URL('https://host/x') }, 'a file: URL'],
    ['record', { record: new URL('file:///tmp/x%00') }, 'a file: URL'],
    ['record', { record: '/a\0b' }, 'a path'],
    ['path', { profile: '/a\0b' }, 'without NUL'],
    ['input.file', { input: { file: '/a\0b' } }, 'a path'],
    ['output.stdout.to', { output: { stdout: { to: '/a\0b' } } }, 'a path'],
    ['output.stdout.via', { output: { stdout: { via: { file: '/a\0b' } } } }, 'file'],
    ['input.file', { input: { file: new URL('file://host/x') } }, 'a file: URL'],
    ['output.stdout.to', { output: { stdout: { to: new URL('https://host/x') } } }, 'a file: URL'],
    [
      'output.stderr.via',
      { output: { stderr: { via: { file: new URL('file:///a%2Fb') } } } },
      'file',
    ],
    ['options.timeout', { timeout: 5 }, 'write deadline'],
    ['options.maxBuffer', { maxBuffer: 5 }, 'output'],
    ['options.stdin', { stdin: 'text' }, 'write input'],
    ['options.stderr', { stderr: 'pipe' }, 'write output'],
    ['options.shell', { shell: true }, 'no implicit shell'],
    ['cwd', { cwd: 5 }, 'must be a string'],
  ])('%s', async (option, options, message) => {
    const running = run('true', [], { ...contained, ...options });
    await expect(running).rejects.toMatchObject({
      name: 'SallyportTypeError',
      stagePath: option,
      message: expect.stringContaining(message),
    });
    expect(await running.started).toBeNull();
  });

  it('and nothing is started', async () => {
    const file = path.join(makeScratch(), 'started');
    await expect(run('touch', [file], { ...contained, grace: -1 })).rejects.toThrow();
    expect(existsSync(file)).toBe(false);
  });
});

describe('containment', () => {
  it('is never a weaker one than was asked for', async () => {
    const unavailable = { code: 'ERR_SALLYPORT_NO_CONTAINMENT', stagePath: 'containment' };
    const wish = { containment: { require: 'cgroup' } } as const;
    await expect(run('true', [], wish)).rejects.toMatchObject(unavailable);
  });

  it('is the first that there is of those preferred', async () => {
    const containment = { prefer: ['cgroup', 'group'] } as const;
    expect((await run('true', [], { containment })).cleanup.method).toBe('group');
  });

  it('is init where nothing else is said', async () => {
    const { cleanup, outcome, plan } = await run('true');
    expect(cleanup.method).toBe('init');
    expect(cleanup.guarantee).toContain('every descendant');
    expect(plan?.route).toMatchObject({ launcher: true, init: true });
    expect(outcome.treeUsage?.maxRSS).toBeGreaterThan(0);
  });
});

it('takes what is handed over before it returns', async () => {
  const options: RunOptions = { ...contained, env: { A: '1' } };
  const args = ['--exit', '4'];
  const running = run(witness, args, options);
  args[1] = '5';
  options.env = {};
  const report = await running;
  expect(report.outcome.code).toBe(4);
  expect(report.inheritance.environmentNames).toEqual(['A']);
});

it('takes file: URLs in the place of paths', async () => {
  const directory = pathToFileURL(`${makeScratch()}/`);
  const source = new URL('a b', directory);
  const copy = new URL('c d', directory);
  const record = new URL('e f', directory);
  writeFileSync(source, 'all of it');
  const options = { input: { file: source }, output: { stdout: { to: copy } }, record };
  expect((await run('cat', [], { ...contained, ...options })).complete).toBe(true);
  expect(readFileSync(copy, 'utf8')).toBe('all of it');
  expect(readFileSync(record, 'utf8')).toContain('"complete":true');
});

it('tells the pid once the target runs', async () => {
  const running = run('sh', ['-c', 'echo $$'], contained);
  const pid = await running.started;
  expect((await running).output.stdout.text).toBe(`${String(pid)}\n`);
});
