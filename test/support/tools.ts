// What a test needs from the machine: without it the test is skipped by name, or fails in CI.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'vitest';

import { ARCHITECTURES, checkPrebuilds } from '../../scripts/prebuild/check.mjs';
import { makeCgroup, removeCgroup } from './cgroups.js';
import { fixture, root } from './fixtures.js';

// Each is tried, not looked up: strace may be installed and ptrace forbidden.
const runs = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0;

const probes = {
  strace: () => runs('strace', '-o', '/dev/null', 'true'),
  bash: () => runs('bash', '-c', ':'),
  'bash-completion': () => existsSync(BASH_COMPLETION),
  zsh: () => runs('zsh', '-c', ':'),
  fish: () => runs('fish', '-c', ':'),
  man: () => runs('man', '--version'),
  groff: () => runs('groff', '--version'),
  mandoc: () => existsSync('/usr/bin/mandoc'),
  git: () => runs('git', '--version'),
  lsof: () => runs('lsof', '-v'),
  lsfd: () => runs('lsfd', '--version'),
  ss: () => runs('ss', '-V'),
  unshare: () => runs('unshare', '--net', 'true'),
  chromium: () => runs('chromium', '--version'),
  'systemd-socket-activate': () => runs('systemd-socket-activate', '--version'),
  'cgroup v2': () => canMakeCgroups(),
  // Only root can run a test as another user, and as root a test about permission proves nothing.
  'another uid': () => process.getuid?.() !== 0 || spawnSync('true', { uid: 65534 }).status === 0,
  'core files': () => makesCore(),
  // Who may become anybody.
  root: () =>
    process.getuid?.() === 0 && spawnSync('true', { uid: 65534, gid: 65534 }).status === 0,
  setpriv: () => runs('setpriv', '--dump'),
  taskset: () => runs('taskset', '-c', '0', 'true'),
  // nice(1) goes on where it is refused.
  'raised priority': () => spawnSync('nice', ['-n', '-1', 'true']).stderr.length === 0,
  ptrace: () => runs(fixture('tracer'), '--probe'),
  'setuid programs': () => honoursSetuid(),
  fuse: () => canMountFuse(),
  boto3: () => runs('/usr/bin/python3', '-c', 'import boto3'),
  'aws cli': () => runs('/usr/bin/aws', '--version'),
  'git-http-backend': () => existsSync(GIT_HTTP_BACKEND),
  curl: () => runs('curl', '--version'),
  npm: () => runs('npm', '--version'),
  postgresql: () => postgresPrograms() !== undefined && runs('psql', '--version'),
  // Those of an older source would be tried in vain, or worse, not in vain.
  'npm run prebuilds': () => hasPrebuilds(),
  'npm run test:managers': () => existsSync(path.join(root, 'test/package/node_modules')),
  'qemu-aarch64-static': () => runs('qemu-aarch64-static', '--version'),
  'aarch64-linux-gnu-g++': () => existsSync(`${ARM64_ROOT}/lib/ld-linux-aarch64.so.1`),
  'user namespaces': () => runs('unshare', '--user', '--map-root-user', '--mount', 'true'),
} satisfies Record<string, () => boolean>;

export const BASH_COMPLETION = '/usr/share/bash-completion/bash_completion';

export const GIT_HTTP_BACKEND = '/usr/lib/git-core/git-http-backend';

/** Where Debian's cross compiler has the libraries of an arm64 system. */
export const ARM64_ROOT = '/usr/aarch64-linux-gnu';

/** Made of the native sources that are here. */
function hasPrebuilds(): boolean {
  if (checkPrebuilds(path.join(root, 'prebuilds')).length > 0) return false;
  if (!existsSync(path.join(root, 'scripts/prebuild/sysroots'))) return false;
  const sources = readdirSync(path.join(root, 'native'), { recursive: true, encoding: 'utf8' });
  const changed = (file: string): number => statSync(path.join(root, file)).mtimeMs;
  const made = Math.min(
    ...ARCHITECTURES.map((architecture) => changed(`prebuilds/linux-${architecture}`)),
  );
  const inputs = ['binding.gyp', ...sources.map((file) => `native/${file}`)];
  return inputs.every((file) => changed(file) <= made);
}

/** Where Debian puts initdb and postgres; they are not in PATH. */
export function postgresPrograms(): string | undefined {
  const versions = '/usr/lib/postgresql';
  if (!existsSync(versions)) return undefined;
  return readdirSync(versions)
    .map((version) => path.join(versions, version, 'bin'))
    .find((directory) => existsSync(path.join(directory, 'initdb')));
}

/** Whether an aborted program leaves a core file in its directory, core(5). */
function makesCore(): boolean {
  const directory = mkdtempSync(path.join(tmpdir(), 'sallyport-core-'));
  spawnSync('sh', ['-c', 'ulimit -c unlimited && kill -ABRT $$'], {
    cwd: directory,
    stdio: 'ignore',
  });
  const made = readdirSync(directory).length > 0;
  rmSync(directory, { recursive: true });
  return made;
}

/** Whether we can make a program that runs as root for everybody: not on a nosuid mount. */
function honoursSetuid(): boolean {
  if (process.getuid?.() !== 0) return false;
  const directory = mkdtempSync(path.join(tmpdir(), 'sallyport-setuid-'));
  chmodSync(directory, 0o755);
  const program = path.join(directory, 'witness');
  copyFileSync(fixture('witness'), program);
  chmodSync(program, 0o4755);
  const { stdout } = spawnSync(program, { uid: 65534, encoding: 'utf8' });
  rmSync(directory, { recursive: true });
  return stdout.includes('"uid":[65534,0,0]');
}

/** Below a directory of its own: whatever lies beneath answers no more. */
function canMountFuse(): boolean {
  const directory = mkdtempSync(path.join(tmpdir(), 'sallyport-fuse-'));
  const mounts = runs(fixture('dead_mount'), directory, '--', 'true');
  rmSync(directory, { recursive: true });
  return mounts;
}

function canMakeCgroups(): boolean {
  const directory = makeCgroup();
  if (directory !== undefined) removeCgroup(directory);
  return directory !== undefined;
}

export type Tool = keyof typeof probes;

const found = new Map<Tool, boolean>();

export function has(tool: Tool): boolean {
  let answer = found.get(tool);
  if (answer === undefined) found.set(tool, (answer = probes[tool]()));
  return answer;
}

const mustRun = process.env['SALLYPORT_MUST_RUN'] === '1';

type Body = () => void | Promise<void>;

interface Wrapper {
  it: (name: string, body: Body, timeout?: number) => void;
  describe: (name: string, body: () => void) => void;
}

/** `needs('strace').it(name, …)`: as vitest's own `it` and `describe` where the tools are there. */
export function needs(...tools: Tool[]): Wrapper {
  const missing = tools.filter((tool) => !has(tool));
  if (missing.length === 0) return { it, describe };
  const note = `needs ${missing.join(', ')}`;
  const absent = (name: string): void => {
    // In the name as well: the runner's report keeps names and may drop notes.
    it(`${name} [${note}]`, (context) => {
      if (mustRun) throw new Error(`${note}, and SALLYPORT_MUST_RUN=1 allows no skip`);
      context.skip(note);
    });
  };
  return {
    it: absent,
    describe: absent,
  };
}
