// describeEnvironment: what looks like a grant and why, and that no value is ever told.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { createEnvironment, describeEnvironment } from '../../src/index.js';
import { maskValue } from '../../src/environment/mask.js';
import { runCli } from '../cli/command-line.js';
import { expectWithout } from '../support/errors.js';
import { inNode } from '../support/node-script.js';

// Made up, each in the form of the real thing.
const VALUES = {
  AWS_ACCESS_KEY_ID: 'AKIAQ3EGNIJ7H4ZDLW5C',
  AWS_SECRET_ACCESS_KEY: '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',
  SOME_STRING: 'ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8',
  OTHER_STRING: 'npm_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8',
  SETTINGS: 'postgres://app:t0p-s3cret-pw@db.example:5432/app?sslmode=require',
  SESSION: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N',
  PEM: '-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAm4fW\n-----END RSA PRIVATE KEY-----',
  SHORT_PASSWORD: 'hunter2',
  SSH_AUTH_SOCK: '/tmp/ssh-Xa81kd/agent.41',
};

const HARMLESS = {
  PATH: '/usr/bin',
  HOME: '/root',
  LANG: 'C',
  KEYBOARD: 'us',
  MONKEY: 'x',
  PWD: '/',
};

describe('what looks like a grant', () => {
  it('is found by name and by the shape of the value', async () => {
    const { inherited } = await describeEnvironment({ ...VALUES, ...HARMLESS });
    expect(inherited).toMatchObject({ count: 15, grants: 9 });
    const why = new Map(inherited.suspects.map(({ name, because }) => [name, because.join()]));
    expect([...why.keys()]).toEqual(Object.keys(VALUES).sort());
    expect(why.get('AWS_ACCESS_KEY_ID')).toMatch(/by its name.*by its value: an access key of AWS/);
    expect(why.get('AWS_SECRET_ACCESS_KEY')).toContain("by secretlint's rule aws");
    expect(why.get('SOME_STRING')).toBe("by its value: GITHUB_TOKEN by secretlint's rule github");
    expect(why.get('OTHER_STRING')).toContain("by secretlint's rule npm");
    expect(why.get('SETTINGS')).toContain('a URL with a password in it');
    expect(why.get('SESSION')).toContain('a JSON web token');
    expect(why.get('PEM')).toContain('a private key');
    expect(why.get('SHORT_PASSWORD')).toBe('by its name: a password');
    expect(why.get('SSH_AUTH_SOCK')).toContain('signs with every loaded key');
  });

  it('is the same among thousands, whatever stands beside it, and takes no longer for that', async () => {
    const many: Record<string, string> = {};
    for (let i = 0; i < 4000; i++) many[`V${i}`] = i % 2 === 0 ? `https://h${i}/a` : `a:b@c${i}`;
    const whys = (all: Awaited<ReturnType<typeof describeEnvironment>>): string[] =>
      all.inherited.suspects.map(({ name, because }) => `${name} ${because.join()}`);
    const few = whys(await describeEnvironment(VALUES));
    const begun = performance.now();
    const off = { A_COMMENT: '// secretlint-disable' };
    expect(whys(await describeEnvironment({ ...off, ...many, ...VALUES }))).toEqual(few);
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it('is shown masked: no value in whatever form, and none of a short one', async () => {
    const description = await describeEnvironment(VALUES);
    const shown = new Map(description.inherited.suspects.map((it) => [it.name, it.shown]));
    expect(Object.fromEntries(shown)).toEqual({
      AWS_ACCESS_KEY_ID: 'AKIA…',
      AWS_SECRET_ACCESS_KEY: 'p9Xk…',
      SOME_STRING: 'ghp_…',
      OTHER_STRING: 'npm_…',
      SETTINGS: 'postgres://…@db.example…',
      SESSION: 'eyJh…',
      PEM: '----…',
      SHORT_PASSWORD: '…',
      SSH_AUTH_SOCK: '/tmp…',
    });
    const text = JSON.stringify(description);
    for (const value of [...Object.values(VALUES), 't0p-s3cret-pw', 'app:', '5432/app'])
      expect(text).not.toContain(JSON.stringify(value).slice(1, -1));
  });

  it('is also what does more than inform, apart from the count of grants', async () => {
    const { inherited } = await describeEnvironment({ LD_PRELOAD: '/x.so', NODE_OPTIONS: '-r x' });
    expect(inherited).toMatchObject({
      count: 2,
      grants: 0,
      suspects: [{ flag: { kind: 'runs-code' } }, { flag: { kind: 'runs-code' } }],
    });
  });

  it('stands beside what the run receives', async () => {
    const before = process.env;
    process.env = { ...VALUES, LANG: 'C' };
    try {
      const run = createEnvironment({ allow: [{ name: 'SOME_STRING', reason: 'to push' }] });
      const { inherited, received } = await describeEnvironment(process.env, run);
      expect(inherited.suspects.filter((it) => it.received).map(({ name }) => name)).toEqual([
        'SOME_STRING',
      ]);
      expect(received).toMatchObject({
        count: 3,
        names: ['LANG', 'PATH', 'SOME_STRING'],
        fixed: ['PATH'],
        passedThrough: ['LANG'],
        grants: [{ name: 'SOME_STRING', reason: 'to push', origin: 'allowed' }],
      });
    } finally {
      process.env = before;
    }
  });

  it('a malformed environment is refused without telling a value', async () => {
    const error = await describeEnvironment({ A: 1 } as never).catch((it: unknown) => it as Error);
    expect(error).toBeInstanceOf(TypeError);
    const other = await describeEnvironment({}, {} as never).catch((it: unknown) => it as Error);
    expect((other as Error).message).toContain('run: must be');
    expectWithout(error as Error, VALUES.SOME_STRING);
  });

  it('without secretlint the shapes of our own are looked for, and that is said', async () => {
    // The copy of the package has none.
    const { because, notTested } = await inNode(
      async ({ sallyport }, env) => {
        const { inherited, notTested } = await sallyport.describeEnvironment(env);
        return { because: inherited.suspects.map((it) => it.because.join()), notTested };
      },
      VALUES,
      { publicly: true },
    );
    expect(because.join()).not.toContain('secretlint');
    expect(because.join()).toContain('a URL with a password in it');
    expect(notTested.join()).toContain('@secretlint/core and its recommended rules could not be');
  });
});

describe('maskValue', () => {
  it.each([
    ['', '…'],
    ['fifteen-charact', '…'],
    ['sixteen-characte', 'sixt…'],
    ['😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀', '😀😀😀😀…'],
    ['\u001b[31mred and more text', '?[31…'],
    ['https://user:pw@host.example/path?token=1', 'https://…@host.example…'],
    ['https://token@[::1]:8080/x-path', 'https://…@[::1]…'],
    ['https://host.example/without-user', 'http…'],
    ['postgres://u:p/ss@host.example/db', 'post…'],
    ['postgres://u:a@b/c@host.example/db', 'post…'],
    ['postgres://u:p@ss@host.example/db', 'postgres://…@host.example…'],
    ['redis://:password@host', 'redis://…@host…'],
  ])('%j is shown as %j', (value, shown) => {
    expect(maskValue(value)).toBe(shown);
  });

  it('never shows a whole value, or more than four characters of what is no URL', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.webUrl()), (value) => {
        const shown = maskValue(value);
        if (value !== '…') expect(shown).not.toBe(value);
        if (shown.includes('@')) return;
        expect(Array.from(shown).length).toBeLessThanOrEqual(5);
      }),
    );
  });

  it('never shows user information', () => {
    const word = fc.stringMatching(/^[a-zA-Z0-9:@/?#.%-]{6,30}$/);
    fc.assert(
      fc.property(word, (secret) => {
        const shown = maskValue(`https://user:zz${secret}@host.example/database`);
        expect(shown).not.toContain(`zz${secret.slice(0, 2)}`);
        expect(shown.replace('@host.example…', '')).toMatch(/^(https:\/\/…|http…)/);
      }),
    );
  });
});

