// A run by a profile: reviewed by the plan that is launched, held at its exec, reported.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { run, type Profile, type RunOptions } from '../../src/index.js';
import { strictProfile } from '../../src/review.js';
import { loadStorm, makeScratch } from '../support/fixtures.js';
import { contained } from './support.js';

const storm = loadStorm();
const scratch = makeScratch();
const input = path.join(scratch, 'input');
writeFileSync(input, 'one\ntwo\n');

const profile = (fields: Partial<Profile> = {}): Profile => ({
  ...strictProfile({
    executable: '/usr/bin/wc',
    arguments: ['-l'],
    environment: { LANG: 'C' },
    cwd: '/',
    stdin: { channel: 'descriptor', object: { kind: 'file', access: 'read', path: input } },
  }),
  ...fields,
});

const asked = (options: RunOptions = {}): RunOptions => ({
  ...contained,
  stdio: [openSync(input, 'r'), 'pipe', 'pipe'],
  env: { LANG: 'C' },
  cwd: '/',
  profile: profile(),
  ...options,
});

describe('run({ profile })', () => {
  it('takes what is named at the call: a number that is closed and used again is not handed over', async () => {
    const other = path.join(scratch, 'other');
    writeFileSync(other, 'one\ntwo\nthree\n');
    const object = { kind: 'file', access: 'read' } as const; // whichever
    const approved = profile();
    approved.channels!.stdin = { channel: 'descriptor', object };
    // At a number of its own: another thread may take the lowest that is free.
    const fd = storm.openInheritable(input, 60);
    const args = ['-l'];
    const running = run(
      '/usr/bin/wc',
      args,
      asked({ stdio: [fd, 'pipe', 'pipe'], profile: approved }),
    );
    storm.closeFd(fd);
    const again = storm.openInheritable(other, 60);
    expect(again).toBe(fd);
    args[0] = '-c';
    const report = await running;
    storm.closeFd(again);
    expect(report.admission.decision).toBe('accept');
    expect(report.output.stdout.text).toBe('2\n');
  });

  it('runs what was approved, and the report carries the evidence', async () => {
    const report = await run('/usr/bin/wc', ['-l'], asked());
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    expect(report.output.stdout.text).toBe('2\n');
    expect(report.admission.decision).toBe('accept');
    expect(report.admission.planDigest).toBe(report.plan?.digest);
    expect(report.admission.gates.map(({ name }) => name)).toContain('os-rights');
    expect(report.inheritance).toMatchObject({
      verified: 'at-exec',
      differences: [],
      unexpected: [],
    });
    expect(report.inheritance.seen?.map(({ target }) => target)).toEqual([0, 1, 2]);
    expect(report.authorization).toBe('not assessed');
    expect(report.notTested.join()).toContain('rights of its user');
  });

  it('a path of a file does as well', async () => {
    const file = path.join(scratch, 'profile.json');
    writeFileSync(file, JSON.stringify(profile()));
    const report = await run('/usr/bin/wc', ['-l'], asked({ profile: file }));
    expect(report.admission.decision).toBe('accept');
  });

  it.each<[string, string, string[], RunOptions, string]>([
    ['a variable more', 'reject', ['-l'], { env: { LANG: 'C', CI: '1' } }, 'environment'],
    ['another argument', 'reject', ['-c'], {}, 'arguments'],
    [
      'stdin of somebody else',
      'reject',
      ['-l'],
      { stdio: [openSync('/etc/hosts', 'r'), 'pipe', 'pipe'] },
      'standard-channels',
    ],
    ['a descriptor more', 'reject', ['-l'], { pass: [openSync(input, 'r')] }, 'extra-descriptors'],
    ['a later look only', 'hold', ['-l'], { verify: 'after-exec' }, 'descriptor-evidence'],
    ['a variable less', 'hold', ['-l'], { env: {} }, 'environment'],
  ])('%s: nothing is started', async (_what, decision, args, options, gate) => {
    const marker = path.join(scratch, 'record.jsonl');
    const running = run('/usr/bin/wc', args, asked({ ...options, record: marker }));
    const report = await running;
    expect(await running.started).toBeNull();
    expect(report.outcome).toMatchObject({
      kind: 'spawn-failed',
      error: { code: 'ERR_SALLYPORT_NOT_ADMITTED', stage: 'review' },
    });
    expect(report.admission.decision).toBe(decision);
    expect(report.authorization).toBe('not assessed');
    expect(report.notTested.length).toBeGreaterThan(0);
    const open = report.admission.gates.filter((each) => each.decision === decision);
    expect(open.map(({ name }) => name)).toEqual([gate]);
    const lines = readFileSync(marker, 'utf8').trimEnd().split('\n');
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ admission: { decision } });
  });

  it('limits: what the call leaves open the profile says; more is rejected', async () => {
    const limits = { deadline: 60_000, outputBytes: 4 };
    const kept = await run('/usr/bin/wc', ['-l'], asked({ profile: profile({ limits }) }));
    expect(kept.admission.decision).toBe('accept');
    const more = await run(
      '/usr/bin/wc',
      ['-l'],
      asked({ profile: profile({ limits }), deadline: 60_001 }),
    );
    expect(more.admission.decision).toBe('reject');
    const output = await run(
      '/usr/bin/wc',
      ['-l'],
      asked({ profile: profile({ limits }), output: { maxBytes: 5 } }),
    );
    expect(output.admission.gates.at(-1)).toMatchObject({ name: 'completion', decision: 'reject' });
  });

  it('a broken profile rejects the call, before anything', async () => {
    const broken = { ...profile(), chanels: {} } as unknown as Profile;
    await expect(run('/usr/bin/wc', ['-l'], asked({ profile: broken }))).rejects.toMatchObject({
      code: 'ERR_SALLYPORT_INVALID_PROFILE',
    });
  });
});

