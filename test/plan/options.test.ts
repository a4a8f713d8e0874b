// Options as a whole: known names, own properties, types, NUL, and no value in any message.
import { describe, expect, it } from 'vitest';

import { planLaunch } from '../../src/index.js';
import { takeOptions } from '../../src/plan/options.js';
import { expectWithout, thrown } from '../support/errors.js';

const secret = 'made-up-value-90aa';

type Loose = (...all: unknown[]) => unknown;
const plan = planLaunch as unknown as Loose;
const expecting = (more: object): object => ({
  pass: [{ fd: 0, as: 3, expect: { kind: 'socket', access: 'both', ...more } }],
});

describe('NUL', () => {
  it.each<[string, unknown[], string]>([
    ['the program', [`true\0${secret}`], 'file'],
    ['an argument', ['true', ['ok', `x\0${secret}`]], 'args[1]'],
    ['argv0', ['true', [], { argv0: `\0${secret}` }], 'argv0'],
    ['cwd', ['true', [], { cwd: `/tmp\0${secret}` }], 'cwd'],
    ['a value', ['true', [], { env: { A: `\0${secret}` } }], 'env.A'],
    ['a name', ['true', [], { env: { [`A\0${secret}`]: 'x' } }], 'name 1 of env'],
    ['an expected path', ['true', [], expecting({ path: `/\0${secret}` })], 'expect.path'],
    ['an expected address', ['true', [], expecting({ address: `\0${secret}` })], 'expect.address'],
  ])('in %s is a TypeError that names the place', (_, args, position) => {
    const error = thrown(() => plan(...args));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain(position);
    expect(error.message).toContain('NUL');
    expectWithout(error, secret);
  });

  it('in a cwd given as a URL', () => {
    const error = thrown(() => plan('true', [], { cwd: new URL('file:///tmp/%00x') }));
    expect(error).toBeInstanceOf(TypeError);
  });
});

describe('types', () => {
  it.each<[string, unknown[], string]>([
    ['no program', [], 'file'],
    ['an empty program', [''], 'file'],
    ['a program that is no string', [42], 'file'],
    ['args that are no array', ['true', `--token=${secret}`], 'args'],
    ['an argument that is no string', ['true', ['ok', { [secret]: 1 }]], 'args[1]'],
    ['a hole among the arguments', ['true', ['ok', undefined]], 'args[1]'],
    ['options that are no object', ['true', [], secret], 'options'],
    ['cwd that is no string', ['true', [], { cwd: 42 }], 'cwd'],
    ['an empty cwd', ['true', [], { cwd: '' }], 'cwd'],
    ['argv0 that is no string', ['true', [], { argv0: [secret] }], 'argv0'],
    ['session', ['true', [], { session: 'own' }], 'session'],
    ['foreground without a group', ['true', [], { foreground: 0 }], 'foreground'],
    [
      'foreground not in the table',
      ['true', [], { session: 'group', foreground: 9 }],
      'foreground',
    ],
  ])('refuses %s', (_, args, says) => {
    const error = thrown(() => plan(...args));
    expect(error.code).toMatch(/^ERR_SALLYPORT_/);
    expect(error.stage).toBe('plan');
    expect(error.message).toContain(says);
    expectWithout(error, secret);
  });

  it('an unknown option is told what to write instead', () => {
    for (const [name, says] of [
      ['shell', '/bin/sh'],
      ['detached', 'session'],
      ['environment', 'env'],
      ['stdout', 'write stdio'],
      ['input', 'child.stdin'],
      ['encoding', 'setEncoding'],
      ['colour', 'write one of'],
      ['toString', 'write one of'],
    ] as const) {
      const error = thrown(() => plan('true', [], { [name]: secret }));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.code).toBe('ERR_SALLYPORT_UNKNOWN_OPTION');
      expect(error.message).toContain(name);
      expect(error.message).toContain(says);
      expectWithout(error, secret);
    }
  });

  it.each([undefined, null])('%s means left out, for every option', (absent) => {
    const names = ['stdio', 'pass', 'env', 'cwd', 'argv0', 'session', 'foreground'];
    const options = Object.fromEntries(names.map((name) => [name, absent]));
    expect(plan('true', absent, options)).toEqual(plan('true'));
  });
});

describe('takeOptions', () => {
  it('takes own properties once, without a prototype', () => {
    let asked = 0;
    const options = Object.create({ cwd: '/evil', session: 'inherit' }) as object;
    Object.defineProperty(options, 'argv0', {
      enumerable: true,
      get: () => {
        asked += 1;
        return 'name';
      },
    });
    const taken = takeOptions(options);
    expect(Object.getPrototypeOf(taken)).toBeNull();
    expect(taken).toEqual({ argv0: 'name' });
    expect([taken.argv0, taken.argv0, asked]).toEqual(['name', 'name', 1]);
  });
});
