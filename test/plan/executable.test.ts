// Program lookup: which file a name means, and what is said when it means none.
import { chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';

import { planLaunch, type SpawnOptions } from '../../src/index.js';
import { makeScratch } from '../support/fixtures.js';
import { thrown } from '../support/errors.js';

const scratch = realpathSync(makeScratch());
const at = (...parts: string[]) => path.join(scratch, ...parts);
const before = process.env['PATH'];

const executable = (file: string, options?: SpawnOptions) =>
  planLaunch(file, [], options).executable;
const failure = (file: string, options?: SpawnOptions) =>
  thrown(() => planLaunch(file, [], options));

function makeProgram(file: string, mode = 0o755): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, '#!/bin/sh\n');
  chmodSync(file, mode);
}

beforeAll(() => {
  makeProgram(at('first/tool'));
  makeProgram(at('second/tool'));
  makeProgram(at('second/other'));
  makeProgram(at('plain/tool'), 0o644);
  makeProgram(at('plain/data'), 0o644);
  mkdirSync(at('folder/tool'), { recursive: true });
  symlinkSync(at('second/other'), at('first/linked'));
  symlinkSync(at('gone'), at('first/dangling'));
  makeProgram(at('here'));
  mkdirSync(at('first/below'));
  symlinkSync(at('first/below'), at('second/elsewhere'));
});

afterEach(() => {
  process.env['PATH'] = before;
});

describe('a path', () => {
  it('absolute, as it is: also a symbolic link is not followed in the name', () => {
    expect(executable(at('first/tool'))).toBe(at('first/tool'));
    expect(executable(at('first/linked'))).toBe(at('first/linked'));
  });

  it("with a slash, against the plan's cwd and not ours", () => {
    const real = (file: string, cwd: string) => realpathSync.native(executable(file, { cwd }));
    expect(real('./here', scratch)).toBe(at('here'));
    expect(real('first/tool', scratch)).toBe(at('first/tool'));
    expect(real('../first/tool', at('second'))).toBe(at('first/tool'));
    expect(executable('./here', { cwd: scratch })).toMatch(/^\//);
    expect(failure('./here')).toMatchObject({ code: 'ENOENT', stage: 'lookup' });
  });

  it("'..' is the kernel's: after a symbolic link it is the parent of where that leads", () => {
    expect(realpathSync.native(executable('elsewhere/../tool', { cwd: at('second') }))).toBe(
      at('first/tool'),
    );
  });
});

describe('a name', () => {
  it("is searched in the child's PATH, in its order", () => {
    const env = { PATH: `${at('first')}:${at('second')}` };
    expect(executable('tool', { env })).toBe(at('first/tool'));
    expect(executable('other', { env })).toBe(at('second/other'));
    expect(path.normalize(executable('tool', { env: { PATH: `${at('second')}/` } }))).toBe(
      at('second/tool'),
    );
  });

  it('directories, files that may not be executed and dangling links are passed over', () => {
    const env = { PATH: [at('folder'), at('plain'), at('second')].join(':') };
    expect(executable('tool', { env })).toBe(at('second/tool'));
    expect(failure('dangling', { env: { PATH: at('first') } })).toMatchObject({ code: 'ENOENT' });
  });

  it('without PATH: in the documented default', () => {
    expect(executable('sh', { env: {} })).toMatch(/^(\/usr\/local|\/usr|)\/bin\/sh$/);
    expect(executable('sh')).toMatch(/^(\/usr\/local|\/usr|)\/bin\/sh$/);
    process.env['PATH'] = at('first');
    expect(failure('tool', { env: {} })).toMatchObject({ code: 'ENOENT' });
  });

  it('with an empty PATH: nowhere', () => {
    expect(failure('sh', { env: { PATH: '' } })).toMatchObject({ code: 'ENOENT', stage: 'lookup' });
  });

  it('empty and relative entries are skipped: never the working directory', () => {
    for (const entries of ['', '.', ':', `::${at('nowhere')}`, 'first', './first', '../x:first:']) {
      expect(failure('here', { cwd: scratch, env: { PATH: entries } })).toMatchObject({
        code: 'ENOENT',
      });
      expect(failure('tool', { cwd: scratch, env: { PATH: entries } })).toMatchObject({
        code: 'ENOENT',
      });
    }
    const env = { PATH: `:.:first:${at('second')}` };
    expect(executable('tool', { cwd: scratch, env })).toBe(at('second/tool'));
  });

  it("env: 'inherit' searches the parent's PATH, since it is the child's", () => {
    process.env['PATH'] = at('first');
    expect(executable('tool', { env: 'inherit' })).toBe(at('first/tool'));
  });
});

describe('what is said', () => {
  it("found only in the parent's PATH: where, and what to write", () => {
    process.env['PATH'] = `${at('first')}:${before ?? ''}`;
    const error = failure('tool');
    expect(error).toMatchObject({
      code: 'ENOENT',
      errno: -2,
      syscall: 'spawn tool',
      path: 'tool',
      stage: 'lookup',
    });
    expect(error.message).toMatch(/^spawn tool ENOENT: /);
    expect(error.message).toContain(`'${at('first/tool')}'`);
    expect(error.message).toMatch(/give that path|PATH/);
  });

  it('found nowhere', () => {
    const error = failure('no-such-program');
    expect(error).toMatchObject({
      code: 'ENOENT',
      errno: -2,
      stage: 'lookup',
      path: 'no-such-program',
    });
    expect(error.message).toMatch(/^spawn no-such-program ENOENT: /);
    expect(error.message).not.toContain(before);
  });

  it('a directory', () => {
    const error = failure(at('folder'));
    expect(error).toMatchObject({
      code: 'EACCES',
      errno: -13,
      stage: 'lookup',
      stagePath: at('folder'),
    });
    expect(error.message).toContain('directory');
  });

  it('not executable, by path and by name', () => {
    expect(failure(at('plain/data'))).toMatchObject({
      code: 'EACCES',
      errno: -13,
      stage: 'lookup',
      stagePath: at('plain/data'),
    });
    expect(failure('data', { env: { PATH: at('plain') } })).toMatchObject({
      code: 'EACCES',
      stagePath: at('plain/data'),
    });
  });

  it('below a file', () => {
    expect(failure(at('plain/data/x'))).toMatchObject({ code: 'ENOTDIR', stage: 'lookup' });
  });

  it('a name that is too long', () => {
    expect(failure(`/${'x'.repeat(300)}`)).toMatchObject({ code: 'ENAMETOOLONG', stage: 'lookup' });
  });
});
