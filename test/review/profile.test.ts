// Profiles: what is refused and how it is said, drafts that hold no secret, the published schema.
import { openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import {
  pinExecutable,
  planLaunch,
  type LaunchPlan,
  type SallyportError,
} from '../../src/index.js';
import {
  gatherEvidence,
  parseProfile,
  profileFrom,
  profileJsonSchema,
  readProfile,
  review,
  strictProfile,
  type Profile,
} from '../../src/review.js';
import { thrown } from '../support/errors.js';
import { makeScratch, root } from '../support/fixtures.js';
import { approveRich } from './support.js';

const { approved: base } = approveRich();
const good = (): Profile => structuredClone(base);

/** The message with which a change of a good profile is refused. */
function refusalOf(change: (profile: Record<string, unknown>) => void): SallyportError {
  const profile = good();
  change(profile as unknown as Record<string, unknown>);
  return thrown(() => parseProfile(profile));
}

describe('parseProfile', () => {
  it('takes a good one as it is', () => {
    expect(parseProfile(good())).toEqual(good());
  });

  it.each<[string, (profile: Record<string, unknown>) => void, string]>([
    [
      'a name that nearly is one',
      (profile) => Object.assign(profile, { chanels: {} }),
      'chanels is unknown: did you mean channels?',
    ],
    [
      'the same further in',
      (profile) => Object.assign(profile['executable'] as object, { sha265: 'x' }),
      'executable.sha265 is unknown: did you mean sha256?',
    ],
    [
      'in a list',
      (profile) => Object.assign((profile['descriptors'] as object[])[0]!, { reson: 'x' }),
      'descriptors.0.reson is unknown: did you mean reason?',
    ],
    [
      'in the rule of an operand',
      (profile) =>
        Object.assign((profile['arguments'] as Array<{ rule: object }>)[1]!.rule, { withn: '/x' }),
      'withn is unknown: did you mean within?',
    ],
    [
      'nothing near',
      (profile) => Object.assign(profile['cwd'] as object, { colour: 'red' }),
      'cwd.colour is unknown: write one of path, within',
    ],
    [
      'a relative path',
      (profile) => Object.assign(profile['executable'] as object, { path: 'sort' }),
      'executable.path: must be an absolute path',
    ],
    [
      'a shell as native',
      (profile) => Object.assign(profile['executable'] as object, { path: '/bin/sh' }),
      'is a shell',
    ],
    [
      'a variable twice',
      (profile) =>
        Object.assign((profile['environment'] as { fixed: object }).fixed, { LANG: 'C' }),
      'LANG stands there twice',
    ],
    [
      'an object that nobody names',
      (profile) => Object.assign(profile['channels'] as object, { stdin: { channel: 'inherit' } }),
      'must say which object',
    ],
    [
      'no reason',
      (profile) => Object.assign((profile['descriptors'] as object[])[0]!, { reason: '' }),
      'descriptors.0.reason: must say why',
    ],
    [
      'an attribute that there is not',
      (profile) => Object.assign(profile['launch'] as object, { attributes: { umsak: 0o77 } }),
      'launch.attributes.umsak is unknown: did you mean umask?',
    ],
    [
      'an attribute that every object has',
      (profile) => Object.assign(profile['launch'] as object, { attributes: { valueOf: 1 } }),
      'launch.attributes.valueOf is unknown',
    ],
    [
      'an attribute in words',
      (profile) => Object.assign(profile['launch'] as object, { attributes: { umask: 'strict' } }),
      'launch.attributes.umask',
    ],
    [
      'a limit without its two values',
      (profile) =>
        Object.assign(profile['launch'] as object, { attributes: { limits: { nofile: 64 } } }),
      'launch.attributes.limits.nofile',
    ],
    [
      'an object of a channel that has none',
      (profile) =>
        Object.assign((profile['channels'] as { stdout: object }).stdout, {
          object: { kind: 'file', access: 'write' },
        }),
      "channels.stdout: 'pipe' has no object",
    ],
    [
      'a fixed variable that no object can hold',
      (profile) =>
        Object.defineProperty((profile['environment'] as { fixed: object }).fixed, '__proto__', {
          value: 'x',
          enumerable: true,
        }),
      'environment.fixed.__proto__: cannot be fixed',
    ],
    [
      'a containment that there is not',
      (profile) => Object.assign(profile['launch'] as object, { containment: ['cgruop'] }),
      'launch.containment.0',
    ],
    ['another format', (profile) => Object.assign(profile, { profile: 2 }), 'profile'],
  ])('%s', (_what, change, message) => {
    const error = refusalOf(change);
    expect(error).toMatchObject({ code: 'ERR_SALLYPORT_INVALID_PROFILE', stage: 'review' });
    expect(error.message).toContain(message);
  });

  it.each([[null], [[]], ['text'], [5], [new Map()]])('%s is none', (value) => {
    expect(thrown(() => parseProfile(value)).message).toContain('must be an object');
  });
});

describe('readProfile', () => {
  it('says what cannot be read and what is no JSON, and quotes nothing', () => {
    const file = path.join(makeScratch(), 'profile.json');
    expect(thrown(() => readProfile(file)).message).toContain('ENOENT');
    writeFileSync(file, '{ made-up-secret');
    const { message } = thrown(() => readProfile(file));
    expect(message).toContain('is no JSON');
    expect(message).not.toContain('made-up');
    writeFileSync(file, JSON.stringify(good()));
    expect(readProfile(file)).toEqual(good());
  });

  it('of a path with a NUL is a mistake of the caller, who is not quoted', () => {
    const error = thrown(() => readProfile('/made-up\0path'));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.stagePath).toBe('path');
    expect(error.message).not.toContain('made-up');
  });

  /** The message with which the text, made of a good profile, is refused. */
  const refusalOfText = (text: string | Buffer): string => {
    const file = path.join(makeScratch(), 'profile.json');
    writeFileSync(file, text);
    return thrown(() => readProfile(file)).message.replace(`${file}: `, '');
  };
  const text = JSON.stringify(good());

  it.each([
    ['at the top', text.replace(/}$/, ',"cwd":{"path":"/x"}}'), 'cwd'],
    ['further in', text.replace('"fixed":{', '"fixed":{"A":"1","A":"1",'), 'environment.fixed.A'],
    ['escaped', text.replace('"fixed":{', '"fixed":{"A":"","\\u0041":"",'), 'environment.fixed.A'],
    [
      'in a list',
      text.replace('"descriptors":[{', '"descriptors":[{},{"target":[{}],"target":5,'),
      'descriptors.1.target',
    ],
    [
      'after quotes',
      text.replace('"fixed":{', '"fixed":{"B":"\\\\\\"{","B":"",'),
      'environment.fixed.B',
    ],
  ])(
    'refuses a name that stands twice %s: people and programs may read different ones',
    (...at) => {
      const [, twice, where] = at;
      expect(JSON.parse(twice)).toBeTypeOf('object');
      expect(refusalOfText(twice)).toBe(`${where} stands there twice`);
    },
  );

  it('takes the same name in several objects, and a string that looks like names', () => {
    const file = path.join(makeScratch(), 'profile.json');
    const profile = good();
    profile.environment.fixed['JSON'] = '{"a":1,"a":[1,"a\\"]}';
    writeFileSync(file, `\ufeff${JSON.stringify(profile, null, 2)}\r\n`);
    expect(readProfile(file)).toEqual(profile);
  });

  it('refuses bytes that are no UTF-8: as text they would be those of another name', () => {
    const at = text.indexOf('LANG');
    const bytes = Buffer.from(text);
    bytes[at] = 0xff;
    expect(refusalOfText(bytes)).toBe('is no UTF-8');
  });

  it('is done with whatever stands in it about as fast as it is read, and says little of it', () => {
    const many = Array.from({ length: 200_000 }, (_, index) => `A${index}`);
    const fixed = many.map((name) => `"${name}":"",`).join('');
    const file = path.join(makeScratch(), 'profile.json');
    // Each of these took from seconds to minutes: a test may take half of one.
    writeFileSync(file, text.replace('"fixed":{', `"fixed":{${fixed}`));
    expect(Object.keys(readProfile(file).environment.fixed).length).toBeGreaterThan(200_000);
    const unknown = text.replace('"profile":1', `${fixed}"profile":1`);
    expect(refusalOfText(unknown)).toMatch(/^A0 is unknown.*; 199997 more$/);
    const often = many.slice(0, 20_000).map(() => '{"x":1}');
    expect(refusalOfText(text.replace('"passed":[', `"passed":[${often.join()},`))).toMatch(
      /passed\.0\.x is unknown.*; \d+ more$/,
    );
    const groups = refusalOf(({ launch }) =>
      Object.assign(launch as object, { attributes: { groups: many } }),
    );
    expect(groups.message).toMatch(/launch\.attributes\.groups.*; 199997 more$/);
    const long = 'a'.repeat(10_000_000);
    expect(
      refusalOfText(text.replace('"profile":1', `"${long}":1,"profile":1`)).length,
    ).toBeLessThan(1_000);
  });
});