describe('a program that was approved to the byte', () => {
  const sum = (file: string): string =>
    createHash('sha256').update(readFileSync(file)).digest('hex');

  function prepare(): { file: string; options: RunOptions } {
    const file = path.join(makeScratch(), 'program');
    copyFileSync('/bin/true', file);
    chmodSync(file, 0o755);
    const approved = strictProfile({ executable: file, sha256: sum(file), cwd: '/' });
    return { file, options: { ...contained, env: {}, cwd: '/', profile: approved } };
  }

  it('runs as a sealed copy', async () => {
    const { file, options } = prepare();
    const report = await run(file, [], options);
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    expect(report.plan?.pinned?.sha256).toBe(sum(file));
    expect(report.notTested.join()).toContain('shared libraries');
  });

  it('what else is named is taken at the call, not when it is pinned', async () => {
    const other = path.join(scratch, 'taken-later');
    writeFileSync(other, 'one\ntwo\nthree\n');
    const object = { kind: 'file', access: 'read' } as const; // whichever
    const approved = profile();
    approved.executable.sha256 = sum('/usr/bin/wc');
    approved.channels!.stdin = { channel: 'descriptor', object };
    // At a number of its own: another thread may take the lowest that is free.
    const fd = storm.openInheritable(input, 60);
    const args = ['-l'];
    const env: Record<string, string> = { LANG: 'C' };
    const options = asked({ stdio: [fd, 'pipe', 'pipe'], env, profile: approved });
    const running = run('/usr/bin/wc', args, options);
    storm.closeFd(fd);
    const again = storm.openInheritable(other, 60);
    expect(again).toBe(fd);
    args.push('--bytes');
    env.CI = '1';
    const report = await running;
    storm.closeFd(again);
    expect(report.outcome).toMatchObject({ kind: 'exited', code: 0 });
    expect(report.output.stdout.text).toBe('2\n');
    expect(report.plan?.pinned?.sha256).toBe(sum('/usr/bin/wc'));
  });

  it.each(['by rename', 'in place'])('exchanged %s after the review: refused', async (how) => {
    const { file, options } = prepare();
    const target = how === 'in place' ? file : `${file}.new`;
    copyFileSync('/bin/false', target);
    chmodSync(target, 0o755);
    if (how !== 'in place') renameSync(target, file);
    expect(existsSync(file)).toBe(true);
    const report = await run(file, [], options);
    expect(report.outcome).toMatchObject({ kind: 'spawn-failed', code: null });
    expect(report.admission.gates[0]).toMatchObject({ name: 'executable', decision: 'reject' });
  });

  it('another program in its place is rejected by its gate, not by an error', async () => {
    const { options } = prepare();
    const report = await run('/bin/false', [], options);
    expect(report.admission.gates[0]).toMatchObject({ name: 'executable', decision: 'reject' });
  });

  it('without a hash its identity can be approved: another file in its place is refused', async () => {
    const { file } = prepare();
    const approved = strictProfile({ executable: file, cwd: '/' });
    approved.executable.inode = String(statSync(file, { bigint: true }).ino);
    const options = { ...contained, env: {}, cwd: '/', profile: approved };
    expect((await run(file, [], options)).outcome).toMatchObject({ kind: 'exited', code: 0 });
    copyFileSync('/bin/true', `${file}.new`);
    chmodSync(`${file}.new`, 0o755);
    renameSync(`${file}.new`, file);
    const report = await run(file, [], options);
    expect(report.admission.gates[0]).toMatchObject({
      name: 'executable',
      decision: 'reject',
      differences: [{ path: 'executable.inode' }],
    });
  });
});
