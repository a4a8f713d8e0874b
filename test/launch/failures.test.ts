// Failures before exec: cwd, lookup, descriptors. Which error each gives, with its fields.
import { chmodSync, closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import { SallyportError, spawn, type SpawnOptions } from '../../src/index.js';
import { expectWithout, thrown } from '../support/errors.js';
import { loadStorm, makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';

const storm = loadStorm();
const scratch = makeScratch();
const at = (name: string) => path.join(scratch, name);
const secret = 'made-up-value-2b7e';

const failure = (file: string, args: string[] = [], options: SpawnOptions = {}) =>
  thrown(() => spawn(file, args, options));

beforeAll(() => {
  mkdirSync(at('folder'));
  writeFileSync(at('data'), 'x');
  chmodSync(at('data'), 0o644);
});

describe('cwd', () => {
  it('missing: the directory is blamed, not the program', () => {
    const error = failure('true', [], { cwd: at('missing') });
    expect(error).toBeInstanceOf(SallyportError);
    expect(error).toMatchObject({
      code: 'ENOENT',
      errno: -2,
      syscall: 'spawn true',
      path: 'true',
      stage: 'cwd',
      stagePath: at('missing'),
      stageSource: 'inferred',
    });
    expect(
      error.message.startsWith(
        `spawn true ENOENT: chdir '${at('missing')}': no such file or directory`,
      ),
    ).toBe(true);
  });

  it('not a directory', () => {
    expect(failure('true', [], { cwd: at('data') })).toMatchObject({
      code: 'ENOTDIR',
      errno: -20,
      stage: 'cwd',
      stagePath: at('data'),
    });
  });

  it('missing, with a program given relative to it: still the directory', () => {
    expect(failure('./program', [], { cwd: at('missing') })).toMatchObject({
      code: 'ENOENT',
      stage: 'cwd',
      stagePath: at('missing'),
    });
  });

  needs('another uid').it('not permitted', async () => {
    const error = await inNode(
      ({ sallyport, scratch, require }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const cwd = `${scratch}/locked`;
        fs.mkdirSync(cwd);
        fs.chmodSync(cwd, 0o600);
        try {
          sallyport.spawn('true', [], { cwd });
          return {};
        } catch (error) {
          const { code, stage, stagePath } = error as Record<string, unknown>;
          return { code, stage, isNamed: stagePath === cwd };
        }
      },
      null,
      { unprivileged: true },
    );
    expect(error).toEqual({ code: 'EACCES', stage: 'cwd', isNamed: true });
  });

  it('our own was removed: an absolute one still works, and without one it is said', async () => {
    const seen = await inNode(async ({ sallyport, fixture, scratch, require }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      fs.mkdirSync(`${scratch}/gone`);
      process.chdir(`${scratch}/gone`);
      fs.rmdirSync(`${scratch}/gone`);
      const child = sallyport.spawn(fixture('exit_fast'), [], { cwd: '/', stdio: 'null' });
      const { code } = await child.exited;
      try {
        sallyport.spawn(fixture('exit_fast'));
        return { code, error: {} };
      } catch (error) {
        return { code, error: { ...(error as object) } };
      }
    }, null);
    expect(seen).toMatchObject({ code: 0, error: { code: 'ENOENT', stage: 'cwd' } });
  });
});

describe('lookup', () => {
  it.each([
    ['a missing program', 'no-such-program', 'ENOENT', 'no-such-program'],
    ['a missing path', '/no/such/program', 'ENOENT', '/no/such/program'],
    ['a directory', at('folder'), 'EACCES', at('folder')],
    ['not executable', at('data'), 'EACCES', at('data')],
    ['below a file', `${at('data')}/x`, 'ENOTDIR', `${at('data')}/x`],
  ])('%s', (_, file, code, stagePath) => {
    const error = failure(file, [secret], { env: { TOKEN: secret } });
    expect(error).toMatchObject({
      code,
      path: file,
      syscall: `spawn ${file}`,
      stage: 'lookup',
      stagePath,
    });
    expect(error.errno).toBeLessThan(0);
    expect(error.message).toMatch(new RegExp(`^spawn ${file} ${code}: `));
    expect('spawnargs' in error).toBe(false);
    expectWithout(error, secret);
  });

  needs('another uid').it(
    'by permission: directories and modes, and execute-only works',
    async () => {
      const seen = await inNode(
        async ({ sallyport, scratch, fixture, require }) => {
          const fs = require('node:fs') as typeof import('node:fs');
          const outcome: Record<string, unknown> = {};
          const attempt = async (name: string, file: string, env?: Record<string, string>) => {
            try {
              const child = sallyport.spawn(file, [], { stdio: 'null', env: env ?? {} });
              outcome[name] = (await child.exited).code;
            } catch (error) {
              const { code, stage, stagePath } = error as Record<string, unknown>;
              outcome[name] = [code, stage, stagePath === file ? 'the program' : stagePath];
            }
          };
          fs.mkdirSync(`${scratch}/closed`);
          fs.copyFileSync(fixture('exit_fast'), `${scratch}/closed/tool`);
          fs.chmodSync(`${scratch}/closed/tool`, 0o755);
          fs.chmodSync(`${scratch}/closed`, 0o600);
          fs.copyFileSync(fixture('exit_fast'), `${scratch}/plain`);
          fs.chmodSync(`${scratch}/plain`, 0o644);
          fs.copyFileSync(fixture('exit_fast'), `${scratch}/execute-only`);
          fs.chmodSync(`${scratch}/execute-only`, 0o111);
          await attempt('closed directory', `${scratch}/closed/tool`);
          await attempt('plain', `${scratch}/plain`);
          await attempt('execute-only', `${scratch}/execute-only`);
          await attempt('closed entry passed over', 'true', {
            PATH: `${scratch}/closed:/usr/bin:/bin`,
          });
          // So that it can be removed.
          fs.chmodSync(`${scratch}/closed`, 0o700);
          return outcome;
        },
        null,
        { unprivileged: true },
      );
      expect(seen).toEqual({
        'closed directory': ['EACCES', 'lookup', 'the program'],
        plain: ['EACCES', 'lookup', 'the program'],
        'execute-only': 0,
        'closed entry passed over': 0,
      });
    },
  );
});

describe('descriptors', () => {
  it('a source that is not open: EBADF with its number', () => {
    const fd = openSync('/etc/hosts', 'r');
    closeSync(fd);
    for (const options of [{ pass: [{ fd, as: 9 }] }, { stdio: fd }] as SpawnOptions[]) {
      const error = failure('true', [], options);
      expect(error).toMatchObject({
        code: 'EBADF',
        errno: -9,
        stage: 'descriptor',
        stagePath: String(fd),
      });
      expect(error.message).toContain(String(fd));
    }
  });

  it('foreground on what is no terminal', () => {
    expect(failure('true', [], { session: 'group', stdio: 'null', foreground: 0 })).toMatchObject({
      code: 'ENOTTY',
      stage: 'terminal',
    });
  });

  it('an object other than the expected one: what it really is, before anything starts', () => {
    const listener = storm.listenInheritable();
    const pass = (
      expect: NonNullable<Exclude<NonNullable<SpawnOptions['pass']>[number], number>['expect']>,
    ) => [{ fd: listener.fd, as: 9, expect }];
    try {
      const error = failure('/no/matter', [], { pass: pass({ kind: 'file', access: 'read' }) });
      expect(error.stage).toMatch(/^(lookup|descriptor)$/);
      const refused = failure('true', [], { pass: pass({ kind: 'socket', access: 'both' }) });
      expect(refused).toMatchObject({
        code: 'ERR_SALLYPORT_UNEXPECTED_OBJECT',
        stage: 'descriptor',
      });
      expect(refused.message).toContain(`listener 127.0.0.1:${String(listener.port)}`);
      expect(
        failure('true', [], {
          pass: pass({ kind: 'listener', access: 'both', address: '127.0.0.1:1' }),
        }).code,
      ).toBe('ERR_SALLYPORT_UNEXPECTED_OBJECT');
    } finally {
      closeSync(listener.fd);
    }
  });
});

it('every failure is thrown: no event, no unhandled rejection, the process ends with 0', async () => {
  const seen = await inNode(async ({ sallyport }) => {
    const events: string[] = [];
    process.on('unhandledRejection', () => events.push('unhandledRejection'));
    process.on('warning', (warning) => events.push(warning.message));
    let thrown = 0;
    for (const options of [{}, { cwd: '/no/such/directory' }, { pass: [4000] }]) {
      try {
        sallyport.spawn(thrown === 0 ? 'no-such-program' : 'true', [], options);
      } catch {
        thrown += 1;
      }
    }
    await new Promise((resolve) => setImmediate(resolve));
    return { thrown, events };
  }, null);
  expect(seen).toEqual({ thrown: 3, events: [] });
});
