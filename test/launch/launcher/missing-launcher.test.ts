// A package whose launcher is missing or broken: what needs it is refused, and all else works.
import { chmodSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { inNode } from '../../support/node-script.js';
import { copyPackage, launcherOf } from '../../support/package-copy.js';
import { needs } from '../../support/tools.js';

const tryPackage = (copy: string, unprivileged = false) =>
  inNode(
    async ({ storm, processes, fixture, require }, from) => {
      const sallyport = require(from) as typeof import('../../../src/index.js');
      const options = { stdio: 'pipe' as const, umask: 0o22 };
      const describe = (error: unknown) => ({
        ...(error as object),
        message: (error as Error).message,
      });
      const attempt = async () => {
        const errors: unknown[] = [];
        for (const noNewPrivileges of [true, false]) {
          try {
            sallyport.spawn(fixture('exit_fast'), [], { ...options, noNewPrivileges });
          } catch (error) {
            errors.push(describe(error));
          }
        }
        await sallyport.launch(fixture('exit_fast'), [], options).catch((error: unknown) => {
          errors.push(describe(error));
        });
        return errors;
      };
      const count = () =>
        processes.listDescriptors().length -
        processes.listThreads().filter((name) => name === 'sallyport-lane').length;
      await attempt();
      const before = count();
      const errors = await attempt();
      await processes.waitFor('nothing to be kept', () => count() === before);
      const children = storm.hasChildren();
      const plain = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' });
      return { errors, children, plain: (await plain.exited).code };
    },
    copy,
    { publicly: true, unprivileged },
  );

const copyWith = (change: (launcher: string) => void): string => {
  const copy = copyPackage();
  change(launcherOf(copy));
  return copy;
};

describe('a launcher that', () => {
  it.each<[string, string, (launcher: string) => void]>([
    ['is missing', 'ENOENT', (launcher) => rmSync(launcher)],
    ['is empty', 'ENOEXEC', (launcher) => truncateSync(launcher)],
    ['is no program', 'ENOEXEC', (launcher) => writeFileSync(launcher, 'no program\n')],
  ])('%s', async (_, code, change) => {
    const copy = copyWith(change);
    const { errors, children, plain } = await tryPackage(copy);
    expect(errors).toHaveLength(3);
    for (const error of errors) {
      expect(error).toMatchObject({
        code,
        stage: 'launcher',
        stagePath: launcherOf(copy),
        stageSource: 'inferred',
      });
      const { message } = error as { message: string };
      expect(message).toContain(`start the launcher '${launcherOf(copy)}'`);
      expect(message).toContain('run `npm rebuild sallyport`');
      expect(message).toContain('`npm install-scripts approve sallyport`');
    }
    expect({ children, plain }).toEqual({ children: false, plain: 0 });
  });

  needs('root').it('may not be executed, and whose mode is not ours to set', async () => {
    const copy = copyWith((launcher) => chmodSync(launcher, 0o644));
    const { errors, plain } = await tryPackage(copy, true);
    expect(errors).toHaveLength(3);
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'EACCES', stage: 'launcher' });
      expect((error as { message: string }).message).toContain('make it executable');
    }
    expect(plain).toBe(0);
  });
});

needs('root').it('a package that this user may not read says so, once it is needed', async () => {
  const copy = copyPackage();
  const seen = await inNode(
    ({ require }, from) => {
      const sallyport = require(from) as typeof import('../../../src/index.js');
      (require('node:fs') as typeof import('node:fs')).chmodSync(from, 0o700);
      process.setgid?.(65534);
      process.setuid?.(65534);
      try {
        sallyport.spawn('true');
        return null;
      } catch (error) {
        const { code, message } = error as { code: string; message: string };
        return { code, message };
      }
    },
    copy,
    { publicly: true },
  );
  expect(seen).toEqual({
    code: 'ERR_SALLYPORT_UNSUPPORTED_PLATFORM',
    message: expect.stringContaining(`its package in '${copy}' may not be read by this user`),
  });
});

it('the control: the copy as it is works', async () => {
  const code = await inNode(
    async ({ fixture, require }, from) => {
      const sallyport = require(from) as typeof import('../../../src/index.js');
      const child = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null', umask: 0o22 });
      return (await child.exited).code;
    },
    copyPackage(),
    { publicly: true },
  );
  expect(code).toBe(0);
});
