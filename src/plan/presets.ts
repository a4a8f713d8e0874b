// Lists of names that go together, and caches of tools under the real HOME. Both are asked for by name.

/** Each name passes where the parent has it. None of them makes a program run code. */
export const PRESETS = {
  node: [
    'NODE_ENV',
    'NODE_NO_WARNINGS',
    'NODE_DISABLE_COLORS',
    'NO_COLOR',
    'FORCE_COLOR',
    'COREPACK_ENABLE_DOWNLOAD_PROMPT',
  ],
  git: [
    'GIT_AUTHOR_NAME',
    'GIT_AUTHOR_EMAIL',
    'GIT_AUTHOR_DATE',
    'GIT_COMMITTER_NAME',
    'GIT_COMMITTER_EMAIL',
    'GIT_COMMITTER_DATE',
    'GIT_MERGE_AUTOEDIT',
    'EMAIL',
  ],
  python: [
    'PYTHONUNBUFFERED',
    'PYTHONDONTWRITEBYTECODE',
    'PYTHONIOENCODING',
    'PYTHONUTF8',
    'PYTHONHASHSEED',
    'PYTHONNOUSERSITE',
    'PIP_NO_INPUT',
    'PIP_DISABLE_PIP_VERSION_CHECK',
  ],
  proxy: [
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'ALL_PROXY',
    'NO_PROXY',
    'http_proxy',
    'https_proxy',
    'all_proxy',
    'no_proxy',
  ],
} as const satisfies Record<string, readonly string[]>;

/** Names of variables that go together. */
export type PresetName = keyof typeof PRESETS;

interface Cache {
  /** Below the real HOME. */
  readonly directory: string;
  /** The variable by which the tool finds it. */
  readonly variable: string;
  /** Variables that keep the tool from writing there. */
  readonly still: Readonly<Record<string, string>>;
}

export const CACHES = {
  playwright: {
    directory: '.cache/ms-playwright',
    variable: 'PLAYWRIGHT_BROWSERS_PATH',
    still: { PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1', PLAYWRIGHT_SKIP_BROWSER_GC: '1' },
  },
  corepack: {
    directory: '.cache/node/corepack',
    variable: 'COREPACK_HOME',
    still: { COREPACK_ENABLE_NETWORK: '0', COREPACK_DEFAULT_TO_LATEST: '0' },
  },
  rustup: {
    directory: '.rustup',
    variable: 'RUSTUP_HOME',
    still: { RUSTUP_AUTO_INSTALL: '0' },
  },
} as const satisfies Record<string, Cache>;

/** Caches of tools under the real HOME that a run can be let read. */
export type CacheName = keyof typeof CACHES;