it('holds for a file whose name is no UTF-8: another one has the same as text', () => {
  const directory = makeScratch();
  const [one, other] = [0xfe, 0xff].map((byte) => {
    const file = Buffer.concat([Buffer.from(path.join(directory, 'in')), Buffer.from([byte])]);
    writeFileSync(file, '');
    return openSync(file, 'r');
  }) as [number, number];
  const plan = (fd: number): LaunchPlan =>
    planLaunch('/usr/bin/sort', [], { env: {}, cwd: '/', stdio: fd, verify: 'at-exec' });
  const approved = profileFrom(plan(one));
  const decide = (fd: number): string =>
    review(plan(fd), { approved, evidence: gatherEvidence(plan(fd)) }).decision;
  expect([decide(one), decide(other)]).toEqual(['hold', 'hold']);
  const shown = plan(one).descriptors[0]?.object?.target ?? '';
  const expected = { kind: 'file', access: 'read', path: shown } as const;
  const pass = [{ fd: other, as: 3, expect: expected }];
  expect(thrown(() => planLaunch('/usr/bin/sort', [], { pass })).message).toMatch(
    /may be any name that is no UTF-8: give dev and ino instead$/,
  );
  // What tells them apart decides.
  const { inode } = plan(one).descriptors[0]!.object!;
  for (const name of ['stdin', 'stdout', 'stderr'] as const) {
    const { path: _path, ...object } = approved.channels![name].object!;
    approved.channels![name].object = { ...object, inode };
  }
  expect([decide(one), decide(other)]).toEqual(['accept', 'reject']);
});

