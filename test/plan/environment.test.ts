// createEnvironment and env: what becomes of each form, and what is refused without telling values.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createEnvironment, Environment } from '../../src/plan/create-environment.js';
import { resolveEnvironment } from '../../src/plan/environment.js';
import { expectWithout, thrown } from '../support/errors.js';

const secret = 'made-up-value-51d0';
const before = process.env;

beforeEach(() => {
  process.env = { HOME: '/made/up', LANG: 'C', TERM: 'dumb', CI: 'true', API_TOKEN: secret };
});

afterEach(() => {
  process.env = before;
});

const plain = (variables: Readonly<Record<string, string>>) => ({ ...variables });

describe('createEnvironment', () => {
  it('is PATH and what prints: nothing else of the parent', () => {
    expect(plain(createEnvironment().variables)).toEqual({
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LANG: 'C',
      TERM: 'dumb',
    });
  });

  it('allow passes what the parent has, by exact name; set wins over all', () => {
    const { variables } = createEnvironment({
      allow: ['CI', 'API_TOKE', 'api_token', 'ABSENT'],
      set: { LANG: 'de', PATH: '/opt/bin', NEW: '' },
    });
    expect(plain(variables)).toEqual({
      PATH: '/opt/bin',
      LANG: 'de',
      TERM: 'dumb',
      CI: 'true',
      NEW: '',
    });
  });

  it('is pure and frozen', () => {
    const request = { allow: ['CI'], set: { X: '1' } };
    const copy = structuredClone(request);
    const environment = createEnvironment(request);
    expect(request).toEqual(copy);
    expect(environment).toBeInstanceOf(Environment);
    expect(Object.isFrozen(environment)).toBe(true);
    expect(Object.isFrozen(environment.variables)).toBe(true);
    expect(process.env['X']).toBeUndefined();
    request.set.X = '2';
    process.env['CI'] = 'changed';
    expect(environment.variables['X']).toBe('1');
    expect(environment.variables['CI']).toBe('true');
  });

  it.each([
    ['a name beside allow and set', { FOO: secret }, 'FOO'],
    ['an empty name', { allow: [''] }, 'allow[0]'],
    ["a name with '='", { allow: ['CI', `A=${secret}`] }, 'allow[1]'],
    ['a name with NUL', { allow: [`A\0${secret}`] }, 'allow[0]'],
    ['a name that is no string', { allow: [1] }, 'allow[0]'],
    ['allow that is no array', { allow: 'CI' }, 'allow'],
    ['a value that is no string', { set: { A: { [secret]: secret } } }, 'set.A'],
    ['a value with NUL', { set: { A: `x\0${secret}` } }, 'set.A'],
  ])('refuses %s', (_, request, position) => {
    const error = thrown(() => createEnvironment(request as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain(position);
    expectWithout(error, secret);
  });
});

describe('env', () => {
  it.each([
    ['nothing', undefined, 'default'],
    ['an Environment', createEnvironment({ set: { X: '1' } }), 'explicit'],
    ['an object', { X: '1' }, 'explicit'],
    ['inherit', 'inherit', 'inherit'],
  ])('%s', (_, env, source) => {
    const resolved = resolveEnvironment(env);
    expect(resolved.source).toBe(source);
    expect(Object.isFrozen(resolved.variables)).toBe(true);
    if (source === 'inherit') expect(plain(resolved.variables)).toEqual({ ...process.env });
    if (source === 'explicit') expect(resolved.variables['X']).toBe('1');
  });

  it('undefined and null are absent; only own enumerable strings count', () => {
    const env = Object.create({ INHERITED: 'x' }) as Record<string, unknown>;
    Object.assign(env, { A: 'a', B: undefined, C: null, '': undefined });
    Object.defineProperty(env, 'HIDDEN', { value: 'x', enumerable: false });
    expect(plain(resolveEnvironment(env).variables)).toEqual({ A: 'a' });
  });

  it('a getter is asked once', () => {
    let asked = 0;
    const env = {
      get A() {
        asked += 1;
        return asked === 1 ? 'first' : `x\0${secret}`;
      },
    };
    expect(resolveEnvironment(env).variables['A']).toBe('first');
    expect(asked).toBe(1);
  });

  it('a variable may be called __proto__, constructor or toString', () => {
    const env = JSON.parse('{"__proto__":"1","constructor":"2","toString":"3"}') as object;
    const { variables } = resolveEnvironment(env);
    expect(Object.entries(variables)).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
      ['toString', '3'],
    ]);
    expect(JSON.stringify(variables)).toBe('{"__proto__":"1","constructor":"2","toString":"3"}');
  });

  it.each([
    ['a number', { A: 1 }, 'env.A'],
    ['a boolean', { A: true }, 'env.A'],
    ['an object', { A: { toString: () => secret } }, 'env.A'],
    ['an array', { A: [secret] }, 'env.A'],
    ['a function', { A: () => secret }, 'env.A'],
    ['a bigint', { A: 1n }, 'env.A'],
    ['a symbol', { A: Symbol(secret) }, 'env.A'],
    ['a String object', { A: new String(secret) }, 'env.A'],
    ['a NUL in a value', { OK: 'x', A: `12345\0${secret}` }, 'env.A'],
    ['an empty name', { A: 'x', '': secret }, 'name 2 of env'],
    ["a name with '='", { [`A=${secret}`]: secret }, 'name 1 of env'],
    ["a name that starts with '='", { [`=${secret}`]: secret }, 'name 1 of env'],
    ['a name with NUL', { [`A\0${secret}`]: secret }, 'name 1 of env'],
  ])('%s is a TypeError that names the position and not the value', (_, env, position) => {
    const error = thrown(() => resolveEnvironment(env));
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({
      code: 'ERR_SALLYPORT_INVALID_ENVIRONMENT',
      stage: 'plan',
      stagePath: position,
    });
    expect(error.message).toContain(position);
    expectWithout(error, secret);
  });

  it('says where in a value the NUL is', () => {
    expect(thrown(() => resolveEnvironment({ A: `12345\0x` })).message).toContain('position 5');
  });

  it.each([[42], ['none'], [true], [() => ({})], [Symbol('x')], [[`A=${secret}`]]])(
    'refuses %s as a whole',
    (env) => {
      const error = thrown(() => resolveEnvironment(env));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toMatch(/^env: /);
      expectWithout(error, secret);
    },
  );
});
