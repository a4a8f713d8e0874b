// Names that do more than inform: they run code, redirect a program, lead to credentials or name a
// descriptor. Such a variable passes like any other, by its exact name, and the record says what it is.

/** What a variable may do beside informing. */
export type NameFlagKind = 'runs-code' | 'redirects' | 'credentials' | 'descriptors';

/** A name that is known to do more than inform. Describes; decides nothing. */
export interface NameFlag {
  /** Which of them. */
  readonly kind: NameFlagKind;
  /** What a program does with it, as one clause. */
  readonly why: string;
}

type Rule = readonly [names: readonly (string | RegExp)[], flag: NameFlag];

const rule = (kind: NameFlagKind, why: string, ...names: Array<string | RegExp>): Rule => [
  names,
  Object.freeze({ kind, why }),
];

/** Of Node's family these three only say how to print, and which settings an application takes. */
const HARMLESS = new Set(['NODE_ENV', 'NODE_NO_WARNINGS', 'NODE_DISABLE_COLORS']);

/** The first that fits counts. */
const RULES: readonly Rule[] = [
  rule(
    'descriptors',
    "names the descriptors of make's jobserver, and options that make obeys",
    'MAKEFLAGS',
    'MFLAGS',
    'CARGO_MAKEFLAGS',
  ),
  rule('descriptors', 'says how many sockets were handed over', /^LISTEN_(FDS|PID|FDNAMES)$/),
  rule('descriptors', "names the descriptor of Node's IPC channel", 'NODE_CHANNEL_FD'),
  rule('descriptors', 'names the descriptor of a display connection', 'WAYLAND_SOCKET'),
  rule('runs-code', 'the dynamic linker of every program obeys it', /^LD_/, 'GLIBC_TUNABLES'),
  rule('runs-code', 'the C library loads modules from there', 'GCONV_PATH'),
  rule('runs-code', 'Node may load code or listen for a debugger by it', /^NODE_/, /^ELECTRON_/),
  rule(
    'runs-code',
    'shells run what it holds or names',
    'BASH_ENV',
    'ENV',
    'ZDOTDIR',
    'PROMPT_COMMAND',
    'PS4',
    'SHELLOPTS',
    'BASHOPTS',
    /^BASH_FUNC_/,
  ),
  rule(
    'runs-code',
    'Python loads code from there or by it',
    /^PYTHON(STARTUP|PATH|HOME|INSPECT|BREAKPOINT|USERBASE|WARNINGS|PLATLIBDIR|EXECUTABLE|PYCACHEPREFIX)$/,
  ),
  rule('runs-code', 'Perl loads code from there or by it', /^PERL5?(OPT|LIB|DB)$/),
  rule(
    'runs-code',
    'Ruby loads code from there or by it',
    /^RUBY(OPT|LIB)$/,
    /^GEM_(HOME|PATH)$/,
    'BUNDLE_GEMFILE',
  ),
  rule(
    'runs-code',
    'a virtual machine loads code by it',
    'JAVA_TOOL_OPTIONS',
    '_JAVA_OPTIONS',
    'JDK_JAVA_OPTIONS',
    'CLASSPATH',
    /^(MAVEN|GRADLE|ANT|SBT)_OPTS$/,
    'DOTNET_STARTUP_HOOKS',
    /^COR(ECLR)?_(ENABLE_PROFILING|PROFILER)/,
    /^LUA_(INIT|PATH|CPATH)/,
    'PHPRC',
    'PHP_INI_SCAN_DIR',
    /^R_(PROFILE|ENVIRON)/,
  ),
  rule(
    'runs-code',
    'OpenSSL loads configuration or modules from there',
    /^OPENSSL_(CONF|MODULES|ENGINES)$/,
  ),
  rule('runs-code', 'npm takes any of its settings from it, a shell among them', /^npm_config_/i),
  rule(
    'runs-code',
    'a build runs the program that it names',
    /^(RUSTC|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|RUSTFLAGS|GOFLAGS)$/,
    /^CARGO_(BUILD_|TARGET_)/,
    /^(CC|CXX|LD|AR|CPP)$/,
  ),
  rule(
    'runs-code',
    'a program is started by it',
    /_ASKPASS$/,
    /^(EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|LESSOPEN|LESSCLOSE)$/,
  ),
  rule(
    'runs-code',
    'git runs a program by it',
    /^GIT_(EDITOR|SEQUENCE_EDITOR|PAGER|SSH|SSH_COMMAND|EXTERNAL_DIFF|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR)$/,
    /^GIT_CONFIG(_|$)/,
  ),
  rule(
    'redirects',
    'moves the repository that git works on',
    /^GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)$/,
  ),
  rule('redirects', 'sends traffic through another host', /_PROXY$/i, 'GOPROXY'),
  rule(
    'redirects',
    'says whose certificates are trusted',
    /^(SSL_CERT_(FILE|DIR)|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|AWS_CA_BUNDLE|GIT_SSL_\w+)$/,
  ),
  rule('redirects', 'changes how names are resolved', 'HOSTALIASES', 'RES_OPTIONS', 'LOCALDOMAIN'),
  rule(
    'redirects',
    'says where packages come from',
    /^(PIP|UV|POETRY)_\w*(INDEX|CONFIG)\w*$/,
    'CARGO_HOME',
    'GOPATH',
  ),
  rule('redirects', 'sends calls to another service', /^AWS_ENDPOINT_URL/),
  rule('redirects', 'says where programs are found', 'PATH'),
  rule(
    'redirects',
    'says where settings, and credentials among them, are found',
    'HOME',
    /^XDG_\w+_(HOME|DIRS)$/,
    'XDG_RUNTIME_DIR',
  ),
  rule(
    'credentials',
    'leads to an agent that signs with every loaded key',
    'SSH_AUTH_SOCK',
    'GPG_AGENT_INFO',
    'GNUPGHOME',
  ),
  rule(
    'credentials',
    "leads to the session's bus, and the key ring on it",
    'DBUS_SESSION_BUS_ADDRESS',
  ),
  rule(
    'credentials',
    'leads to a daemon that acts as root for whoever reaches it',
    'DOCKER_HOST',
    'DOCKER_CONTEXT',
    'CONTAINER_HOST',
  ),
  rule(
    'credentials',
    'leads to stored credentials',
    'KUBECONFIG',
    'DOCKER_CONFIG',
    /^AWS_(SHARED_CREDENTIALS_FILE|CONFIG_FILE|WEB_IDENTITY_TOKEN_FILE|PROFILE|CONTAINER_\w+)$/,
    'GOOGLE_APPLICATION_CREDENTIALS',
    'CLOUDSDK_CONFIG',
    'AZURE_CONFIG_DIR',
    'PGPASSFILE',
    'PGSERVICEFILE',
    'NETRC',
    'KRB5CCNAME',
    'XAUTHORITY',
    'VAULT_ADDR',
    'SOPS_AGE_KEY_FILE',
  ),
];

/** undefined: nothing is known about the name, which does not mean that it is harmless. */
export function flagName(name: string): NameFlag | undefined {
  if (HARMLESS.has(name)) return undefined;
  const found = RULES.find(([names]) =>
    names.some((known) => (typeof known === 'string' ? known === name : known.test(name))),
  );
  return found?.[1];
}