describe('profileFrom', () => {
  it('gives a profile that accepts the launch it was drafted from', () => {
    const { plan } = approveRich();
    const drafted = parseProfile(JSON.parse(JSON.stringify(profileFrom(plan))));
    expect(review(plan, { approved: drafted, evidence: gatherEvidence(plan) })).toMatchObject({
      decision: 'accept',
    });
  });

  it('keeps a variable whose name no fixed one can have', () => {
    const env = JSON.parse('{"__proto__":"x","CI":"1"}') as Record<string, string>;
    const plan = planLaunch('/usr/bin/sort', [], { env, cwd: '/' });
    expect(parseProfile(profileFrom(plan)).environment).toMatchObject({
      fixed: { CI: '1' },
      passed: [{ name: '__proto__' }],
    });
  });

  it('holds no secret: what looks like one is granted, or an operand', () => {
    const secret = 'made-up-secret-0123456789';
    const ours = { HOME: '/home/me' };
    const plan = planLaunch('/usr/bin/sort', ['-r', secret, 'https://me:made-up-secret@host/x'], {
      env: { API_TOKEN: 'x', LANG: 'C', HOME: '/home/me', OTHER: secret, CI: '1' },
    });
    const drafted = profileFrom(plan, ours);
    expect(JSON.stringify(drafted)).not.toContain('made-up-secret');
    expect(drafted.environment.granted.map(({ name }) => name)).toEqual(['API_TOKEN', 'OTHER']);
    expect(drafted.environment.passed.map(({ name }) => name)).toEqual(['LANG', 'HOME']);
    expect(drafted.environment.fixed).toEqual({ CI: '1' });
    expect(drafted.arguments).toMatchObject(['-r', { operand: 'argument 2' }, {}]);
  });
});

