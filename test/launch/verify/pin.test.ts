// What was hashed is what runs, whatever becomes of the file.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { launch, pinExecutable, planDigest, planLaunch, run } from '../../../src/index.js';
import { native } from '../../../src/native.js';
import type { SallyportError } from '../../../src/index.js';
import { fixture, makeScratch } from '../../support/fixtures.js';
import { readWitness, witness } from '../../support/witness.js';

const sha256 = (file: string): string =>
  createHash('sha256').update(readFileSync(file)).digest('hex');

/** A copy of /bin/true that a test may change. */
function program(): string {
  const file = path.join(makeScratch(), 'program');
  copyFileSync('/bin/true', file);
  chmodSync(file, 0o755);
  return file;
}

async function errorOf(promise: Promise<unknown>): Promise<SallyportError> {
  try {
    await promise;
  } catch (error) {
    return error as SallyportError;
  }
  throw new Error('it was not refused');
}

async function exitCode(file: string, options: object): Promise<number | null> {
  const child = await launch(file, [], { stdio: 'null', ...options });
  return (await child.exited).code;
}

describe('pinExecutable', () => {
  it('hashes the copy, and the copy runs with what it is given', async () => {
    using pinned = await pinExecutable(witness);
    expect(pinned.identity.sha256).toBe(sha256(witness));
    for (const verify of ['at-exec', undefined] as const) {
      const child = await launch(witness, ['a', 'b'], {
        stdio: ['null', 'pipe', 'null'],
        env: { A: '1' },
        pinned,
        ...(verify === undefined ? {} : { verify }),
      });
      const told = await readWitness(child);
      expect(told.argv).toEqual([witness, 'a', 'b']);
      expect(told.environment).toEqual([['A', '1']]);
      // The copy itself is closed by its own exec.
      expect(told.descriptors.map(({ fd }) => fd).slice(0, 3)).toEqual([0, 1, 2]);
      expect(told.descriptors.filter(({ link }) => link.includes('memfd'))).toEqual([]);
      await child.exited;
    }
  });

  it.each(['renamed over', 'overwritten in place'])(
    'a file that is %s after it: the hashed one runs',
    async (how) => {
      const file = program();
      using pinned = await pinExecutable(file);
      if (how === 'renamed over') {
        copyFileSync('/bin/false', `${file}.new`);
        chmodSync(`${file}.new`, 0o755);
        renameSync(`${file}.new`, file);
      } else {
        const bytes = readFileSync('/bin/false');
        const fd = openSync(file, 'r+');
        writeSync(fd, bytes, 0, bytes.length, 0);
        native().releaseDescriptors(Int32Array.of(fd));
      }
      // The control: by its path it is another program now.
      expect(await exitCode(file, {})).toBe(1);
      expect(await exitCode(file, { pinned })).toBe(0);
      expect(await exitCode(file, { pinned, verify: 'at-exec' })).toBe(0);
    },
  );

  it('another hash is refused', async () => {
    const file = program();
    const expected = sha256(file);
    copyFileSync('/bin/false', file);
    const error = await errorOf(pinExecutable(file, { sha256: expected }));
    expect(error).toMatchObject({ code: 'ERR_SALLYPORT_NOT_PINNABLE', stagePath: file });
  });

  it('a hash that is none is refused before anything is opened; null is none asked for', async () => {
    const file = program();
    for (const bad of ['', 'abc', sha256(file).slice(1), `${sha256(file)}0`, 7, ['a']]) {
      const error = await errorOf(pinExecutable(file, { sha256: bad as string }));
      expect(error).toMatchObject({
        name: 'SallyportTypeError',
        code: 'ERR_SALLYPORT_INVALID_ARGUMENT',
      });
    }
    const unknown = { sha265: sha256(file) } as { sha256?: string };
    expect((await errorOf(pinExecutable(file, unknown))).code).toBe('ERR_SALLYPORT_UNKNOWN_OPTION');
    using any = await pinExecutable(file, null as unknown as undefined);
    using same = await pinExecutable(file, { sha256: any.identity.sha256.toUpperCase() });
    expect(same.identity).toEqual(any.identity);
  });

  it('the copy cannot be changed, not even by us', async () => {
    using pinned = await pinExecutable(program());
    expect(() => writeSync(pinned.fd, 'x', 0)).toThrow(/EPERM/);
    expect(native().sealMemory(pinned.fd)).not.toBe(0);
  });

  it('a script is refused with what to do', async () => {
    const script = path.join(makeScratch(), 'script');
    writeFileSync(script, '#!/bin/sh\ntrue\n', { mode: 0o755 });
    const error = await errorOf(pinExecutable(script));
    expect(error).toMatchObject({ code: 'ERR_SALLYPORT_NOT_PINNABLE' });
    expect(String(error)).toContain("'/bin/sh'");
  });

  it('a static program has no loader; a report says what was not hashed', async () => {
    using still = await pinExecutable(fixture('exit_fast'));
    expect(still.identity.loader).toBeNull();
    using moving = await pinExecutable('/bin/true');
    expect(moving.identity.loader).toContain('ld-');
    const report = await run('/bin/true', [], {
      pinned: moving,
      verify: 'at-exec',
      containment: 'group',
    });
    expect(report.inheritance).toMatchObject({ verified: 'at-exec', differences: [] });
    expect(report.notTested.join()).toContain('shared libraries');
  });

  it('is part of the plan and of its digest', async () => {
    using pinned = await pinExecutable('/bin/true');
    const plan = planLaunch('/bin/true', [], { pinned });
    expect(plan.pinned).toEqual(pinned.identity);
    expect(planDigest(plan)).not.toBe(planDigest(planLaunch('/bin/true', [])));
  });

  it('another file, and a copy that was disposed of, are refused', async () => {
    const pinned = await pinExecutable('/bin/true');
    expect(await errorOf(launch('/bin/false', [], { pinned }))).toMatchObject({
      code: 'ERR_SALLYPORT_NOT_PINNABLE',
    });
    pinned[Symbol.dispose]();
    expect(await errorOf(launch('/bin/true', [], { pinned }))).toMatchObject({
      code: 'ERR_SALLYPORT_INVALID_ARGUMENT',
    });
  });

  it('what is missing, and what is no path, is refused', async () => {
    expect(await errorOf(pinExecutable('/nothing/here'))).toMatchObject({ code: 'ENOENT' });
    expect(await errorOf(pinExecutable('true'))).toMatchObject({
      code: 'ERR_SALLYPORT_INVALID_ARGUMENT',
    });
  });
});
