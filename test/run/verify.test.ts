// What the report of a run says of the look at its program: at its exec, later, or one that was refused.
import { copyFileSync, existsSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';

import { run } from '../../src/index.js';
import * as native from '../../src/native.js';
import { fixture, makeScratch } from '../support/fixtures.js';
import { contained } from './support.js';

vi.mock('../../src/native.js', { spy: true });

describe('inheritance', () => {
  it('at the exec', async () => {
    const pass = [{ fd: openSync('/etc/hosts', 'r'), as: 5 }];
    const report = await run('/bin/true', [], { ...contained, pass, verify: 'at-exec' });
    expect(report.inheritance).toMatchObject({
      verified: 'at-exec',
      unexpected: [],
      differences: [],
    });
    expect(report.inheritance.seen?.map(({ target }) => target)).toEqual([0, 1, 2, 5]);
    expect(report.notTested.join()).toContain('not pinned');
    expect(report.notTested.join()).not.toContain('was not looked at');
  });

  it('later: says that it proves nothing', async () => {
    const report = await run('/bin/sleep', ['0.2'], { ...contained, verify: 'after-exec' });
    expect(report.inheritance.verified).toBe('after-exec');
    expect(report.inheritance.statement).toContain('no proof');
    expect(report.notTested.join()).toContain('proves nothing');
  });

  it('of a child that was not as planned: it never ran, and the report has the difference', async () => {
    const scratch = makeScratch();
    copyFileSync(native.launcherPath(), path.join(scratch, 'launcher'));
    copyFileSync(fixture('meddler'), path.join(scratch, 'meddler'));
    writeFileSync(path.join(scratch, 'meddle'), 'extra');
    const spy = vi.spyOn(native, 'launcherPath').mockReturnValue(path.join(scratch, 'meddler'));
    const ran = path.join(scratch, 'ran');
    try {
      const options = { ...contained, verify: 'at-exec' } as const;
      const report = await run('/bin/sh', ['-c', `: > '${ran}'`], options);
      expect(report.outcome).toMatchObject({
        kind: 'spawn-failed',
        error: { code: 'ERR_SALLYPORT_NOT_AS_PLANNED', stage: 'verify' },
      });
      expect(report.inheritance).toMatchObject({
        verified: 'at-exec',
      });
      expect(report.inheritance.differences.map((each) => each.path)).toContain('descriptors.90');
      expect(report.complete).toBe(false);
      expect(existsSync(ran)).toBe(false);
    } finally {
      spy.mockRestore();
    }
  });
});
