// The plan, its redacted description and its digest.
import { closeSync, openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

import { describePlan, planDigest, planLaunch } from '../../src/index.js';
import { listDescriptors } from '../support/processes.js';

const secret = 'made-up-value-c4e2';

const plan = () =>
  planLaunch('sh', ['-c', secret], {
    env: { TOKEN: secret, A: '1' },
    cwd: '/',
    stdio: ['null', 'pipe', 'null'],
  });

function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen);
}

describe('planLaunch', () => {
  it('gives plain frozen data that survives JSON', () => {
    const made = plan();
    expect(isDeeplyFrozen(made)).toBe(true);
    expect(JSON.parse(JSON.stringify(made))).toEqual(made);
    expect(made).toMatchObject({
      version: 1,
      file: 'sh',
      argv: ['sh', '-c', secret],
      environment: { TOKEN: secret, A: '1' },
      environmentSource: 'explicit',
      cwd: '/',
      session: 'new',
      foreground: null,
      route: { kind: 'lane' },
    });
  });

  it('with descriptors too, and opens nothing that stays open', () => {
    const fd = openSync('/etc/hosts', 'r');
    const before = listDescriptors();
    const made = planLaunch('true', [], { pass: [{ fd, as: 9 }], stdio: 'inherit' });
    expect(listDescriptors()).toEqual(before);
    closeSync(fd);
    expect(isDeeplyFrozen(made)).toBe(true);
    expect(JSON.parse(JSON.stringify(made))).toEqual(made);
    expect(made.descriptors.map(({ target, channel }) => [target, channel])).toEqual([
      [0, 'inherit'],
      [1, 'inherit'],
      [2, 'inherit'],
      [9, 'descriptor'],
    ]);
    expect(made.descriptors[3]).toMatchObject({
      source: fd,
      object: { kind: 'file', access: 'read', target: '/etc/hosts' },
    });
  });
});

describe('describePlan', () => {
  it('names variables and never tells a value of a variable or argument', () => {
    const text = JSON.stringify(describePlan(plan()));
    expect(text).not.toContain(secret);
    expect(text).toContain('TOKEN');
    expect(JSON.parse(text)).toEqual(describePlan(plan()));
  });

  it('carries the digest', () => {
    expect(JSON.stringify(describePlan(plan()))).toContain(planDigest(plan()));
  });
});

describe('planDigest', () => {
  it('is the same for the same child', () => {
    expect(planDigest(plan())).toBe(planDigest(plan()));
    expect(planDigest(plan())).toMatch(/^sha256:[0-9a-f]{64}$/);
    const [ab, ba] = [
      { A: '1', B: '2' },
      { B: '2', A: '1' },
    ].map((env) => planLaunch('sh', [], { env }));
    expect(ab && ba && planDigest(ab) === planDigest(ba)).toBe(true);
  });

  it('survives JSON', () => {
    const made = plan();
    expect(planDigest(JSON.parse(JSON.stringify(made)) as typeof made)).toBe(planDigest(made));
  });

  it.each([
    ['argv', planLaunch('sh', ['-c', 'x'], { env: {}, cwd: '/' })],
    ['argv0', planLaunch('sh', [], { env: {}, cwd: '/', argv0: 'x' })],
    ['a value', planLaunch('sh', [], { env: { A: '1' }, cwd: '/' })],
    ['cwd', planLaunch('sh', [], { env: {}, cwd: '/tmp' })],
    ['stdio', planLaunch('sh', [], { env: {}, cwd: '/', stdio: 'null' })],
    ['session', planLaunch('sh', [], { env: {}, cwd: '/', session: 'group' })],
    ['the program', planLaunch('cat', [], { env: {}, cwd: '/', argv0: 'sh' })],
    ['the pass list', planLaunch('sh', [], { env: {}, cwd: '/', pass: [{ fd: 0, as: 3 }] })],
  ])('differs with %s', (_, other) => {
    expect(planDigest(other)).not.toBe(planDigest(planLaunch('sh', [], { env: {}, cwd: '/' })));
  });

  it('joins no two fields: where one ends and the next begins counts', () => {
    const [a, b] = [['a', 'b'], ['a,b']].map((args) =>
      planDigest(planLaunch('sh', args, { env: {}, cwd: '/' })),
    );
    expect(a).not.toBe(b);
    const [c, d] = [{ A: '1', B: '2' }, { A: '1B=2' }].map((env) =>
      planDigest(planLaunch('sh', [], { env, cwd: '/' })),
    );
    expect(c).not.toBe(d);
  });
});

it.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['an empty object', {}],
  ['a description', describePlan(plan())],
  ['another version', { ...plan(), version: 2 }],
  ['a table that is none', { ...plan(), descriptors: [null] }],
  ['arguments that are none', { ...plan(), argv: [1] }],
])('%s is no plan, and is refused as such', (_, value) => {
  for (const call of [describePlan, planDigest]) {
    expect(() => call(value as ReturnType<typeof plan>)).toThrow(
      expect.objectContaining({
        name: 'SallyportTypeError',
        code: 'ERR_SALLYPORT_INVALID_ARGUMENT',
      }) as Error,
    );
  }
});
