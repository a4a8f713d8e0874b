// prepareWorkspace: what it makes, and what a hostile workspace cannot make it do.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { prepareWorkspace, type SallyportError } from '../../src/index.js';
import { fixture, makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { thrown } from '../support/errors.js';
import { needs } from '../support/tools.js';

const NAMES = ['.home', '.home/.cache', '.tmp'];

const modeOf = (file: string): number => lstatSync(file).mode & 0o7777;

/** A directory outside, of which nothing may change. */
function makeVictim(): { directory: string; expectUntouched: () => void } {
  const directory = path.join(makeScratch(), 'victim');
  mkdirSync(directory);
  chmodSync(directory, 0o755);
  mkdirSync(path.join(directory, 'inner'), { mode: 0o755 });
  writeFileSync(path.join(directory, 'inner/keep'), 'kept');
  return {
    directory,
    expectUntouched: () => {
      expect(readdirSync(directory)).toEqual(['inner']);
      expect(modeOf(directory)).toBe(0o755);
      expect(readFileSync(path.join(directory, 'inner/keep'), 'utf8')).toBe('kept');
    },
  };
}

async function rejected(promise: Promise<unknown>): Promise<SallyportError> {
  const outcome = await promise.then(
    () => null,
    (error: unknown) => error as SallyportError,
  );
  if (outcome === null) throw new Error('it was not refused');
  return outcome;
}

describe('prepareWorkspace', () => {
  it('makes the three directories for their owner alone, whatever the umask', () => {
    const workspace = makeScratch();
    const before = process.umask(0);
    try {
      expect(prepareWorkspace(workspace)).toMatchObject({
        path: workspace,
        home: `${workspace}/.home`,
        temporary: `${workspace}/.tmp`,
        made: NAMES,
      });
      process.umask(0o777);
      prepareWorkspace(makeScratch());
    } finally {
      process.umask(before);
    }
    for (const name of NAMES) {
      expect(lstatSync(path.join(workspace, name)).isDirectory()).toBe(true);
      expect(modeOf(path.join(workspace, name))).toBe(0o700);
    }
  });

  it('takes those that are there, and closes them to others', () => {
    const workspace = makeScratch();
    mkdirSync(`${workspace}/.home`);
    chmodSync(`${workspace}/.home`, 0o2775);
    writeFileSync(`${workspace}/.home/mine`, 'x');
    expect(prepareWorkspace(workspace).made).toEqual(['.home/.cache', '.tmp']);
    expect(modeOf(`${workspace}/.home`)).toBe(0o700);
    expect(readFileSync(`${workspace}/.home/mine`, 'utf8')).toBe('x');
    expect(prepareWorkspace(workspace).made).toEqual([]);
  });

  it('the way to the workspace may lead through symlinks: that is the word of the caller', () => {
    const scratch = makeScratch();
    mkdirSync(`${scratch}/real`);
    symlinkSync('real', `${scratch}/link`);
    prepareWorkspace(`${scratch}/link`);
    expect(readdirSync(`${scratch}/real`).sort()).toEqual(['.home', '.tmp']);
  });

  it('refuses what is no workspace', () => {
    const scratch = makeScratch();
    writeFileSync(`${scratch}/file`, '');
    expect(thrown(() => prepareWorkspace(`${scratch}/none`))).toMatchObject({
      code: 'ENOENT',
      stage: 'workspace',
      stagePath: `${scratch}/none`,
    });
    expect(thrown(() => prepareWorkspace(`${scratch}/file`)).code).toBe('ENOTDIR');
    expect(thrown(() => prepareWorkspace('')).code).toBe('ERR_SALLYPORT_INVALID_ARGUMENT');
    expect(thrown(() => prepareWorkspace(scratch, { uid: -1 })).message).toContain('uid');
  });

  needs('root').it('hands them to another owner; those of a stranger are refused', () => {
    const workspace = makeScratch();
    prepareWorkspace(workspace, { uid: 65534, gid: 65534 });
    for (const name of NAMES) {
      expect(statSync(path.join(workspace, name))).toMatchObject({ uid: 65534, gid: 65534 });
    }
    expect(thrown(() => prepareWorkspace(workspace))).toMatchObject({
      code: 'EPERM',
      stagePath: `${workspace}/.home`,
    });
    chownSync(`${workspace}/.home`, 0, 0);
    chownSync(`${workspace}/.tmp`, 1, 1);
    expect(thrown(() => prepareWorkspace(workspace, { uid: 65534 })).message).toContain(
      'belongs to another user',
    );
  });
});

const withoutOpenat2 = (errno: string) => [fixture('seccomp_deny'), errno, 'openat2', '--'];

describe.each([
  ['by openat2', []],
  ['where openat2 is ENOSYS', withoutOpenat2('ENOSYS')],
  ['where openat2 is EPERM', withoutOpenat2('EPERM')],
])('a hostile workspace, %s', (_, wrap) => {
  const attempt = (workspace: string) =>
    inNode(
      ({ sallyport }, given) => {
        try {
          return { made: sallyport.prepareWorkspace(given).made };
        } catch (error) {
          const { code, stage, stagePath, message } = error as SallyportError;
          return { code, stage, stagePath, message };
        }
      },
      workspace,
      { wrap },
    );

  it('is a workspace like any other where it is not hostile', async () => {
    expect(await attempt(makeScratch())).toEqual({ made: NAMES });
  });

  it.each(NAMES)('%s is a symlink to a directory: refused, and nothing is left', async (name) => {
    const { directory, expectUntouched } = makeVictim();
    const workspace = makeScratch();
    if (name.includes('/')) mkdirSync(`${workspace}/.home`);
    symlinkSync(directory, path.join(workspace, name));
    const before = readdirSync(workspace, { recursive: true });
    expect(await attempt(workspace)).toMatchObject({
      code: 'ELOOP',
      stage: 'workspace',
      stagePath: path.join(workspace, name),
    });
    expect(readdirSync(workspace, { recursive: true })).toEqual(before);
    expectUntouched();
  });

  it('a symlink that stays in the workspace, one to nowhere and one to itself are refused too', async () => {
    for (const target of ['src', '/no/where', '.home']) {
      const workspace = makeScratch();
      mkdirSync(`${workspace}/src`);
      symlinkSync(target, `${workspace}/.home`);
      expect(await attempt(workspace)).toMatchObject({ code: 'ELOOP' });
      expect(readdirSync(workspace).sort()).toEqual(['.home', 'src']);
    }
  });

  it('a file, and a FIFO that would make an open wait, are refused', async () => {
    const workspace = makeScratch();
    spawnSync('mkfifo', [`${workspace}/.home`]);
    expect(await attempt(workspace)).toMatchObject({ code: 'ENOTDIR' });
    const other = makeScratch();
    writeFileSync(`${other}/.tmp`, '');
    expect(await attempt(other)).toMatchObject({ code: 'ENOTDIR', stagePath: `${other}/.tmp` });
    expect(readdirSync(other)).toEqual(['.tmp']);
  });
});

/** Puts a symlink to `victim` in the place of .home and takes it away again, until it is ended. */
const ATTACK = `
const fs = require('node:fs');
const [workspace, victim] = process.argv.slice(1);
const home = workspace + '/.home', aside = workspace + '/aside';
const attempt = (step) => { try { step(); } catch {} };
process.stdout.write('attacking\\n');
const end = Date.now() + 20000;
while (Date.now() < end) {
  attempt(() => fs.renameSync(home, aside));
  attempt(() => fs.symlinkSync(victim, home));
  attempt(() => fs.unlinkSync(home));
  attempt(() => fs.renameSync(aside, home));
  // It was made anew meanwhile: with both there nothing could be swapped any more.
  attempt(() => fs.rmSync(aside, { recursive: true }));
}
`;

async function underAttack<T>(
  workspace: string,
  victim: string,
  body: () => T | Promise<T>,
): Promise<T> {
  const attacker = spawn(process.execPath, ['-e', ATTACK, workspace, victim], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(attacker.stdout, 'data');
  try {
    return await body();
  } finally {
    attacker.kill('SIGKILL');
    await once(attacker, 'exit');
  }
}

describe('swapped in a loop by another process', () => {
  it('a maker by path is led astray, so that the attack is one', async () => {
    const { directory } = makeVictim();
    const workspace = makeScratch();
    const seen = await underAttack(workspace, directory, () => {
      for (let round = 0; round < 200_000; round += 1) {
        try {
          mkdirSync(`${workspace}/.home/.cache`, { recursive: true });
          rmdirSync(`${workspace}/.home/.cache`);
        } catch {
          // Now here, now there.
        }
        if (existsSync(`${directory}/.cache`)) return true;
      }
      return false;
    });
    expect(seen).toBe(true);
  });

  it('prepareWorkspace makes its own directories or refuses, and touches nothing else', async () => {
    const { directory, expectUntouched } = makeVictim();
    const workspace = makeScratch();
    const outcomes = new Map<string, number>();
    const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    await underAttack(workspace, directory, () => {
      // Until it was swapped at the right moment at least once.
      for (let round = 0; round < 3_000 || (outcomes.size < 2 && round < 200_000); round += 1) {
        try {
          prepareWorkspace(workspace);
          count('made');
        } catch (error) {
          expect((error as SallyportError).stage).toBe('workspace');
          count((error as SallyportError).code);
        }
      }
    });
    expectUntouched();
    // It was swapped while we were at it, in one way or another.
    expect(
      [...outcomes.keys()].some((outcome) => outcome !== 'made'),
      [...outcomes].join(),
    ).toBe(true);
  });

  it('remove removes what was made or refuses, and touches nothing else', async () => {
    const { directory, expectUntouched } = makeVictim();
    for (let round = 0; round < 8; round += 1) {
      const workspace = makeScratch();
      const prepared = prepareWorkspace(workspace);
      mkdirSync(`${prepared.home}/inner`);
      for (let index = 0; index < 200; index += 1)
        writeFileSync(`${prepared.home}/inner/${index}`, '');
      await underAttack(workspace, directory, async () => {
        await prepared.remove().catch((error: unknown) => {
          expect((error as SallyportError).stage).toBe('workspace');
        });
      });
      expectUntouched();
    }
  });
});

describe('remove', () => {
  it('takes away what was made with all that is in it, once, and leaves the rest', async () => {
    const workspace = makeScratch();
    writeFileSync(`${workspace}/work`, 'x');
    mkdirSync(`${workspace}/.tmp`);
    writeFileSync(`${workspace}/.tmp/before`, 'x');
    const prepared = prepareWorkspace(workspace);
    mkdirSync(`${prepared.home}/a/b/c`, { recursive: true });
    writeFileSync(`${prepared.home}/a/b/c/file`, 'x');
    await prepared.remove();
    expect(readdirSync(workspace, { recursive: true }).sort()).toEqual([
      '.tmp',
      '.tmp/before',
      'work',
    ]);
    await prepared.remove();
  });

  it('with await using, and more entries than one call takes', async () => {
    const workspace = makeScratch();
    {
      await using prepared = prepareWorkspace(workspace);
      for (let index = 0; index < 5_000; index += 1) {
        writeFileSync(`${prepared.temporary}/${index}`, '');
      }
    }
    expect(readdirSync(workspace)).toEqual([]);
  });

  it('removes symlinks and not what they lead to', async () => {
    const { directory, expectUntouched } = makeVictim();
    const workspace = makeScratch();
    const prepared = prepareWorkspace(workspace);
    mkdirSync(`${prepared.home}/deep`);
    symlinkSync(directory, `${prepared.home}/link`);
    symlinkSync(directory, `${prepared.home}/deep/link`);
    symlinkSync(`${directory}/inner/keep`, `${prepared.temporary}/file`);
    await prepared.remove();
    expect(readdirSync(workspace)).toEqual([]);
    expectUntouched();
  });

  it('refuses a symlink, and another directory, that stand in its place', async () => {
    const { directory, expectUntouched } = makeVictim();
    for (const [code, replace] of [
      ['ELOOP', (home: string) => symlinkSync(directory, home)],
      ['ESTALE', (home: string) => mkdirSync(home)],
      ['ENOTDIR', (home: string) => writeFileSync(home, '')],
      ['ENOENT', () => undefined],
    ] as const) {
      const workspace = makeScratch();
      const prepared = prepareWorkspace(workspace);
      spawnSync('mv', [prepared.home, `${workspace}/aside`]);
      replace(prepared.home);
      expect((await rejected(prepared.remove())).code).toBe(code);
      // The other one goes all the same.
      expect(existsSync(prepared.temporary)).toBe(false);
      expect(existsSync(`${workspace}/aside/.cache`)).toBe(true);
    }
    expectUntouched();
  });

  it('a tree deeper than any path, and directories without permissions', async () => {
    const { left, deepest } = await inNode(
      async ({ sallyport, scratch, require }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        fs.mkdirSync(`${scratch}/w`);
        const prepared = sallyport.prepareWorkspace(`${scratch}/w`);
        const before = process.cwd();
        process.chdir(prepared.home);
        let depth = 0;
        for (; depth < 1_500; depth += 1) {
          fs.mkdirSync('directory');
          process.chdir('directory');
        }
        fs.writeFileSync('file', '');
        process.chdir(before);
        fs.mkdirSync(`${prepared.temporary}/locked/inner`, { recursive: true });
        fs.writeFileSync(`${prepared.temporary}/locked/inner/file`, '');
        fs.chmodSync(`${prepared.temporary}/locked/inner`, 0);
        fs.chmodSync(`${prepared.temporary}/locked`, 0);
        fs.chmodSync(prepared.temporary, 0);
        await prepared.remove();
        return { left: fs.readdirSync(`${scratch}/w`), deepest: depth };
      },
      null,
      { unprivileged: true },
    );
    expect(deepest).toBe(1_500);
    expect(left).toEqual([]);
  });

  needs('unshare', 'root').it('enters no mount', () => {
    const { directory, expectUntouched } = makeVictim();
    const workspace = makeScratch();
    const script = `
const { prepareWorkspace } = require(${JSON.stringify(path.resolve('dist/index.js'))});
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const prepared = prepareWorkspace(${JSON.stringify(workspace)});
for (const place of [prepared.home + '/.removed-0', prepared.temporary + '/deep/mount']) {
  fs.mkdirSync(place, { recursive: true });
  execFileSync('mount', ['--bind', ${JSON.stringify(directory)}, place]);
}
prepared.remove().then(() => console.log('removed'), (error) => console.log(error.code));`;
    const { stdout, stderr } = spawnSync('unshare', ['--mount', process.execPath, '-e', script], {
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'EBUSY\n', stderr: '' });
    expectUntouched();
  });
});
