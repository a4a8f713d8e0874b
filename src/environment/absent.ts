// After a run that failed early: which variables that programs commonly need it did not have.
import { ownVariable, type Variables } from '../plan/variables.js';

/** Needed by so many programs that its absence is told whether we have it or not. */
const ALWAYS = ['HOME'] as const;

/** Told where we have them: then the program ran before, by hand, and had them. */
const WHERE_SET = [
  ...['USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'DISPLAY', 'XDG_RUNTIME_DIR', 'CI', 'EDITOR'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE'],
  ...['NODE_ENV', 'NODE_OPTIONS', 'NODE_PATH', 'NVM_DIR', 'PNPM_HOME', 'COREPACK_HOME'],
  ...['PYTHONPATH', 'VIRTUAL_ENV', 'CONDA_PREFIX', 'PYENV_ROOT', 'JAVA_HOME', 'GOPATH', 'GOROOT'],
  ...['CARGO_HOME', 'RUSTUP_HOME', 'LD_LIBRARY_PATH', 'PLAYWRIGHT_BROWSERS_PATH'],
  ...['SSH_AUTH_SOCK', 'DBUS_SESSION_BUS_ADDRESS', 'DOCKER_HOST', 'KUBECONFIG', 'DATABASE_URL'],
  ...['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_PROFILE', 'AWS_ACCESS_KEY_ID', 'NPM_TOKEN'],
  ...['GITHUB_TOKEN', 'GH_TOKEN', 'GOOGLE_APPLICATION_CREDENTIALS'],
] as const;

/** Milliseconds: later, a program has found its settings. */
const EARLY = 10_000;

export interface Ended {
  readonly kind: string;
  readonly code: number | null;
  readonly durationMs: number;
}

/** Names only; none where the program ended well, by a signal, or late. */
export function listAbsent(environment: Variables, { kind, code, durationMs }: Ended): string[] {
  if (kind !== 'exited' || code === 0 || durationMs > EARLY) return [];
  const isAbsent = (name: string): boolean => !Object.hasOwn(environment, name);
  return [
    ...ALWAYS.filter(isAbsent),
    ...WHERE_SET.filter((name) => isAbsent(name) && ownVariable(name) !== undefined),
  ];
}
