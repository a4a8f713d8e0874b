// Where credentials and control sockets are on a host: files of a home, sockets by looking for them.
import { lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';

import { ownVariable } from '../plan/variables.js';

/** Below a home. Told of whether they are there or not. */
const KNOWN_FILES = [
  '.aws/credentials',
  '.netrc',
  '.ssh/id_ed25519',
  '.docker/config.json',
  '.kube/config',
  '.config/gh/hosts.yml',
  '.git-credentials',
  '.npmrc',
] as const;

/** Told of where they are there. */
const OTHER_FILES = [
  '.aws/config',
  '.aws/sso/cache',
  '.aws/cli/cache',
  '.ssh/id_rsa',
  '.ssh/id_ecdsa',
  '.gitconfig',
  '.config/git/credentials',
  '.config/gcloud/application_default_credentials.json',
  '.config/gcloud/credentials.db',
  '.config/gcloud/access_tokens.db',
  '.azure/msal_token_cache.json',
  '.azure/accessTokens.json',
  '.config/containers/auth.json',
  '.config/glab-cli/config.yml',
  '.config/hub',
  '.config/op',
  '.config/rclone/rclone.conf',
  '.config/sops/age/keys.txt',
  '.config/doctl/config.yaml',
  '.terraform.d/credentials.tfrc.json',
  '.vault-token',
  '.pypirc',
  '.cargo/credentials.toml',
  '.gem/credentials',
  '.m2/settings.xml',
  '.gradle/gradle.properties',
  '.pgpass',
  '.my.cnf',
  '.gnupg/private-keys-v1.d',
  '.password-store',
  '.local/share/keyrings',
  '.claude/.credentials.json',
  '.codex/auth.json',
] as const;

const ELSEWHERE = [
  '/etc/kubernetes/admin.conf',
  '/etc/rancher/k3s/k3s.yaml',
  '/var/run/secrets/kubernetes.io/serviceaccount/token',
  '/run/secrets',
] as const;

/** Variables of ours that name such files, some of them several. */
const NAMED_BY = [
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'KUBECONFIG',
  'NETRC',
  'PGPASSFILE',
] as const;

/**
 * Absolute paths.
 *
 * @param uid that of the run, whose own home counts as well
 */
export function listFiles(uid: number): string[] {
  const found = new Set<string>();
  const homes = listHomes(uid);
  for (const home of homes) {
    for (const name of KNOWN_FILES) found.add(join(home, name));
  }
  const others = [
    ...[...homes].flatMap((home) => OTHER_FILES.map((name) => join(home, name))),
    ...ELSEWHERE,
    ...NAMED_BY.flatMap((name) => (ownVariable(name) ?? '').split(':')),
    join(ownVariable('DOCKER_CONFIG') ?? '', 'config.json'),
  ];
  for (const path of others) if (path.startsWith('/') && exists(path)) found.add(path);
  return [...found];
}

/** The real ones: HOME as we have it, ours by the user database, and that of the user of the run. */
function listHomes(uid: number): Set<string> {
  const homes = [homedir(), homeOf(process.geteuid?.() ?? 0), homeOf(uid)];
  return new Set(homes.filter((home): home is string => home?.startsWith('/') === true));
}

/** By /etc/passwd: a program without a C library cannot ask other databases, nor can this. */
function homeOf(uid: number): string | undefined {
  try {
    const own = userInfo();
    if (own.uid === uid) return own.homedir;
  } catch {
    // Not in the database.
  }
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    const fields = lines.map((line) => line.split(':'));
    return fields.find(([, , id]) => id === String(uid))?.[5];
  } catch {
    return undefined;
  }
}

/** How agents of SSH call their sockets: OpenSSH before and since 10.1, GnuPG, GNOME, KDE, 1Password. */
const AGENT =
  /\/(ssh-[^/]+\/agent\.\d+|\.ssh\/agent\/[^/]+|S\.gpg-agent\.ssh|keyring(-[^/]+)?\/\.?ssh|gcr\/ssh|openssh_agent|ssh-agent[^/]*|agent\.sock|\.bitwarden-ssh-agent\.sock)$/;

