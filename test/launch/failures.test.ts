// Each stage that can fail: which error it gives, with its fields, and that it tells no value.
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import { SallyportError, spawn, type SpawnOptions } from '../../src/index.js';
import { expectWithout, thrown } from '../support/errors.js';
import { fixture, loadStorm, makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';
import { witness } from '../support/witness.js';

const storm = loadStorm();
const scratch = makeScratch();
const at = (name: string) => path.join(scratch, name);
const secret = 'made-up-value-2b7e';

function makeFile(name: string, content: string | Buffer, mode = 0o755): string {
  writeFileSync(at(name), content);
  chmodSync(at(name), mode);
  return at(name);
}

/** A program whose ELF header names a loader that does not exist. */
function makeWithoutLoader(): string {
  const program = Buffer.from(readFileSync(witness));
  const loader = /\/lib[^\0]*\/ld-[^\0]*/.exec(program.toString('latin1'))?.[0] ?? '';
  expect(loader).not.toBe('');
  program.write(loader.replace(/.$/, '~'), program.indexOf(loader), 'latin1');
  return makeFile('no-loader', program);
}

const failure = (file: string, args: string[] = [], options: SpawnOptions = {}) =>
  thrown(() => spawn(file, args, options));

beforeAll(() => {
  mkdirSync(at('folder'));
  makeFile('data', 'x', 0o644);
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
    expect(error.message.startsWith(`spawn true ENOENT: chdir '${at('missing')}': no such file or directory`)).toBe(
      true,
    );
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
    expect(error).toMatchObject({ code, path: file, syscall: `spawn ${file}`, stage: 'lookup', stagePath });
    expect(error.errno).toBeLessThan(0);
    expect(error.message).toMatch(new RegExp(`^spawn ${file} ${code}: `));
    expect('spawnargs' in error).toBe(false);
    expectWithout(error, secret);
  });

  needs('another uid').it('by permission: directories and modes, and execute-only works', async () => {
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
        await attempt('closed entry passed over', 'true', { PATH: `${scratch}/closed:/usr/bin:/bin` });
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
  });
});

