// An exec that fails by what the launcher did before it, or is taken back. The failures that need no
// launcher are in test/launch/failures-exec.test.ts.
import { chmodSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { launch, spawn, type SpawnOptions } from '../../../src/index.js';
import { thrown } from '../../support/errors.js';
import { fixture, loadStorm, makeScratch, publicFixture } from '../../support/fixtures.js';
import { holdExecutable } from '../../support/lease.js';
import { listChildren, waitFor } from '../../support/processes.js';
import { needs } from '../../support/tools.js';
import { failEachWay } from '../each-way.js';

const storm = loadStorm();
const scratch = makeScratch();
chmodSync(scratch, 0o755);

function makeFile(name: string, content: string | Buffer, mode = 0o755): string {
  const file = path.join(scratch, name);
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}

const throughLauncher: SpawnOptions = { umask: 0o22 };

const failure = (file: string, args: string[], options: SpawnOptions) =>
  failEachWay(file, args, { ...throughLauncher, ...options });

describe('exec', () => {
  it('the stack limit that the plan sets decides how much is too big', async () => {
    const args = Array.from({ length: 10 }, () => 'x'.repeat(100_000));
    expect((await spawn('true', args, throughLauncher).exited).code).toBe(0);
    const error = await failure('true', args, { limits: { stack: 2 ** 21 } });
    expect(error).toMatchObject({ code: 'E2BIG', stage: 'exec', stageSource: 'reported' });
  });

  needs('root').it('EACCES for the user that the child becomes, who is not us', async () => {
    const program = makeFile('private', readFileSync(fixture('exit_fast')), 0o700);
    expect((await spawn(program, [], { stdio: 'null', ...throughLauncher }).exited).code).toBe(0);
    const error = await failure(program, [], { user: 64_010, group: 64_011 });
    expect(error).toMatchObject({
      code: 'EACCES',
      stage: 'exec',
      stagePath: program,
      stageSource: 'reported',
    });
    expect(error.message).toContain('must be executable for this user');
  });

  needs('root').it('EAGAIN of a user who has its number of processes already', async () => {
    const ids = { user: 64_040, group: 64_041 };
    const holder = spawn(publicFixture('witness'), ['--quiet', '--hold'], {
      stdio: 'null',
      ...ids,
    });
    const program = publicFixture('exit_fast');
    const options = { ...ids, limits: { nproc: 0 } };
    let error;
    try {
      error = thrown(() => spawn(program, [], options));
    } finally {
      holder.kill('SIGKILL');
      await holder.exited;
    }
    expect(error).toMatchObject({ code: 'EAGAIN', stage: 'exec', stageSource: 'reported' });
    expect(error.message).toContain('RLIMIT_NPROC');
    // The control: alone it may.
    expect((await spawn(program, [], { stdio: 'null', ...options }).exited).code).toBe(0);
  });

  it('a cwd that is missing is still the fault of the cwd', async () => {
    const error = await failure('true', [], { cwd: '/no/such/directory' });
    expect(error).toMatchObject({
      code: 'ENOENT',
      stage: 'cwd',
      stagePath: '/no/such/directory',
      stageSource: 'inferred',
    });
  });
});

describe('a launch that is taken back', () => {
  it('while the program hangs in its exec: the launcher is ended, nothing ran', async () => {
    const program = path.join(makeScratch(), 'held');
    copyFileSync('/bin/mkdir', program);
    chmodSync(program, 0o755);
    const made = path.join(makeScratch(), 'made');
    const lease = await holdExecutable(program);
    const abort = new AbortController();
    const launching = launch(program, [made], {
      stdio: 'null',
      signal: abort.signal,
      ...throughLauncher,
    });
    await lease.waitedFor();
    const others = () => listChildren().filter(({ pid }) => pid !== lease.pid);
    expect(others()).toHaveLength(1);
    abort.abort();
    await expect(launching).rejects.toMatchObject({ name: 'AbortError' });
    await lease.letGo();
    // The next launch by the same lane comes after the end of this one.
    expect((await spawn('true', [], { stdio: 'null' }).exited).code).toBe(0);
    await waitFor('the end of the launcher', () => others().length === 0);
    expect(existsSync(made)).toBe(false);
  });

  it('before it is begun: no child at all', async () => {
    const signal = AbortSignal.abort();
    await expect(launch('true', [], { signal, ...throughLauncher })).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(thrown(() => spawn('true', [], { signal, ...throughLauncher })).name).toBe('AbortError');
    expect(storm.hasChildren()).toBe(false);
  });
});
