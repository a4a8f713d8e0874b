// createEnvironment for a run: workspace, grants with their reasons, presets, caches, credentials.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createEnvironment, type EnvironmentRequest } from '../../src/plan/create-environment.js';
import { describePlan } from '../../src/plan/describe.js';
import { flagName } from '../../src/plan/flagged-names.js';
import { CACHES, PRESETS } from '../../src/plan/presets.js';
import { planLaunch } from '../../src/index.js';
import { expectWithout, thrown } from '../support/errors.js';

const secret = 'made-up-value-7c3e';
const before = process.env;

beforeEach(() => {
  process.env = {
    HOME: '/home/somebody',
    PATH: '/opt/bin:/usr/bin',
    LANG: 'C',
    CI: 'true',
    API_TOKEN: secret,
    LD_PRELOAD: '/tmp/x.so',
    KUBECONFIG: '/home/somebody/.kube/config',
    HTTPS_PROXY: 'http://proxy:3128',
    NODE_OPTIONS: '--require /tmp/x.js',
    NODE_ENV: 'test',
    GIT_AUTHOR_NAME: 'Somebody',
  };
});

afterEach(() => {
  process.env = before;
});

const plain = (request: EnvironmentRequest) => ({ ...createEnvironment(request).variables });

const forRun = { runId: 'b71e04', workspace: '/work/place' };