describe('exec', () => {
  it('a script whose interpreter is missing: the interpreter is named', () => {
    const script = makeFile('no-interpreter', '#!/no/such/interpreter -x\n');
    const error = failure(script);
    expect(error).toMatchObject({
      code: 'ENOENT',
      errno: -2,
      stage: 'exec',
      stagePath: '/no/such/interpreter',
      stageSource: 'inferred',
      path: script,
    });
    expect(error.message).toContain('#!');
    expect(error.message).toContain(script);
  });

  it('a script whose interpreter may not be executed', () => {
    const script = makeFile('plain-interpreter', `#!${at('data')}\n`);
    expect(failure(script)).toMatchObject({ code: 'EACCES', stage: 'exec', stagePath: at('data') });
  });

  it('a program whose ELF loader is missing: the loader is named', () => {
    const program = makeWithoutLoader();
    const error = failure(program);
    expect(error).toMatchObject({ code: 'ENOENT', stage: 'exec', stageSource: 'inferred', path: program });
    expect(error.stagePath).toMatch(/\/ld-.*~$/);
    expect(error.message).toContain('loader');
  });

  it('a script without #!: ENOEXEC, and what to write', () => {
    const script = makeFile('no-shebang', 'echo hi\n');
    const error = failure(script);
    expect(error).toMatchObject({ code: 'ENOEXEC', errno: -8, stage: 'exec', stagePath: script });
    expect(error.message).toContain('#!');
  });

  it('an empty file, and one for another machine', () => {
    expect(failure(makeFile('empty', ''))).toMatchObject({ code: 'ENOEXEC', stage: 'exec' });
    const program = Buffer.from(readFileSync(fixture('exit_fast')));
    program.writeUInt16LE(0x1234, 18); // e_machine
    expect(failure(makeFile('alien', program))).toMatchObject({ code: 'ENOEXEC', stage: 'exec' });
  });

  it.each<[string, string[], SpawnOptions, RegExp]>([
    ['an argument', ['small', secret.repeat(20_000)], {}, /argv\[2\] 360001 bytes/],
    ['a variable', [], { env: { A: 'x', BIG: secret.repeat(20_000) } }, /env\.BIG 360005 bytes/],
    [
      'all together',
      Array.from({ length: 100 }, (_, index) => secret.repeat(3000 + index)),
      {},
      /argv\[100\] 55783 bytes, argv\[99\] 55765 bytes, argv\[98\] 55747 bytes/,
    ],
  ])('E2BIG by %s names the biggest entries with their sizes and no value', (_, args, options, says) => {
    const error = failure('true', args, options);
    expect(error).toMatchObject({ code: 'E2BIG', errno: -7, stage: 'exec' });
    expect(error.message).toMatch(says);
    expect(error.message.length).toBeLessThan(600);
    expectWithout(error, secret);
  });

  it('the longest string that the kernel takes is taken', async () => {
    const child = spawn('true', ['x'.repeat(131_071)], { env: { A: 'x'.repeat(131_069) } });
    expect((await child.exited).code).toBe(0);
    expect(failure('true', ['x'.repeat(131_072)]).code).toBe('E2BIG');
    expect(failure('true', [], { env: { A: 'x'.repeat(131_070) } }).code).toBe('E2BIG');
  });

  it('ETXTBSY that stays is an error that says who is to blame', () => {
    const program = makeFile('busy', readFileSync(fixture('exit_fast')));
    const writer = openSync(program, 'r+');
    try {
      expect(() => storm.plainSpawn(program, [])).toThrow('Text file busy');
      const error = failure(program);
      expect(error).toMatchObject({ code: 'ETXTBSY', errno: -26, stage: 'exec', stagePath: program });
      expect(error.message).toContain('writing');
    } finally {
      closeSync(writer);
    }
  });

  it('ETXTBSY that passes within the retries is never seen', async () => {
    const seen = await inNode(async ({ sallyport, storm, fixture, scratch, require }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      const program = `${scratch}/written`;
      fs.copyFileSync(fixture('exit_fast'), program);
      fs.chmodSync(program, 0o755);
      const go = new Int32Array(new SharedArrayBuffer(8));
      // spawn() blocks the main thread while it tries again: another one must close the file.
      const worker = new Worker(
        `const { workerData: { go, program }, parentPort } = require('node:worker_threads');
         const fs = require('node:fs');
         const fd = fs.openSync(program, 'r+');
         parentPort.postMessage('open');
         Atomics.wait(go, 0, 0);
         Atomics.wait(go, 1, 0, 10); // long enough for the first try, short against the last
         fs.closeSync(fd);`,
        { eval: true, workerData: { go, program } },
      );
      await new Promise((resolve) => worker.once('message', resolve));
      let busy = '';
      try {
        storm.plainSpawn(program, []);
      } catch (error) {
        busy = (error as Error).message;
      }
      Atomics.store(go, 0, 1);
      Atomics.notify(go, 0);
      const child = sallyport.spawn(program, [], { stdio: 'null' });
      return { busy, code: (await child.exited).code };
    }, null);
    expect(seen.busy).toContain('Text file busy');
    expect(seen.code).toBe(0);
  });
});

