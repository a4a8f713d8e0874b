// A program below an init holds before its exec likewise: it is looked at, and not its init.
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';

import type { SallyportError } from '../../../src/index.js';

import { launchTree } from '../../../src/launch/tree.js';
import * as native from '../../../src/native.js';
import { fixture, makeScratch } from '../../support/fixtures.js';
import { listMarked } from '../../support/processes.js';
import { readWitness, witness } from '../../support/witness.js';

vi.mock('../../../src/native.js', { spy: true });

describe('below an init', () => {
  it.each(['new', 'group', 'inherit'] as const)('session %s', async (session) => {
    const tree = await launchTree(witness, [], {
      stdio: ['null', 'pipe', 'null'],
      env: { ONE: '1' },
      pass: [{ fd: openSync('/etc/hosts', 'r'), as: 5 }],
      session,
      verify: 'at-exec',
    });
    const told = await readWitness(tree.child);
    const { evidence } = tree.child;
    expect(evidence).toMatchObject({ when: 'at-exec', pid: told.pid, differences: [] });
    expect(evidence?.pid).not.toBe(tree.initPid);
    expect(evidence?.facts).toMatchObject({
      parent: String(tree.initPid),
      session: String(told.sid),
      processGroup: String(told.pgid),
    });
    expect(evidence?.descriptors.map(({ target }) => target)).toEqual([0, 1, 2, 5]);
    expect(evidence?.environmentNames).toEqual(['ONE']);
    await tree.child.exited;
    expect(await tree.ended).toMatchObject({ empty: true });
  });

  it('a later look finds the program as well', async () => {
    const options = { stdio: 'null', verify: 'after-exec' } as const;
    const tree = await launchTree('/bin/sleep', ['20'], options);
    expect(tree.child.evidence).toMatchObject({ when: 'after-exec', pid: tree.child.pid });
    tree.kill();
    await tree.ended;
  });

  it('what cannot be executed is refused as without', async () => {
    const file = path.join(makeScratch(), 'program');
    writeFileSync(file, 'no program', { mode: 0o755 });
    const error = await refusalOf(launchTree(file, [], { stdio: 'null', verify: 'at-exec' }));
    expect(error).toMatchObject({ code: 'ENOEXEC', stage: 'exec', stageSource: 'reported' });
  });

  it.each([
    ['extra', 'descriptors.90'],
    ['object', 'descriptors.5'],
  ])('one that is not as planned never runs, and no init stays: %s', async (what, difference) => {
    const scratch = makeScratch();
    copyFileSync(native.launcherPath(), path.join(scratch, 'launcher'));
    copyFileSync(fixture('meddler'), path.join(scratch, 'meddler'));
    writeFileSync(path.join(scratch, 'meddle'), what);
    const spy = vi.spyOn(native, 'launcherPath').mockReturnValue(path.join(scratch, 'meddler'));
    const mark = randomUUID();
    const ran = path.join(scratch, 'ran');
    const options = { stdio: 'null', pass: [{ fd: openSync('/etc/hosts', 'r'), as: 5 }] } as const;
    try {
      const args = ['-c', `: > '${ran}'`, mark];
      const error = await refusalOf(launchTree('/bin/sh', args, { ...options, verify: 'at-exec' }));
      expect(error).toMatchObject({ code: 'ERR_SALLYPORT_NOT_AS_PLANNED', stage: 'verify' });
      expect(error.differences?.map((each) => each.path)).toContain(difference);
      expect(existsSync(ran)).toBe(false);
      expect(listMarked(mark)).toEqual([]);
      // The control: the same without verification runs.
      const tree = await launchTree('/bin/sh', args, options);
      await tree.ended;
      expect(existsSync(ran)).toBe(true);
    } finally {
      spy.mockRestore();
    }
  });
});

async function refusalOf(launching: Promise<unknown>): Promise<SallyportError> {
  try {
    await launching;
  } catch (error) {
    return error as SallyportError;
  }
  throw new Error('it was not refused');
}
