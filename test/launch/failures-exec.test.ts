// Failures of exec itself, by itself and through the launcher: interpreter, loader, format, size, a file
// open for writing.
import { chmodSync, closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { spawn, type SallyportError, type SpawnOptions } from '../../src/index.js';
import { expectWithout } from '../support/errors.js';
import { fixture, loadStorm, makeScratch } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { witness } from '../support/witness.js';
import { failEachWay } from './each-way.js';

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

describe.each<[string, SpawnOptions, SallyportError['stageSource']]>([
  ['by itself', {}, 'inferred'],
  ['through the launcher', { umask: 0o22 }, 'reported'],
])('exec %s', (_, way, stageSource) => {
  const data = makeFile('data', 'x', 0o644);

  async function failure(file: string, args: string[] = [], options: SpawnOptions = {}) {
    const error = await failEachWay(file, args, { ...way, ...options });
    expect(error).toMatchObject({ stage: 'exec', stageSource });
    return error;
  }

  it('of a script whose interpreter is missing: the interpreter is named', async () => {
    const script = makeFile('no-interpreter', '#!/no/such/interpreter -x\n');
    const error = await failure(script);
    expect(error).toMatchObject({
      code: 'ENOENT',
      errno: -2,
      stagePath: '/no/such/interpreter',
      path: script,
    });
    expect(error.message).toContain('#!');
    expect(error.message).toContain(script);
  });

  it('of a script whose interpreter may not be executed', async () => {
    const script = makeFile('plain-interpreter', `#!${data}\n`);
    expect(await failure(script)).toMatchObject({ code: 'EACCES', stagePath: data });
  });

  it('of a program whose ELF loader is missing: the loader is named', async () => {
    const program = makeWithoutLoader();
    const error = await failure(program);
    expect(error).toMatchObject({ code: 'ENOENT', path: program });
    expect(error.stagePath).toMatch(/\/ld-.*~$/);
    expect(error.message).toContain('loader');
  });

  it('of a script without #!: ENOEXEC, and what to write', async () => {
    const script = makeFile('no-shebang', 'echo hi\n');
    const error = await failure(script);
    expect(error).toMatchObject({ code: 'ENOEXEC', errno: -8, stagePath: script });
    expect(error.message).toContain('#!');
  });

  it('of an empty file, and of one for another machine', async () => {
    const empty = makeFile('empty', '');
    expect(await failure(empty)).toMatchObject({ code: 'ENOEXEC', stagePath: empty });
    const program = Buffer.from(readFileSync(fixture('exit_fast')));
    program.writeUInt16LE(0x1234, 18); // e_machine
    expect(await failure(makeFile('alien', program))).toMatchObject({ code: 'ENOEXEC' });
  });

  it.each<[string, string[], SpawnOptions, RegExp]>([
    ['an argument', ['small', secret.repeat(20_000)], {}, /argv\[2\] 360001 bytes/],
    ['a variable', [], { env: { A: 'x', BIG: secret.repeat(20_000) } }, /env\.BIG 360005 bytes/],
    [
      'all together',
      Array.from({ length: 100 }, (_, index) => secret.repeat(3000 + index)),
      {},
      /here they are \d+ bytes.*argv\[100\] 55783 bytes, argv\[99\] 55765 bytes, argv\[98\] 55747 bytes/,
    ],
  ])(
    'E2BIG by %s names the biggest entries with their sizes and no value',
    async (_, args, options, says) => {
      const error = await failure('true', args, options);
      expect(error).toMatchObject({ code: 'E2BIG', errno: -7 });
      expect(error.message).toMatch(says);
      expect(error.message).toContain('pass large data by stdin or a file');
      expect(error.message.length).toBeLessThan(600);
      expectWithout(error, secret);
    },
  );

  it('the longest string that the kernel takes is taken', async () => {
    const env = { A: 'x'.repeat(131_069) };
    const child = spawn('true', ['x'.repeat(131_071)], { ...way, env });
    expect((await child.exited).code).toBe(0);
    expect((await failure('true', ['x'.repeat(131_072)])).code).toBe('E2BIG');
    expect((await failure('true', [], { env: { A: 'x'.repeat(131_070) } })).code).toBe('E2BIG');
  });

  it('ETXTBSY that stays is an error that says who is to blame', async () => {
    const program = makeFile('busy', readFileSync(fixture('exit_fast')));
    const writer = openSync(program, 'r+');
    try {
      expect(() => storm.plainSpawn(program, [])).toThrow('Text file busy');
      const error = await failure(program);
      expect(error).toMatchObject({ code: 'ETXTBSY', errno: -26, stagePath: program });
      expect(error.message).toContain('has it open for writing; tried again for 100 ms');
    } finally {
      closeSync(writer);
    }
    expect((await spawn(program, [], { ...way, stdio: 'null' }).exited).code).toBe(0);
  });

  it('ETXTBSY that passes within the retries is never seen', async () => {
    const seen = await inNode(async ({ sallyport, storm, fixture, scratch, require }, options) => {
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
      const child = sallyport.spawn(program, [], { ...options, stdio: 'null' });
      return { busy, code: (await child.exited).code };
    }, way);
    expect(seen.busy).toContain('Text file busy');
    expect(seen.code).toBe(0);
  });
});