describe('with a workspace', () => {
  it('is what S2 and S3 say, a hint on the metadata service, and nothing else', () => {
    expect(plain(forRun)).toEqual({
      LANG: 'C',
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: '/work/place/.home',
      TMPDIR: '/work/place/.tmp',
      XDG_CACHE_HOME: '/work/place/.home/.cache',
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
      AGENT_RUN_ID: 'b71e04',
      AWS_EC2_METADATA_DISABLED: 'true',
    });
    const { record } = createEnvironment(forRun);
    expect(record).toMatchObject({ ...forRun, passedThrough: ['LANG'], grants: [], absent: [] });
    expect([...record.fixed, ...record.passedThrough].sort()).toEqual(
      Object.keys(plain(forRun)).sort(),
    );
  });

  it('takes a URL and a relative path; the root too', () => {
    expect(plain({ ...forRun, workspace: new URL('file:///a%20b/') }).HOME).toBe('/a b/.home');
    expect(plain({ ...forRun, workspace: 'x' }).HOME).toBe(`${process.cwd()}/x/.home`);
    expect(plain({ ...forRun, workspace: '/' }).TMPDIR).toBe('/.tmp');
  });

  it('is the directory in which the child starts, unless cwd says another', () => {
    const env = createEnvironment({ runId: 'x', workspace: '/usr' });
    expect(planLaunch('true', [], { env }).cwd).toBe('/usr');
    expect(planLaunch('true', [], { env, cwd: '/' }).cwd).toBe('/');
    expect(planLaunch('true', [], { env }).session).toBe('new');
  });

  it('hints at the metadata service where it has no credentials of AWS, and says nothing else', () => {
    const hint = (request: EnvironmentRequest) => plain(request)['AWS_EC2_METADATA_DISABLED'];
    expect(hint({ runId: 'x' })).toBe('true');
    expect(hint({})).toBeUndefined();
    expect(hint({ runId: 'x', set: { AWS_PROFILE: 'mine' } })).toBeUndefined();
    expect(hint({ runId: 'x', set: { AWS_EC2_METADATA_DISABLED: 'false' } })).toBe('false');
    const credentials = { environment: { AWS_EC2_METADATA_DISABLED: 'true', TOKEN: 'made up' } };
    const { variables, record } = createEnvironment({ runId: 'x', credentials });
    expect(variables).toMatchObject(credentials.environment);
    expect(record.fixed).toContain('AWS_EC2_METADATA_DISABLED');
  });

  it('runId alone is told; workspace alone is a mistake', () => {
    expect(plain({ runId: 'x' })).toMatchObject({ AGENT_RUN_ID: 'x' });
    expect(thrown(() => createEnvironment({ workspace: '/x' })).message).toContain('runId');
  });

  it.each([
    ['a run id with a blank', { runId: 'a b' }, 'runId'],
    ['an empty run id', { runId: '' }, 'runId'],
    ['a number as run id', { runId: 7 }, 'runId'],
    ['an empty workspace', { runId: 'x', workspace: '' }, 'workspace'],
    ['a NUL in workspace', { runId: 'x', workspace: '/a\0b' }, 'workspace'],
    ['a workspace of another kind', { runId: 'x', workspace: 1 }, 'workspace'],
    ['a pattern', { allow: ['AWS_*'] }, 'allow[0]'],
    ['an entry without a name', { allow: [{ reason: 'x' }] }, 'allow[0]'],
    ['an entry with more', { allow: [{ name: 'CI', why: 'x' }] }, 'allow[0].why'],
    ['an empty reason', { allow: [{ name: 'CI', reason: ' ' }] }, 'allow[0].reason'],
    ['an unknown preset', { presets: ['cloud'] }, 'presets[0]'],
    ['a preset by a name of Object', { presets: ['toString'] }, 'presets[0]'],
    ['an unknown cache', { caches: [{ name: 'pip' }] }, 'caches[0]'],
    ['a set entry without a value', { set: { A: { reason: 'x' } } }, 'set.A'],
    ['a set entry of another kind', { set: { A: { value: 1 } } }, 'set.A'],
    ['credentials without variables', { credentials: {} }, 'credentials.environment'],
  ])('refuses %s', (_, request, position) => {
    const error = thrown(() => createEnvironment(request as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain(position);
  });
});

describe('what is granted', () => {
  it('has a reason, and is recorded apart from what passes through', () => {
    const { record } = createEnvironment({
      ...forRun,
      allow: [{ name: 'CI', reason: 'jest prints less' }, 'API_TOKEN', 'NOT_HERE'],
      set: { LANG: 'de', X: { value: '1', reason: 'asked for by the issue' } },
    });
    expect(record.passedThrough).toEqual([]);
    expect(record.absent).toEqual(['NOT_HERE']);
    expect(record.grants).toEqual([
      { name: 'CI', origin: 'allowed', reason: 'jest prints less' },
      { name: 'API_TOKEN', origin: 'allowed', reason: 'no reason given' },
      { name: 'LANG', origin: 'set', reason: 'no reason given' },
      { name: 'X', origin: 'set', reason: 'asked for by the issue' },
    ]);
    expect(JSON.stringify(record)).not.toContain(secret);
  });

  it('nothing arrives that was not named: no pattern knows these', () => {
    const names = Object.keys(plain(forRun));
    for (const name of ['KUBECONFIG', 'HTTPS_PROXY', 'NODE_OPTIONS', 'LD_PRELOAD'])
      expect(names).not.toContain(name);
  });

  it('names that do more than inform pass by their exact name, and are flagged', () => {
    const { variables, record } = createEnvironment({
      allow: ['LD_PRELOAD', 'NODE_OPTIONS', 'KUBECONFIG', 'HTTPS_PROXY', 'CI'],
    });
    expect(variables['LD_PRELOAD']).toBe('/tmp/x.so');
    expect(record.grants.map(({ name, flag }) => [name, flag?.kind])).toEqual([
      ['LD_PRELOAD', 'runs-code'],
      ['NODE_OPTIONS', 'runs-code'],
      ['KUBECONFIG', 'credentials'],
      ['HTTPS_PROXY', 'redirects'],
      ['CI', undefined],
    ]);
  });

  it.each([
    ['LD_LIBRARY_PATH', 'runs-code'],
    ['LD_AUDIT', 'runs-code'],
    ['NODE_PATH', 'runs-code'],
    ['NODE_EXTRA_CA_CERTS', 'runs-code'],
    ['NODE_ANYTHING_NEW', 'runs-code'],
    ['NODE_CHANNEL_FD', 'descriptors'],
    ['ELECTRON_RUN_AS_NODE', 'runs-code'],
    ['BASH_ENV', 'runs-code'],
    ['ENV', 'runs-code'],
    ['BASH_FUNC_ls%%', 'runs-code'],
    ['PYTHONSTARTUP', 'runs-code'],
    ['PERL5OPT', 'runs-code'],
    ['RUBYOPT', 'runs-code'],
    ['GIT_DIR', 'redirects'],
    ['GIT_WORK_TREE', 'redirects'],
    ['GIT_CONFIG_COUNT', 'runs-code'],
    ['GIT_SSH_COMMAND', 'runs-code'],
    ['SSH_ASKPASS', 'runs-code'],
    ['GIT_ASKPASS', 'runs-code'],
    ['https_proxy', 'redirects'],
    ['ALL_PROXY', 'redirects'],
    ['SSH_AUTH_SOCK', 'credentials'],
    ['DOCKER_HOST', 'credentials'],
    ['AWS_SHARED_CREDENTIALS_FILE', 'credentials'],
    ['MAKEFLAGS', 'descriptors'],
    ['LISTEN_FDS', 'descriptors'],
  ])('%s is %s', (name, kind) => {
    expect(flagName(name)?.kind).toBe(kind);
  });

  it('an ordinary name is not', () => {
    for (const name of ['CI', 'NODE_ENV', 'EMAIL', 'ENVIRONMENT', 'MY_LD_X', '__proto__'])
      expect(flagName(name)).toBeUndefined();
  });

  it('a whole record given as env is described in the same way', () => {
    const plan = planLaunch('/bin/true', [], { env: { LD_PRELOAD: secret, A: '1' } });
    const { environment } = describePlan(plan);
    expect(environment.grants).toMatchObject([
      { name: 'LD_PRELOAD', origin: 'given', flag: { kind: 'runs-code' } },
      { name: 'A', origin: 'given' },
    ]);
    expect(JSON.stringify(describePlan(plan))).not.toContain(secret);
    const inherited = describePlan(planLaunch('/bin/true', [], { env: 'inherit' })).environment;
    expect(inherited.grants).toHaveLength(Object.keys(process.env).length);
    expect(inherited.grants[0]).toMatchObject({ origin: 'inherited' });
  });
});

describe('presets', () => {
  it('pass what the parent has of their list', () => {
    const { variables, record } = createEnvironment({ presets: ['node', 'git', 'proxy'] });
    expect({ ...variables }).toEqual({
      PATH: '/usr/local/bin:/usr/bin:/bin',
      LANG: 'C',
      NODE_ENV: 'test',
      GIT_AUTHOR_NAME: 'Somebody',
      HTTPS_PROXY: 'http://proxy:3128',
    });
    expect(record.grants[0]).toEqual({
      name: 'NODE_ENV',
      origin: 'preset',
      reason: 'preset node',
    });
    expect(record.absent).toEqual([]);
  });

  it('hold no name that runs code, leads to credentials or names a descriptor', () => {
    const flagged = Object.values(PRESETS).flatMap((names) =>
      names.flatMap((name) => flagName(name)?.kind ?? []),
    );
    expect(new Set(flagged)).toEqual(new Set(['redirects']));
    for (const preset of ['node', 'git', 'python'] as const)
      expect(PRESETS[preset].filter((name) => flagName(name) !== undefined)).toEqual([]);
  });
});

describe('caches of tools', () => {
  it('lead to the real HOME and keep the tool from writing there', () => {
    const { variables, record } = createEnvironment({
      ...forRun,
      caches: [{ name: 'playwright', reason: 'browsers take a gigabyte' }, 'corepack'],
    });
    expect(variables).toMatchObject({
      PLAYWRIGHT_BROWSERS_PATH: '/home/somebody/.cache/ms-playwright',
      PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
      COREPACK_HOME: '/home/somebody/.cache/node/corepack',
      COREPACK_ENABLE_NETWORK: '0',
    });
    expect(record.caches).toEqual([
      {
        name: 'playwright',
        path: '/home/somebody/.cache/ms-playwright',
        reason: 'browsers take a gigabyte',
      },
      {
        name: 'corepack',
        path: '/home/somebody/.cache/node/corepack',
        reason: 'no reason given',
      },
    ]);
  });

  it('are where the parent has moved them to', () => {
    process.env['RUSTUP_HOME'] = '/opt/rustup';
    const { variables } = createEnvironment({ caches: ['rustup'] });
    expect(variables['RUSTUP_HOME']).toBe('/opt/rustup');
    expect(Object.keys(CACHES)).toEqual(['playwright', 'corepack', 'rustup']);
  });
});

describe('credentials', () => {
  const credentials = {
    environment: { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://127.0.0.1:1' },
    remove: ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'],
    files: ['/work/place/.home/.sallyport/aws-config'],
    reason: 'development account',
  };

  it('are grants of their own, with their reason', () => {
    const { record } = createEnvironment({ ...forRun, credentials });
    expect(record.files).toEqual(credentials.files);
    expect(record.grants).toMatchObject([
      {
        name: 'AWS_CONTAINER_CREDENTIALS_FULL_URI',
        origin: 'credentials',
        reason: 'development account',
        flag: { kind: 'credentials' },
      },
    ]);
  });

  it('a variable that would be used instead is a mistake, allowed or set', () => {
    process.env['AWS_ACCESS_KEY_ID'] = secret;
    for (const extra of [
      { allow: ['AWS_ACCESS_KEY_ID'] },
      { set: { AWS_ACCESS_KEY_ID: secret } },
    ]) {
      const error = thrown(() => createEnvironment({ ...forRun, ...extra, credentials }));
      expect(error.message).toContain('AWS_ACCESS_KEY_ID');
      expectWithout(error, secret);
    }
    const twice = [credentials, credentials];
    expect(thrown(() => createEnvironment({ credentials: twice })).message).toContain(
      'two of them',
    );
  });
});

describe('configuration of git among credentials', () => {
  const git = (key: string, reason: string) => ({
    environment: { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: key, GIT_CONFIG_VALUE_0: reason },
    reason,
  });

  it('comes after what the caller sets, and after that of others', () => {
    const { variables, record } = createEnvironment({
      set: {
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'user.name',
        GIT_CONFIG_VALUE_0: { value: 'made up', reason: 'commits have an author' },
      },
      credentials: [git('a.helper', 'first'), git('b.helper', 'second')],
    });
    expect(variables).toMatchObject({
      GIT_CONFIG_COUNT: '3',
      GIT_CONFIG_KEY_0: 'user.name',
      GIT_CONFIG_VALUE_0: 'made up',
      GIT_CONFIG_KEY_1: 'a.helper',
      GIT_CONFIG_KEY_2: 'b.helper',
      GIT_CONFIG_VALUE_2: 'second',
    });
    const reasonOf = (name: string) => record.grants.find((grant) => grant.name === name)?.reason;
    expect(reasonOf('GIT_CONFIG_VALUE_0')).toBe('commits have an author');
    expect(reasonOf('GIT_CONFIG_KEY_1')).toBe('first');
    expect(record.grants.filter(({ name }) => name === 'GIT_CONFIG_COUNT')).toHaveLength(1);
  });

  it('comes in the place of a count that is none', () => {
    const set = { GIT_CONFIG_COUNT: 'many' };
    const { variables } = createEnvironment({ set, credentials: git('a.helper', 'first') });
    expect(variables).toMatchObject({ GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'a.helper' });
  });
});

describe('variables that name descriptors', () => {
  const warningsOf = (set: Record<string, string>, pass: number[] = []) =>
    planLaunch('/bin/true', [], {
      env: createEnvironment({ set }),
      pass: pass.map((as) => ({ fd: 0, as })),
    }).warnings;

  it.each([
    ['MAKEFLAGS', ' -j4 --jobserver-auth=3,4', [3, 4]],
    ['MAKEFLAGS', 'k -- --jobserver-fds=5,6 -j', [5, 6]],
    ['CARGO_MAKEFLAGS', '-j --jobserver-auth=8,9', [8, 9]],
    ['LISTEN_FDS', '2', [3, 4]],
    ['NODE_CHANNEL_FD', '7', [7]],
  ])('%s=%s: a warning without its descriptors, none with them', (name, value, numbers) => {
    const [warning, ...others] = warningsOf({ [name]: value });
    expect(others).toEqual([]);
    expect(warning).toContain(`env.${name} names descriptor`);
    for (const number of numbers) expect(warning).toContain(String(number));
    expect(warningsOf({ [name]: value }, numbers)).toEqual([]);
    if (numbers.length > 1) {
      expect(warningsOf({ [name]: value }, numbers.slice(1))[0]).toContain(
        `descriptor ${numbers[0]} `,
      );
    }
  });

  it('a value that names none gives none', () => {
    expect(
      warningsOf({ MAKEFLAGS: '-j --jobserver-auth=fifo:/tmp/x', NODE_CHANNEL_FD: 'x' }),
    ).toEqual([]);
  });

  it('is told of in the description', () => {
    const plan = planLaunch('/bin/true', [], { env: { NODE_CHANNEL_FD: '9' } });
    expect(describePlan(plan).warnings).toEqual(plan.warnings);
    expect(plan.warnings).toHaveLength(1);
  });
});