/** By looking, not by the variable, which a run does not have. */
export function listAgents(): string[] {
  return distinct([
    ...listListening().filter((path) => AGENT.test(path)),
    ...listBelow('/tmp', /^ssh-/, /^agent\.\d+$/),
    ...[...listHomes(process.geteuid?.() ?? 0)].flatMap((home) => listIn(join(home, '.ssh/agent'))),
    ...optional(ownVariable('SSH_AUTH_SOCK')),
  ]).filter(exists);
}

const CONTROL: ReadonlyMap<string, string> = new Map([
  ['/var/run/docker.sock', 'the Docker daemon'],
  ['/run/docker.sock', 'the Docker daemon'],
  ['/run/podman/podman.sock', 'the Podman service'],
  ['/run/containerd/containerd.sock', 'containerd'],
  ['/run/k3s/containerd/containerd.sock', 'containerd'],
  ['/run/crio/crio.sock', 'CRI-O'],
  ['/run/buildkit/buildkitd.sock', 'BuildKit'],
  ['/run/libvirt/libvirt-sock', 'libvirt'],
  ['/var/lib/lxd/unix.socket', 'LXD'],
  ['/var/lib/incus/unix.socket', 'Incus'],
  ['/run/snapd.socket', 'snapd'],
  ['/run/systemd/private', 'systemd'],
]);

/** Of one user's session. */
const SESSION: ReadonlyArray<readonly [pattern: RegExp, what: string]> = [
  [/\/docker\.sock$/, 'a Docker daemon'],
  [/\/podman\.sock$/, 'a Podman service'],
  [/^\/run\/user\/\d+\/bus$/, 'the bus of a session'],
  [/^\/run\/user\/\d+\/systemd\/private$/, "a session's systemd"],
  [/\/S\.gpg-agent(\.extra)?$/, 'the agent of GnuPG'],
  [/^\/tmp\/tmux-\d+\//, 'tmux, which starts programs outside of the run'],
  [/^\/run\/screen\/S-|\/\.screen\//, 'screen, which starts programs outside of the run'],
  [/^\/tmp\/\.X11-unix\/X\d+$/, 'a display'],
];

/** Path → what answers there. */
export function listControlSockets(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [path, what] of CONTROL) if (exists(path)) found.set(resolved(path), what);
  for (const path of listListening()) {
    const what = SESSION.find(([pattern]) => pattern.test(path))?.[1];
    if (what !== undefined && exists(path) && !found.has(resolved(path)))
      found.set(resolved(path), what);
  }
  const docker = /^unix:\/\/(\/.+)$/.exec(ownVariable('DOCKER_HOST') ?? '')?.[1];
  if (docker !== undefined && exists(docker)) found.set(resolved(docker), 'the Docker daemon');
  // Told in any case, so that a report says that it was looked for.
  if (![...CONTROL.keys()].slice(0, 2).some(exists)) {
    found.set('/var/run/docker.sock', 'the Docker daemon');
  }
  return found;
}

/** Unix sockets of this network namespace that listen and have a path, proc_net(5). */
function listListening(): string[] {
  const ACCEPTS = 0x10000; // __SO_ACCEPTCON
  try {
    return readFileSync('/proc/net/unix', 'utf8')
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const match = /^\S+ \S+ \S+ ([0-9A-F]+) \S+ \S+ +\d+ (\/.*)$/.exec(line);
        if (match === null) return [];
        return (Number.parseInt(match[1] ?? '0', 16) & ACCEPTS) === 0 ? [] : [match[2] ?? ''];
      });
  } catch {
    return [];
  }
}

function listBelow(directory: string, folders: RegExp, names: RegExp): string[] {
  return listIn(directory)
    .filter((path) => folders.test(path.slice(directory.length + 1)))
    .flatMap((path) => listIn(path).filter((file) => names.test(file.slice(path.length + 1))));
}

function listIn(directory: string): string[] {
  try {
    return readdirSync(directory).map((name) => join(directory, name));
  } catch {
    return [];
  }
}

function exists(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    // What we may not look at may be there.
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

function resolved(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function distinct(paths: readonly string[]): string[] {
  return [...new Set(paths.map(resolved))];
}

function optional(path: string | undefined): string[] {
  return path?.startsWith('/') === true && exists(path) ? [path] : [];
}
