// The CI runner: steps one after another, their logs, records and exit codes, and nothing left.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { makeScratch, root } from '../support/fixtures.js';
import { listMarked, waitFor } from '../support/processes.js';
import { finish, runExample, startExample, type Printed } from './support.js';

interface Step {
  name: string;
  run: string[];
  environment?: Record<string, string>;
  deadline?: number;
}

const RUNNER = 'ci-runner/runner.mjs';

function writeJob(steps: readonly Step[]): string[] {
  const folder = makeScratch();
  const job = path.join(folder, 'job.json');
  writeFileSync(job, JSON.stringify({ name: 'tested', steps }));
  return [job, path.join(folder, 'results')];
}

const sh = (name: string, script: string, more: Partial<Step> = {}): Step => ({
  name,
  run: ['sh', '-c', script],
  ...more,
});

async function runJob(
  ...steps: Step[]
): Promise<Printed & { read: (file: string) => string; results: string }> {
  const [job = '', results = ''] = writeJob(steps);
  const printed = await runExample(RUNNER, [job, results]);
  return { ...printed, results, read: (file) => readFileSync(path.join(results, file), 'utf8') };
}

describe('examples/ci-runner', () => {
  it('runs the job beside it', async () => {
    const results = path.join(makeScratch(), 'results');
    const job = path.join(root, 'examples/ci-runner/job.json');
    const { code, stdout, stderr } = await runExample(RUNNER, [job, results], {
      env: { AWS_SECRET_ACCESS_KEY: 'made up' },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('job example: 3 steps succeeded\n');
    expect(stdout).toContain('  left running, ended by SIGTERM: 1\n');
    expect(readFileSync(path.join(results, 'test.log'), 'utf8')).toBe('unit tests\n1\n');
    expect(readFileSync(path.join(results, 'prepare.log'), 'utf8')).toMatch(
      /^answer\.py\nin (\S+) as run prepare\n$/,
    );
  });

  it('a step has what is named, its workspace, and both channels in its log', async () => {
    const { read } = await runJob(
      sh('seen', 'pwd; echo "$HOME"; echo to stderr >&2; echo "$A"; ls /proc/self/fd | wc -l', {
        environment: { A: 'given' },
      }),
    );
    const [folder, home, error, given, descriptors] = read('seen.log').split('\n');
    expect(home).toBe(`${folder!}/.home`);
    expect([error, given]).toEqual(['to stderr', 'given']);
    // 0, 1, 2 and the one by which ls looks.
    expect(descriptors).toBe('4');
    expect(existsSync(folder!)).toBe(false);
  });

  it('the first step that fails ends the job, with its exit code and the end of its log', async () => {
    const { code, stdout, results } = await runJob(
      sh('one', 'exit 0'),
      sh('two', 'echo why it failed; exit 3'),
      sh('three', 'exit 0'),
    );
    expect(code).toBe(3);
    expect(stdout).toContain('  | why it failed\njob tested: failed in two\n');
    expect(existsSync(path.join(results, 'three.log'))).toBe(false);
  });

  it('a step over its deadline is ended with all that it started: 124', async () => {
    const mark = `late-step-${String(process.pid)}`;
    const daemon = `setsid sh -c 'trap "" TERM; sleep 300; :' ${mark} & `;
    const { code, stdout } = await runJob(
      sh('slow', `${daemon} sleep 300`, { deadline: 0.5 }),
      sh('never', 'exit 0'),
    );
    expect(code).toBe(124);
    expect(stdout).toMatch(/^slow: deadline /);
    expect(stdout).toMatch(/left running, ended by SIGKILL: \d/);
    expect(listMarked(mark)).toEqual([]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('ended by %s, it ends the step and leaves nothing', async (by, expected) => {
    const mark = `left-by-${by}-${String(process.pid)}`;
    const step = sh('slow', `setsid sh -c 'sleep 300; :' ${mark} & sleep 300`);
    const [job = '', results = ''] = writeJob([step, sh('never', 'exit 0')]);
    const TMPDIR = makeScratch();
    const runner = startExample(RUNNER, [job, results], { env: { TMPDIR } });
    const printed = finish(runner);
    await waitFor('the step', () => listMarked(mark).length > 0);
    runner.kill(by);
    runner.kill(by);
    const { code, stdout } = await printed;
    expect(code).toBe(expected);
    expect(stdout).toMatch(/^slow: aborted /);
    expect(stdout).not.toContain('never');
    expect(listMarked(mark)).toEqual([]);
    expect(readdirSync(TMPDIR)).toEqual([]);
  });

  it('a step that starts a daemon succeeds, and the daemon is gone before the next step', async () => {
    const daemon = "setsid sh -c 'echo $$ >daemon.pid; exec sleep 300' >/dev/null 2>&1 &";
    const look = 'if kill -0 "$(cat daemon.pid)"; then echo alive; else echo gone; fi 2>/dev/null';
    const { code, stdout, read } = await runJob(
      sh('start', `${daemon} until test -s daemon.pid; do sleep 0.02; done; ${look}`),
      sh('after', look),
    );
    expect(code).toBe(0);
    expect(stdout).toContain('  left running, ended by SIGTERM: 1\n');
    expect([read('start.log'), read('after.log')]).toEqual(['alive\n', 'gone\n']);
  });

  it('a program that is not there is 125, and so is a file that is no job', async () => {
    const missing = await runJob({ name: 'absent', run: ['no-such-program'] });
    expect(missing.code).toBe(125);
    expect(missing.stdout).toContain("absent: spawn-failed spawn no-such-program ENOENT: find 'no");
    const unnamed = await runJob(sh('../escape', 'true'));
    expect(unnamed.code).toBe(125);
    expect(unnamed.stderr).toContain('the name of a step is one word');
  });

  it('has a record of each step, and its chain shows a change', async () => {
    const { results, read } = await runJob(
      sh('one', 'true'),
      sh('two', 'true'),
      sh('three', 'true'),
    );
    const file = path.join(results, 'records.jsonl');
    const verify = (): number | null =>
      spawnSync(process.execPath, [path.join(root, 'dist/cli/main.js'), 'report', '--verify', file])
        .status;
    expect(read('records.jsonl').trimEnd().split('\n')).toHaveLength(3);
    expect(verify()).toBe(0);
    const [first, , third] = read('records.jsonl').split('\n');
    writeFileSync(file, `${first!}\n${third!}\n`);
    expect(verify()).toBe(1);
  });
});
