// The environment of a program started by `sallyport run`: of its whole tree, in a workspace, and
// where the surroundings are full of credentials.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { enterWorkspace } from '../../src/cli/environment-options.js';
import { findOwner } from '../../src/cli/owner.js';
import { makeScratch } from '../support/fixtures.js';
import { copyPackage } from '../support/package-copy.js';
import { listChildren, readEnvironment, waitFor } from '../support/processes.js';
import { needs } from '../support/tools.js';
import { type Witness, witness } from '../support/witness.js';
import { runCli, startCli } from './command-line.js';

const secret = 'made-up-4f7a19c2d35e';

const GRANTS = {
  AWS_ACCESS_KEY_ID: `AKIA${secret}`,
  AWS_SECRET_ACCESS_KEY: secret,
  AWS_SESSION_TOKEN: secret,
  DATABASE_URL: `postgres://app:${secret}@db.example/app`,
  GITHUB_TOKEN: `ghp_${secret}`,
  NPM_TOKEN: `npm_${secret}`,
  ANTHROPIC_API_KEY: `sk-ant-${secret}`,
  SSH_AUTH_SOCK: `/tmp/ssh-${secret}/agent.1`,
  KUBECONFIG: `/home/${secret}/.kube/config`,
};

/** 214 variables, nine of them credentials; four say how to print, and CI. */
function makeCrowdedEnvironment(): Record<string, string> {
  const env: Record<string, string> = {
    ...GRANTS,
    PATH: '/usr/bin:/bin',
    HOME: `/home/${secret}`,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    TERM: 'dumb',
    CI: 'true',
    HTTPS_PROXY: `http://${secret}@proxy`,
    LD_LIBRARY_PATH: `/${secret}`,
  };
  for (let index = Object.keys(env).length; index < 214; index += 1) {
    env[`VARIABLE_${index}`] = `${secret}-${index}`;
  }
  return env;
}

function parseEnviron(pid: number): Record<string, string> {
  const text = readEnvironment(pid).toString('latin1');
  return Object.fromEntries(
    text
      .split('\0')
      .filter((entry) => entry !== '')
      .map((entry) => {
        const equals = entry.indexOf('=');
        return [entry.slice(0, equals), entry.slice(equals + 1)];
      }),
  );
}

const inWorkspace = (workspace: string): Record<string, string> => ({
  LANG: 'C.UTF-8',
  TZ: 'UTC',
  TERM: 'dumb',
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: `${workspace}/.home`,
  TMPDIR: `${workspace}/.tmp`,
  XDG_CACHE_HOME: `${workspace}/.home/.cache`,
  GIT_TERMINAL_PROMPT: '0',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  AGENT_RUN_ID: 'b71e04',
  AWS_EC2_METADATA_DISABLED: 'true',
});

const descendants = (pid: number): number[] =>
  listChildren(pid).flatMap((child) => [child.pid, ...descendants(child.pid)]);

/** What shells add of their own. */
const SHELL = ['PWD', 'OLDPWD', 'SHLVL', '_'];

