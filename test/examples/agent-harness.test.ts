// The agent harness: its task has its token and no login, and leaves nothing behind.
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { makeScratch } from '../support/fixtures.js';
import { listMarked, readEnvironment, waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import {
  copyWithExamples,
  finish,
  runExample,
  startExample,
  type ExampleOptions,
} from './support.js';

const LOGIN = 'made-up-login-0815';
const HARNESS = 'agent-harness/harness.mjs';
const env = { CLOUD_LOGIN: LOGIN };

/** A task that leaves a process behind, and goes on until a file is there. */
function writeTask(mark: string): { task: string; release: string } {
  const folder = makeScratch();
  const task = path.join(folder, 'task.mjs');
  const release = path.join(folder, 'release');
  writeFileSync(
    task,
    `import { spawn } from 'node:child_process';
     import { existsSync } from 'node:fs';
     const options = { detached: true, stdio: 'ignore' };
     spawn('sh', ['-c', 'trap "" TERM HUP; sleep 300; :', '${mark}'], options).unref();
     const look = setInterval(() => existsSync('${release}') && clearInterval(look), 10);`,
  );
  return { task, release };
}

async function expectKept(options: ExampleOptions): Promise<string> {
  const { code, stdout, stderr } = await runExample(HARNESS, [], options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).not.toContain(LOGIN);
  expect(stdout).toContain('  data: apples, pears, plums\n  token: ***\n');
  expect(stdout).not.toMatch(/tok-[0-9a-f]/);
  expect(stdout).toContain('  CLOUD_LOGIN: not there\n  home: .cache .credentials\n');
  const variables = /^ {2}variables: (.*)$/m.exec(stdout)![1]!.split(' ');
  expect(variables).toContain('TOKEN_FILE');
  expect(variables).not.toContain('CLOUD_LOGIN');
  for (const line of [
    'outcome: exited 0',
    'descriptors: 0 1 2',
    'left running and ended: 1 by SIGTERM',
    'still running: 0',
    'files with credentials left: 0',
    'its token afterwards: refused',
    'the cloud: 1 minted, 1 served, 1 revoked',
  ]) {
    expect(stdout).toContain(`  ${line}\n`);
  }
  return stdout;
}

describe('examples/agent-harness', () => {
  it('the task does its work and takes nothing along', async () => {
    await expectKept({ env });
  });

  needs('another uid').it(
    'a user without privileges cannot read what the harness has either',
    async () => {
      const uid = process.getuid?.() === 0 ? { uid: 65534 } : {};
      const stdout = await expectKept({ env, base: copyWithExamples(), ...uid });
      expect(stdout).toContain('  environment of the harness: EACCES\n');
      expect(stdout).toContain('  files of the harness: EACCES\n');
      const [, reachable = ''] = stdout.split('What it could reach all the same');
      expect(reachable).not.toMatch(/^ {2}(parent-environment|parent-descriptors|ptrace) /m);
    },
  );

  it('what a task leaves is ended, and the login was there to be seen', async () => {
    const mark = `left-by-task-${String(process.pid)}`;
    const { task, release } = writeTask(mark);
    const records = path.join(makeScratch(), 'records.jsonl');
    const harness = startExample(HARNESS, [task, records], { env });
    const printed = finish(harness);
    const [left = 0] = await waitFor('what the task leaves', () => {
      const found = listMarked(mark);
      return found.length > 0 && found;
    });
    // The look that finds nothing in the one finds it in the other.
    expect(readEnvironment(harness.pid!).includes(LOGIN)).toBe(true);
    expect(readEnvironment(left).includes('AGENT_RUN_ID=example-1')).toBe(true);
    expect(readEnvironment(left).includes(LOGIN)).toBe(false);
    writeFileSync(release, '');
    const { code, stdout } = await printed;
    expect(code).toBe(0);
    expect(stdout).toMatch(/left running and ended: \d by SIGTERM, \d by SIGKILL$/m);
    expect(listMarked(mark)).toEqual([]);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'ended by %s, it ends the run first',
    async (by) => {
      const mark = `left-by-${by}-${String(process.pid)}`;
      const { task } = writeTask(mark);
      const TMPDIR = makeScratch();
      const harness = startExample(HARNESS, [task], { env: { ...env, TMPDIR } });
      const printed = finish(harness);
      await waitFor('what the task leaves', () => listMarked(mark).length > 0);
      harness.kill(by);
      harness.kill(by);
      const { code, stdout } = await printed;
      expect(code).toBe(1);
      expect(stdout).toContain('outcome: aborted');
      expect(stdout).toContain('its token afterwards: refused');
      expect(listMarked(mark)).toEqual([]);
      expect(readdirSync(TMPDIR)).toEqual([]);
    },
  );
});