describe('resources', () => {
  it('EMFILE tells how many are open and how many may be; nothing was started', async () => {
    const seen = await inNode(async ({ sallyport, storm, processes, fixture }) => {
      const child = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' });
      await child.exited;
      storm.setSoftLimit('nofile', 64);
      const opened: number[] = [];
      for (;;) {
        try {
          opened.push(storm.openInheritable('/etc/hosts'));
        } catch {
          break;
        }
      }
      const attempt = () => {
        try {
          sallyport.spawn(fixture('exit_fast'), [], { stdio: 'pipe', env: {} });
          return {};
        } catch (error) {
          return { ...(error as object), message: (error as Error).message };
        }
      };
      const close = () => {
        const fd = opened.pop();
        if (fd !== undefined) storm.closeFd(fd);
      };
      const full = attempt();
      close();
      // Counted and not computed: whoever started us may have left something above the limit.
      const oneFree = { ...attempt(), open: processes.listDescriptors().length };
      for (let more = 0; more < 3; more++) close();
      const fourFree = { ...attempt(), open: processes.listDescriptors().length };
      const children = storm.hasChildren();
      for (let more = 0; more < 10; more++) close();
      const enough = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'pipe' });
      return {
        full,
        oneFree,
        fourFree,
        children,
        code: (await enough.exited).code,
      };
    }, null);
    const expected = { code: 'EMFILE', errno: -24, stage: 'descriptor' };
    expect(seen.full).toMatchObject(expected);
    expect(seen.oneFree).toMatchObject(expected);
    expect(seen.fourFree).toMatchObject(expected);
    expect((seen.full as { message: string }).message).toContain('all of 64');
    for (const { open, ...error } of [seen.oneFree, seen.fourFree]) {
      expect((error as { message: string }).message).toContain(`${String(open)} of 64`);
    }
    expect(seen.fourFree.open).toBe(seen.oneFree.open - 3);
    expect(seen.children).toBe(false);
    expect(seen.code).toBe(0);
  });

  it('EMFILE when copying a descriptor of the pass list', async () => {
    const seen = await inNode(({ sallyport, storm, fixture }) => {
      // Loads the addon while there is room for it.
      sallyport.planLaunch('true');
      storm.setSoftLimit('nofile', 64);
      const source = storm.openInheritable('/etc/hosts');
      let last = source;
      try {
        for (;;) last = storm.openInheritable('/etc/hosts');
      } catch {
        // Full.
      }
      try {
        sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null', pass: [{ fd: source, as: 3 }] });
        return {};
      } catch (error) {
        return { ...(error as object), message: (error as Error).message };
      } finally {
        // Room for the report.
        storm.closeFd(last);
      }
    }, null);
    expect(seen).toMatchObject({ code: 'EMFILE', stage: 'descriptor' });
    expect((seen as { message: string }).message).toContain('of 64');
  });

  it('not one descriptor free: a launch that needs none works and is reaped', async () => {
    const seen = await inNode(async ({ sallyport, storm, fixture }) => {
      sallyport.planLaunch('true');
      storm.setSoftLimit('nofile', 64);
      let last = -1;
      try {
        for (;;) last = storm.openInheritable('/etc/hosts');
      } catch {
        // Full: neither a pidfd nor an epoll descriptor can be had.
      }
      const args = ['--quiet', '--exit', '6'];
      const children = Array.from({ length: 3 }, () =>
        sallyport.spawn(fixture('witness'), args, { stdio: 'null' }),
      );
      const codes = [];
      for (const child of children) codes.push((await child.exited).code);
      storm.closeFd(last);
      return { codes, children: storm.hasChildren() };
    }, null);
    expect(seen).toEqual({ codes: [6, 6, 6], children: false });
  });

  needs('another uid').it('EAGAIN at the limit of processes', async () => {
    const seen = await inNode(
      ({ sallyport, storm, fixture }) => {
        storm.setSoftLimit('nproc', 1);
        try {
          sallyport.spawn(fixture('exit_fast'), [], { stdio: 'pipe' });
          return {};
        } catch (error) {
          return { ...(error as object), message: (error as Error).message, children: storm.hasChildren() };
        }
      },
      null,
      { unprivileged: true },
    );
    expect(seen).toMatchObject({ code: 'EAGAIN', errno: -11, stage: 'process', children: false });
    expect((seen as { message: string }).message).toContain('RLIMIT_NPROC');
  });
});

describe('descriptors', () => {
  it('a source that is not open: EBADF with its number', () => {
    const fd = openSync('/etc/hosts', 'r');
    closeSync(fd);
    for (const options of [{ pass: [{ fd, as: 9 }] }, { stdio: fd }] as SpawnOptions[]) {
      const error = failure('true', [], options);
      expect(error).toMatchObject({ code: 'EBADF', errno: -9, stage: 'descriptor', stagePath: String(fd) });
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
    const pass = (expect: NonNullable<Exclude<NonNullable<SpawnOptions['pass']>[number], number>['expect']>) => [
      { fd: listener.fd, as: 9, expect },
    ];
    try {
      const error = failure('/no/matter', [], { pass: pass({ kind: 'file', access: 'read' }) });
      expect(error.stage).toMatch(/^(lookup|descriptor)$/);
      const refused = failure('true', [], { pass: pass({ kind: 'socket', access: 'both' }) });
      expect(refused).toMatchObject({ code: 'ERR_SALLYPORT_UNEXPECTED_OBJECT', stage: 'descriptor' });
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