describe('with --workspace and --run-id', () => {
  it('every process of the tree has what the workspace gives and what was allowed', async () => {
    const workspace = makeScratch();
    const env = makeCrowdedEnvironment();
    expect(Object.keys(env)).toHaveLength(214);
    // A shell, what it starts, a shell in it, node, and one that left the session.
    const script = `
env
sh -c 'env; sleep 600 & wait' &
'${process.execPath}' -e 'require("node:child_process").spawn("sleep", ["600"]); setTimeout(Object, 6e5)' &
setsid sleep 600 &
wait`;
    const cli = startCli(
      [
        'run',
        '--workspace',
        workspace,
        '--run-id',
        'b71e04',
        '--allow-env',
        'CI',
        '--',
        'sh',
        '-c',
        script,
      ],
      ['ignore', 'pipe', 'inherit'],
      { env },
    );
    let printed = '';
    cli.stdout!.on('data', (piece: Buffer) => (printed += piece.toString()));
    // Its own environment has them all: the look at the others can see it.
    await waitFor('the command', () => Object.keys(parseEnviron(cli.pid!)).length === 214);
    try {
      const tree = await waitFor('the whole tree', () => {
        const pids = descendants(cli.pid!);
        const isRunning = (pid: number) => Object.hasOwn(parseEnviron(pid), 'AGENT_RUN_ID');
        return pids.length === 6 && pids.every(isRunning) && pids;
      });
      for (const pid of tree) {
        const seen = parseEnviron(pid);
        for (const name of SHELL) delete seen[name];
        expect(seen).toEqual({ ...inWorkspace(workspace), CI: 'true' });
      }
      await waitFor(
        'both shells to print',
        () => printed.split('AGENT_RUN_ID=b71e04').length === 3,
      );
      expect(printed).not.toContain(secret);
      expect(parseEnviron(cli.pid!)['GITHUB_TOKEN']).toContain(secret);
    } finally {
      for (const pid of descendants(cli.pid!)) process.kill(pid, 'SIGKILL');
    }
  });

  it('starts there, in a new session, with directories of its own', async () => {
    const workspace = makeScratch();
    const { stdout, stderr } = await runCli(['run', '--workspace', workspace, witness]);
    expect(stderr).toBe('');
    const seen = JSON.parse(stdout) as Witness;
    expect(seen.cwd).toBe(workspace);
    expect(seen.sid).toBe(seen.pid);
    expect(Object.fromEntries(seen.environment)['AGENT_RUN_ID']).toMatch(/^[0-9a-f]{6}$/);
    for (const name of ['.home', '.home/.cache', '.tmp'])
      expect(lstatSync(path.join(workspace, name)).mode & 0o7777).toBe(0o700);
  });

  it('--remove-home takes away at the end what it made, also where the program was not found', async () => {
    for (const [program, code] of [
      ['true', 0],
      ['no-such-program', 127],
    ] as const) {
      const workspace = makeScratch();
      mkdirSync(`${workspace}/.tmp`);
      const args = ['run', '--workspace', workspace, '--remove-home', program];
      expect((await runCli(args)).code).toBe(code);
      expect(readdirSync(workspace)).toEqual(['.tmp']);
    }
  });

  it('a hostile workspace is refused before anything starts: 125', async () => {
    const workspace = makeScratch();
    const outside = makeScratch();
    symlinkSync(outside, `${workspace}/.home`);
    const marker = `${outside}/started`;
    const args = ['run', '--workspace', workspace, '--', 'touch', marker];
    const refused = await runCli(args);
    expect(refused.code).toBe(125);
    expect(refused.stderr).toContain('a symlink in the workspace is not followed');
    expect(readdirSync(outside)).toEqual([]);
    // Without the symlink the same line starts it.
    expect((await runCli(['run', '--workspace', makeScratch(), '--', 'touch', marker])).code).toBe(
      0,
    );
    expect(existsSync(marker)).toBe(true);
  });

  it('--explain makes nothing, and tells reasons and flags', async () => {
    const workspace = makeScratch();
    const args = [
      ...['run', '--workspace', workspace, '--run-id', 'x', '--explain'],
      ...[
        '--allow-env',
        'CI:jest prints less',
        '--allow-env',
        'LD_PRELOAD',
        '--allow-env',
        'ABSENT',
      ],
      ...['--set', `TOKEN=${secret}`, '--set', 'MAKEFLAGS=--jobserver-auth=8,9'],
      ...['--cache', 'rustup:compilers', '--preset', 'node', 'true'],
    ];
    const env = { CI: '1', LD_PRELOAD: '/x.so', HOME: '/home/me', NO_COLOR: '1' };
    const { stdout, stderr, code } = await runCli(args, { env });
    // The dynamic linker complains about the made-up library, for node itself.
    expect(stderr.replace(/^ERROR: ld\.so:.*\n/gm, '')).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/ allowed +CI +jest prints less\n/);
    expect(stdout).toMatch(/ allowed +LD_PRELOAD +no reason given \(runs-code: the dynamic linker/);
    expect(stdout).toMatch(/ set +TOKEN +no reason given\n/);
    expect(stdout).toMatch(/ preset +NO_COLOR +preset node\n/);
    expect(stdout).toMatch(/ read +\/home\/me\/\.rustup +cache rustup: compilers\n/);
    expect(stdout).toMatch(/ allowed +ABSENT +not set here\n/);
    expect(stdout).toContain('env.MAKEFLAGS names descriptors 8 and 9');
    expect(stdout).not.toContain(secret);
    expect(readdirSync(workspace)).toEqual([]);
  });

  it.each([[], ['--deadline', '1m']])('a warning of the plan is told, with %j', async (...more) => {
    const args = ['run', ...more, '--set', 'NODE_CHANNEL_FD=9', 'true'];
    const { stderr, code } = await runCli(args);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^sallyport: run: env\.NODE_CHANNEL_FD names descriptor 9 /);
  });

  it.each([
    [['--run-id', 'a b'], '--run-id: '],
    [['--preset', 'cloud'], '--preset: must be one of node, git, python, proxy'],
    [['--cache', 'pip'], '--cache: must be one of'],
    [['--allow-env', 'AWS_*'], '--allow-env: is a pattern'],
    [['--allow-env', 'CI:'], '--allow-env'],
    [['--set', secret], '--set, number 1: no variable with a value: write --set NAME=VALUE'],
    [['--set', `=${secret}`], '--set, number 1: no variable with a value: write --set NAME=VALUE'],
    [['--workspace', ''], "--workspace: is empty; write '.' for the current directory"],
    [['--remove-home'], '--remove-home: needs --workspace'],
  ])('%j is refused in words of the command line', async (options, sentence) => {
    const { code, stderr, stdout } = await runCli(['run', ...options, 'true']);
    expect({ code, stdout }).toEqual({ code: 125, stdout: '' });
    expect(stderr).toContain(`sallyport: ${sentence}`);
    expect(stderr).not.toContain(secret);
  });
});

