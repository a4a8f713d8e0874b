// A failing exec through the launcher: reported by the launcher itself, with the same advice as without.
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { launch, spawn, type SallyportError, type SpawnOptions } from '../../../src/index.js';
import { expectWithout, thrown } from '../../support/errors.js';
import { fixture, loadStorm, makeScratch, publicFixture } from '../../support/fixtures.js';
import { holdExecutable } from '../../support/lease.js';
import { inNode } from '../../support/node-script.js';
import { listChildren, waitFor } from '../../support/processes.js';
import { needs } from '../../support/tools.js';
import { witness } from '../../support/witness.js';

const storm = loadStorm();
const scratch = makeScratch();
chmodSync(scratch, 0o755);
const secret = 'made-up-value-5d0c';

function makeFile(name: string, content: string | Buffer, mode = 0o755): string {
  const file = path.join(scratch, name);
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}

/** A program whose ELF header names a loader that does not exist. */
function makeWithoutLoader(): string {
  const program = Buffer.from(readFileSync(witness));
  const loader = /\/lib[^\0]*\/ld-[^\0]*/.exec(program.toString('latin1'))?.[0] ?? '';
  program.write(loader.replace(/.$/, '~'), program.indexOf(loader), 'latin1');
  return makeFile('no-loader', program);
}

const throughLauncher: SpawnOptions = { umask: 0o22 };

const refusal = (promise: Promise<unknown>): Promise<SallyportError> =>
  promise.then(
    () => {
      throw new Error('it was started');
    },
    (error: unknown) => error as SallyportError,
  );

/** The error by each way, after it was seen to be the same one. */
async function failure(
  file: string,
  args: string[] = [],
  options: SpawnOptions = {},
): Promise<SallyportError> {
  const given = { ...throughLauncher, ...options };
  const error = thrown(() => spawn(file, args, given));
  const others = [
    thrown(() => spawn(file, args, { ...given, noNewPrivileges: false })),
    await refusal(launch(file, args, given)),
  ];
  const fields = (from: SallyportError) => [from.message, ...Object.entries(from)];
  for (const other of others) expect(fields(other)).toEqual(fields(error));
  expect(storm.hasChildren()).toBe(false);
  return error;
}

describe('exec', () => {
  const data = makeFile('data', 'x', 0o644);

  it.each<[string, () => string, string, string | RegExp]>([
    [
      'a missing interpreter',
      () => makeFile('no-interpreter', '#!/no/such/interpreter -x\n'),
      'ENOENT',
      '/no/such/interpreter',
    ],
    ['an interpreter that is no program', () => makeFile('plain', `#!${data}\n`), 'EACCES', data],
    ['a missing loader', makeWithoutLoader, 'ENOENT', /\/ld-.*~$/],
    ['no #! line', () => makeFile('no-shebang', 'echo hi\n'), 'ENOEXEC', /no-shebang$/],
    ['an empty file', () => makeFile('empty', ''), 'ENOEXEC', /empty$/],
  ])('%s', async (_, make, code, stagePath) => {
    const file = make();
    const error = await failure(file);
    expect(error).toMatchObject({ code, stage: 'exec', stageSource: 'reported', path: file });
    if (typeof stagePath === 'string') expect(error.stagePath).toBe(stagePath);
    else expect(error.stagePath).toMatch(stagePath);
    // Word for word what it is without the launcher: only how it is known differs.
    expect(error.message).toBe(thrown(() => spawn(file)).message);
  });

  it.each<[string, string[], SpawnOptions, RegExp]>([
    ['an argument', [secret.repeat(20_000)], {}, /argv\[1\] 360001 bytes/],
    ['a variable', [], { env: { BIG: secret.repeat(20_000) } }, /env\.BIG 360005 bytes/],
    [
      'all together',
      Array.from({ length: 100 }, () => secret.repeat(3000)),
      {},
      /here they are \d+ bytes/,
    ],
  ])('E2BIG by %s', async (_, args, options, says) => {
    const error = await failure('true', args, options);
    expect(error).toMatchObject({ code: 'E2BIG', stage: 'exec', stageSource: 'reported' });
    expect(error.message).toMatch(says);
    expectWithout(error, secret);
  });

  it('the stack limit that the plan sets decides how much is too big', async () => {
    const args = Array.from({ length: 10 }, () => 'x'.repeat(100_000));
    expect((await spawn('true', args, throughLauncher).exited).code).toBe(0);
    const error = await failure('true', args, { limits: { stack: 2 ** 21 } });
    expect(error).toMatchObject({ code: 'E2BIG', stage: 'exec', stageSource: 'reported' });
  });

  it('ETXTBSY that stays', async () => {
    const program = makeFile('busy', readFileSync(fixture('exit_fast')));
    const writer = openSync(program, 'r+');
    const error = await failure(program);
    closeSync(writer);
    expect(error).toMatchObject({
      code: 'ETXTBSY',
      stage: 'exec',
      stagePath: program,
      stageSource: 'reported',
    });
    expect(error.message).toContain('tried again for 100 ms');
    expect((await spawn(program, [], { ...throughLauncher, stdio: 'null' }).exited).code).toBe(0);
  });

  it('ETXTBSY that passes is never seen', async () => {
    const seen = await inNode(async ({ sallyport, fixture: find, scratch: own, require }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const program = `${own}/written`;
      fs.copyFileSync(find('exit_fast'), program);
      fs.chmodSync(program, 0o755);
      const writer = fs.openSync(program, 'r+');
      const launching = sallyport.launch(program, [], { stdio: 'null', umask: 0o22 });
      // Seen by a failed try of our own: the launcher's came before, or comes while it is tried again.
      let busy = '';
      try {
        sallyport.spawn(program, [], { stdio: 'null', umask: 0o22 });
      } catch (error) {
        busy = (error as { code: string }).code;
      }
      fs.closeSync(writer);
      const outcome = await launching.then(
        async (child) => (await child.exited).code,
        (error: unknown) => (error as { code: string }).code,
      );
      return { busy, outcome };
    }, null);
    expect(seen.busy).toBe('ETXTBSY');
    expect([0, 'ETXTBSY']).toContain(seen.outcome);
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