describe('sallyport env', () => {
  const env = { ...VALUES, CI: 'true', LD_LIBRARY_PATH: '/made/up' };

  it('prints counts, grants and what the run receives', async () => {
    const args = ['env', '--allow-env', 'CI:jest', '--env', 'SOME_STRING', '--', 'sh', '-c', 'x'];
    const { code, stdout, stderr } = await runCli(args, { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(
      '12 variables here would be inherited: 9 look like a credential, 1 more',
    );
    expect(stdout).toMatch(/SOME_STRING +ghp_… +gets it +by its value/);
    expect(stdout).toMatch(/AWS_ACCESS_KEY_ID +AKIA… +does not +by its name/);
    expect(stdout).toMatch(/LD_LIBRARY_PATH +… +does not +runs-code/);
    expect(stdout).toContain('3 variables in a run of /usr/bin/sh');
    expect(stdout).toContain('CI allowed: jest');
    for (const value of Object.values(VALUES)) expect(stdout).not.toContain(value);
  });

  it('--json is the description and the program', async () => {
    const { stdout } = await runCli(['env', '--json', 'true'], { env });
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      inherited: { count: 12, grants: 9 },
      received: { names: ['PATH'] },
      program: '/usr/bin/true',
    });
    for (const value of Object.values(VALUES)) expect(stdout).not.toContain(value);
  });

  it('a program that a run would not find is an error: 127', async () => {
    const { code, stderr } = await runCli(['env', 'no-such-program']);
    expect(code).toBe(127);
    expect(stderr).toContain('no-such-program');
  });
});