needs('root').describe('the owner of the directories', () => {
  it.each(['nobody', '65534'])('is the user of the run, given as %s', async (user) => {
    const workspace = makeScratch();
    enterWorkspace({ workspace }, await findOwner({ workspace, user }));
    expect(lstatSync(`${workspace}/.home/.cache`)).toMatchObject({ uid: 65534, gid: 65534 });
  });
});

describe("git's own configuration", () => {
  needs('git').it('of this host is not asked for credentials', async () => {
    const home = makeScratch();
    const marker = path.join(home, 'asked');
    const helper = `!touch '${marker}'; echo username=me; echo password=${secret}; :`;
    writeFileSync(`${home}/.gitconfig`, `[credential]\n\thelper = "${helper}"\n`);
    const input = 'protocol=https\nhost=git.example\n\n';
    const env = { HOME: home, PATH: '/usr/local/bin:/usr/bin:/bin' };
    // Whoever inherits HOME gets them.
    const inherits = spawnSync('git', ['credential', 'fill'], { input, env, encoding: 'utf8' });
    expect(inherits.stdout).toContain(`password=${secret}`);
    expect(existsSync(marker)).toBe(true);
    rmSync(marker);
    const args = ['run', '--workspace', makeScratch(), '--', 'git', 'credential', 'fill'];
    const asked = await runCli(args, { env, input });
    expect(asked.code).toBe(128);
    expect(asked.stderr).toContain('terminal prompts disabled');
    expect(asked.stdout).not.toContain(secret);
    expect(existsSync(marker)).toBe(false);
  });
});

describe('a program that fails soon', () => {
  const env = { HOME: '/home/me', JAVA_HOME: `/opt/${secret}`, GITHUB_TOKEN: secret };
  it.each([[[]], [['--deadline', '1m']]])('is told what it did not have, with %j', async (more) => {
    const run = async (...args: string[]) =>
      (await runCli(['run', ...more, ...args], { env })).stderr;
    expect(await run('sh', '-c', 'exit 3')).toMatch(
      /^sallyport: run: sh: ended with 3, and did not have HOME, JAVA_HOME, GITHUB_TOKEN, which are set here .*\n$/,
    );
    const both = ['--env', 'HOME', '--allow-env', 'JAVA_HOME', '--env', 'GITHUB_TOKEN'];
    for (const quiet of [
      ['--quiet', 'sh', '-c', 'exit 3'],
      ['sh', '-c', 'exit 0'],
      ['--quiet', 'sh', '-c', 'kill -9 $$'],
      [...both, 'sh', '-c', 'exit 3'],
    ]) {
      expect(await run(...quiet), quiet.join(' ')).toBe('');
    }
  });
});

