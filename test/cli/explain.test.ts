// `sallyport run --explain`: the plan for people and for programs, and nothing started.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { makeScratch } from '../support/fixtures.js';
import { runCli } from './command-line.js';

const scratch = makeScratch();
const marker = path.join(scratch, 'started');
const command = ['sh', '-c', `echo s3cret-argument >${marker}`];
const settings = { env: { TOKEN: 's3cret-value', LANG: 'C' } };

describe('--explain', () => {
  it('prints what the child would get, and starts nothing', async () => {
    const { code, stdout, stderr } = await runCli(
      ['run', '--explain', '--env', 'TOKEN', '--cwd', scratch, ...command],
      settings,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^program +\/usr\/bin\/sh$|^program +\/bin\/sh$/m);
    expect(stdout).toMatch(/^ +argv +arguments +3 of 2, 2, \d+ bytes/m);
    expect(stdout).toMatch(new RegExp(`^ +start in it +${scratch} `, 'm'));
    expect(stdout).toMatch(/^ +explicit +3 variables +LANG PATH TOKEN/m);
    expect(stdout).toMatch(/^stdin\n +0 .*\nstdout and stderr\n +1 .*\n +2 .*$/m);
    expect(stdout).toMatch(/^session +new/m);
    expect(stdout).toMatch(/^privileges +no new ones/m);
    expect(stdout).toMatch(/^digest +sha256:[0-9a-f]{64}$/m);
    expect(stdout).not.toContain('s3cret');
    expect(existsSync(marker)).toBe(false);
  });

  it('--json prints the same as JSON, and starts nothing', async () => {
    const { code, stdout, stderr } = await runCli(
      ['run', '--explain', '--json', '--env', 'TOKEN', ...command],
      settings,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const plan = JSON.parse(stdout) as Record<string, unknown>;
    expect(plan).toMatchObject({
      version: 1,
      file: 'sh',
      arguments: { count: 3 },
      environment: { names: ['LANG', 'PATH', 'TOKEN'] },
      session: 'new',
      foreground: null,
      descriptors: [{ target: 0 }, { target: 1 }, { target: 2 }],
    });
    expect(stdout).not.toContain('s3cret');
    expect(existsSync(marker)).toBe(false);
  });

  it('fails as the start would', async () => {
    expect((await runCli(['run', '--explain', 'no-such-program'])).code).toBe(127);
    expect((await runCli(['run', '--explain', scratch])).code).toBe(126);
    expect((await runCli(['run', '--explain', '--pass', '200', 'true'])).code).toBe(125);
  });

  it('the command itself does start (what the tests above would have seen)', async () => {
    expect((await runCli(['run', ...command])).code).toBe(0);
    expect(existsSync(marker)).toBe(true);
  });
});