describe('strictProfile', () => {
  const strict = (): Profile =>
    strictProfile({ executable: '/usr/bin/sort', environment: { LANG: 'C' }, cwd: '/' });
  const decide = (file: string, args: string[], options: object): string => {
    const plan = planLaunch(file, args, {
      env: { LANG: 'C' },
      cwd: '/',
      verify: 'at-exec',
      ...options,
    });
    return review(plan, { approved: strict(), evidence: gatherEvidence(plan) }).decision;
  };

  it('accepts null, pipe and pipe, and nothing else', () => {
    expect(decide('/usr/bin/sort', [], {})).toBe('accept');
    expect(decide('/usr/bin/sort', [], { stdio: 'inherit' })).toBe('reject');
    expect(decide('/usr/bin/sort', ['-r'], {})).toBe('reject');
    expect(decide('/usr/bin/sort', [], { env: { LANG: 'C', CI: '1' } })).toBe('reject');
    expect(decide('/usr/bin/sort', [], { pass: [openSync('/etc/hosts', 'r')] })).toBe('reject');
    expect(decide('/usr/bin/sort', [], { noNewPrivileges: false })).toBe('reject');
    expect(decide('/usr/bin/sort', [], { verify: 'after-exec' })).toBe('hold');
  });

  it('takes what takes something away, and nothing that may give it', () => {
    const attributes = (options: object): string => decide('/usr/bin/sort', [], options);
    expect(attributes({ umask: 0o77, limits: { core: 0 }, nice: 5 })).toBe('accept');
    expect(attributes({ umask: 0o22 })).toBe('accept');
    for (const umask of [0, 0o2, 0o20]) expect(attributes({ umask })).toBe('reject');
    expect(attributes({ limits: { core: 'unlimited' } })).toBe('reject');
    // Less than it has, and what it may take back: nobody can tell.
    expect(attributes({ limits: { core: { soft: 0, hard: 'unlimited' } } })).toBe('hold');
  });

  it('takes a limit that is no higher than the one that there is without it', () => {
    const [, soft, hard] = /^Max open files +(\d+) +(\d+)/m
      .exec(readFileSync('/proc/self/limits', 'utf8'))!
      .map(Number) as [number, number, number];
    const attributes = (nofile: object): string =>
      decide('/usr/bin/sort', [], { limits: { nofile } });
    expect(attributes({ soft, hard })).toBe('accept');
    expect(attributes({ soft: 10, hard: 20 })).toBe('accept');
    expect(attributes({ soft, hard: hard + 1 })).toBe('reject');
    expect(attributes({ soft: hard + 1, hard: hard + 1 })).toBe('reject');
    const plan = planLaunch('/usr/bin/sort', [], {
      env: { LANG: 'C' },
      cwd: '/',
      verify: 'at-exec',
      limits: { nofile: 10 },
    });
    const { launcher, ...evidence } = gatherEvidence(plan);
    const { limits, ...unknown } = launcher!;
    expect(limits).toEqual({ nofile: { soft, hard } });
    const held = review(plan, { approved: strict(), evidence: { ...evidence, launcher: unknown } });
    expect(held.decision).toBe('hold');
  });

  it('takes a number that may be read as an option only where the place says so', () => {
    const given = planLaunch('/usr/bin/sort', ['-5'], { env: {}, cwd: '/', verify: 'at-exec' });
    const decideBy = (mayBeOption: boolean): string => {
      const place = { operand: 'count', rule: { kind: 'integer' }, mayBeOption } as const;
      const approved: Profile = {
        ...strictProfile({ executable: '/usr/bin/sort', environment: {}, cwd: '/' }),
        arguments: [place],
      };
      return review(given, { approved, evidence: gatherEvidence(given) }).decision;
    };
    expect(decideBy(false)).toBe('reject');
    expect(decideBy(true)).toBe('accept');
  });

  it('takes a number that is written in one way: 010 is 8 to some programs, and 10 to us', () => {
    const decideOf = (written: string): string => {
      const plan = planLaunch('/usr/bin/sort', [written], {
        env: {},
        cwd: '/',
        verify: 'at-exec',
      });
      const rule = { kind: 'integer', min: -20, max: 20 } as const;
      const approved: Profile = {
        ...strictProfile({ executable: '/usr/bin/sort', environment: {}, cwd: '/' }),
        arguments: [{ operand: 'count', rule, mayBeOption: true }],
      };
      return review(plan, { approved, evidence: gatherEvidence(plan) }).decision;
    };
    for (const written of ['0', '7', '10', '20', '-1', '-20']) {
      expect([written, decideOf(written)]).toEqual([written, 'accept']);
    }
    for (const written of ['010', '007', '00', '-0', '-010', '+1', '1e1', '0x1', '1\n', '１']) {
      expect([written, decideOf(written)]).toEqual([written, 'reject']);
    }
  });

  it('holds where a containment was approved and none is known', () => {
    const plan = planLaunch('/usr/bin/sort', [], { env: {}, cwd: '/', verify: 'at-exec' });
    const approved = strictProfile({ executable: '/usr/bin/sort', environment: {}, cwd: '/' });
    approved.launch.containment = ['init', 'cgroup'];
    const decideWith = (containment: object): string =>
      review(plan, { approved, evidence: { ...gatherEvidence(plan), ...containment } }).decision;
    expect(decideWith({})).toBe('hold');
    expect(decideWith({ containment: 'init' })).toBe('accept');
    expect(decideWith({ containment: 'group' })).toBe('reject');
  });

  it('refuses shells and scripts', () => {
    expect(thrown(() => strictProfile({ executable: '/bin/sh', cwd: '/' })).code).toBe(
      'ERR_SALLYPORT_INVALID_PROFILE',
    );
    const script = path.join(makeScratch(), 'script');
    writeFileSync(script, '#!/bin/sh\n', { mode: 0o755 });
    const approved = strictProfile({ executable: script, cwd: '/' });
    const plan = planLaunch(script, [], { env: {}, cwd: '/', verify: 'at-exec' });
    const { gates } = review(plan, { approved, evidence: gatherEvidence(plan) });
    expect(gates[0]).toMatchObject({ name: 'executable', decision: 'reject' });
    expect(gates[0]?.differences[0]?.asked).toContain('/bin/sh');
  });

  it('refuses a shell by another name, by where its path leads', () => {
    const tool = path.join(makeScratch(), 'tool');
    symlinkSync('/bin/sh', tool);
    const approved = strictProfile({ executable: tool, environment: {}, cwd: '/' });
    const plan = planLaunch(tool, [], { env: {}, cwd: '/', verify: 'at-exec' });
    const { gates } = review(plan, { approved, evidence: gatherEvidence(plan) });
    expect(gates[0]).toMatchObject({ name: 'executable', decision: 'reject' });
    expect(gates[0]?.differences).toMatchObject([{ path: 'executable.kind', asked: 'a shell' }]);
  });

  it('holds where a hash was approved and nothing is pinned, rejects another hash', async () => {
    using pinned = await pinExecutable('/usr/bin/sort');
    const { sha256 } = pinned.identity;
    const approved = strictProfile({
      executable: '/usr/bin/sort',
      sha256,
      environment: { LANG: 'C' },
      cwd: '/',
    });
    const base = { env: { LANG: 'C' }, cwd: '/', verify: 'at-exec' } as const;
    const gate = (plan: ReturnType<typeof planLaunch>, by = approved) =>
      review(plan, { approved: by, evidence: gatherEvidence(plan) }).gates[0]?.decision;
    expect(gate(planLaunch('/usr/bin/sort', [], { ...base, pinned }))).toBe('accept');
    expect(gate(planLaunch('/usr/bin/sort', [], base))).toBe('hold');
    const other = structuredClone(approved);
    other.executable.sha256 = '0'.repeat(64);
    expect(gate(planLaunch('/usr/bin/sort', [], { ...base, pinned }), other)).toBe('reject');
  });
});

it('the published schema is the one that is checked', () => {
  const published = JSON.parse(
    readFileSync(path.join(root, 'schema/profile.v1.json'), 'utf8'),
  ) as object;
  // Otherwise: node dist/cli/main.js profile schema schema/profile.v1.json
  expect(published).toEqual(profileJsonSchema());
  expect(JSON.stringify(published)).not.toMatch(/"additionalProperties":true/);
});
