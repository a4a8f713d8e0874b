// Failures of exec itself: interpreter, loader, format, size, a file open for writing.
import { chmodSync, closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { spawn, type SpawnOptions } from '../../src/index.js';
import { expectWithout, thrown } from '../support/errors.js';
import { fixture, loadStorm, makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { witness } from '../support/witness.js';

const storm = loadStorm();
const scratch = makeScratch();
const secret = 'made-up-value-2b7e';

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
  expect(loader).not.toBe('');
  program.write(loader.replace(/.$/, '~'), program.indexOf(loader), 'latin1');
  return makeFile('no-loader', program);
}

const failure = (file: string, args: string[] = [], options: SpawnOptions = {}) =>
  thrown(() => spawn(file, args, options));

describe('exec', () => {
  const data = makeFile('data', 'x', 0o644);

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
    const script = makeFile('plain-interpreter', `#!${data}\n`);
    expect(failure(script)).toMatchObject({ code: 'EACCES', stage: 'exec', stagePath: data });
  });

  it('a program whose ELF loader is missing: the loader is named', () => {
    const program = makeWithoutLoader();
    const error = failure(program);
    expect(error).toMatchObject({
      code: 'ENOENT',
      stage: 'exec',
      stageSource: 'inferred',
      path: program,
    });
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
  ])(
    'E2BIG by %s names the biggest entries with their sizes and no value',
    (_, args, options, says) => {
      const error = failure('true', args, options);
      expect(error).toMatchObject({ code: 'E2BIG', errno: -7, stage: 'exec' });
      expect(error.message).toMatch(says);
      expect(error.message.length).toBeLessThan(600);
      expectWithout(error, secret);
    },
  );

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
      expect(error).toMatchObject({
        code: 'ETXTBSY',
        errno: -26,
        stage: 'exec',
        stagePath: program,
      });
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