/** What CI systems and containers put into the environment of a job. */
const CI_SECRETS = Object.fromEntries(
  [
    'ACTIONS_RUNTIME_TOKEN',
    'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
    'ACTIONS_ID_TOKEN_REQUEST_URL',
    'GITHUB_TOKEN',
    'GH_TOKEN',
    'CI_JOB_TOKEN',
    'CI_JOB_JWT_V2',
    'CI_REGISTRY_PASSWORD',
    'CI_DEPLOY_PASSWORD',
    'BUILDKITE_AGENT_ACCESS_TOKEN',
    'CIRCLE_OIDC_TOKEN_V2',
    'SYSTEM_ACCESSTOKEN',
    'AWS_WEB_IDENTITY_TOKEN_FILE',
    'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
    'AWS_CONTAINER_AUTHORIZATION_TOKEN',
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'NPM_TOKEN',
    'NODE_AUTH_TOKEN',
    'DOCKER_AUTH_CONFIG',
    'KUBECONFIG',
    'VAULT_TOKEN',
    'CODECOV_TOKEN',
    'GIT_ASKPASS',
    'SSH_AUTH_SOCK',
    'HTTPS_PROXY',
  ].map((name) => [name, secret]),
);

describe('in an unprivileged user and mount namespace, as containers and CI jobs are', () => {
  needs('unshare', 'setpriv', 'root').it(
    'the same environment arrives, and nothing of the surroundings',
    () => {
      const scratch = makeScratch();
      chmodSync(scratch, 0o777);
      const place = path.join(copyPackage(), 'dist/cli/main.js');
      // A shell of the surroundings that puts variables back, for every shell that obeys it.
      const outside = makeScratch();
      chmodSync(outside, 0o755);
      const profile = path.join(outside, 'profile');
      writeFileSync(profile, `export FROM_PROFILE=${secret}\n`, { mode: 0o644 });
      const inside = `
mount -t tmpfs none "$PLACE" && mkdir "$PLACE/work" && . "${profile}" || exit 99
test "$FROM_PROFILE" = "${secret}" || exit 98
exec "$NODE" "$MAIN" run --workspace "$PLACE/work" --run-id b71e04 --allow-env CI -- \
  sh -c 'tr "\\0" "\\n" </proc/self/environ; stat -c "%a %n" .home .tmp; id -u; sh -c env; bash -c env'`;
      const { stdout, stderr, status } = spawnSync(
        'setpriv',
        [
          ...['--reuid', '65534', '--regid', '65534', '--clear-groups'],
          ...['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', inside],
        ],
        {
          encoding: 'utf8',
          env: {
            ...CI_SECRETS,
            PATH: '/usr/bin:/bin',
            HOME: '/root',
            CI: 'true',
            LANG: 'C.UTF-8',
            BASH_ENV: profile,
            ENV: profile,
            PLACE: scratch,
            NODE: process.execPath,
            MAIN: place,
          },
        },
      );
      expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
      const lines = stdout.trim().split('\n');
      const workspace = `${scratch}/work`;
      const { TZ: _tz, TERM: _term, ...given } = inWorkspace(workspace);
      const names = Object.entries({ ...given, CI: 'true' }).map(
        ([name, value]) => `${name}=${value}`,
      );
      const isOfShell = (line: string): boolean => SHELL.includes(line.split('=')[0] ?? '');
      const variables = lines.filter((line) => line.includes('=') && !isOfShell(line));
      // Three times: of the program, of a shell below it, and of bash, which would obey BASH_ENV.
      expect(variables.sort()).toEqual([...names, ...names, ...names].sort());
      expect(lines).toContain('700 .home');
      expect(lines).toContain('700 .tmp');
      expect(lines).toContain('0');
      expect(stdout).not.toContain(secret);
    },
  );
});
