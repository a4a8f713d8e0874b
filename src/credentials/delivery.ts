// The ways in which a run gets at a credential, and which values each needs.
import { isAbsolute } from 'node:path';

import { invalid } from '../errors.js';
import { itemsOf, takeOwn } from '../own-properties.js';

/** AWS container credentials: the SDKs ask an endpoint on 127.0.0.1, again and again. */
export interface EndpointDelivery {
  /** Says which delivery it is. */
  readonly by: 'endpoint';
  /**
   * `file` (default): the caller shows a token, which it reads from a file. `none`: for SDKs that
   * know no token file; who may ask is then decided by the check of the caller alone.
   */
  readonly token?: 'file' | 'none' | undefined;
  /** AWS_REGION of the run. */
  readonly region?: string | undefined;
}

/** `credential_process` in an AWS_CONFIG_FILE of the run. */
export interface AwsProcessDelivery {
  /** Says which delivery it is. */
  readonly by: 'process';
  /** The program that asks. */
  readonly for: 'aws';
  /** Default `default`. */
  readonly profile?: string | undefined;
  /** AWS_REGION of the run. */
  readonly region?: string | undefined;
}

/** A credential helper of git, for one server and no other. */
export interface GitProcessDelivery {
  /** Says which delivery it is. */
  readonly by: 'process';
  /** The program that asks. */
  readonly for: 'git';
  /** `https://git.example`, with or without a path, gitcredentials(7). */
  readonly url: string;
}

/** A file that is written anew, in one step, each time. */
export interface FileDelivery {
  /** Says which delivery it is. */
  readonly by: 'file';
  /** Below the home of the run. Several sources may write to one: their texts follow each other. */
  readonly path: string;
  /** The text for one source; where it expired it is left out. */
  readonly render: (minted: {
    readonly values: Readonly<Record<string, string>>;
    readonly expiresAt: Date | null;
  }) => string;
  /** The variable that names the file to the programs of the run. */
  readonly variable?: string | undefined;
  /** Names of the values that are needed. */
  readonly needs?: readonly string[] | undefined;
}

/** Variables, fixed at the start: for runs that are shorter than the credential's life. */
export interface EnvDelivery {
  /** Says which delivery it is. */
  readonly by: 'env';
  /** Variable → name of the value. */
  readonly variables: Readonly<Record<string, string>>;
}

/** How a credential gets to the run. */
export type Delivery =
  EndpointDelivery | AwsProcessDelivery | GitProcessDelivery | FileDelivery | EnvDelivery;

const AWS_VALUES = ['AccessKeyId', 'SecretAccessKey', 'SessionToken'] as const;

/** Values that a mint must give for this delivery. */
export function neededValues(delivery: Delivery): readonly string[] {
  switch (delivery.by) {
    case 'endpoint':
      return AWS_VALUES;
    case 'process':
      return delivery.for === 'aws' ? AWS_VALUES : ['username', 'password'];
    case 'file':
      return delivery.needs ?? [];
    case 'env':
      return Object.values(delivery.variables);
  }
}

/** @throws {SallyportTypeError} */
export function takeDeliveries(value: unknown, option: string): Delivery[] {
  const list: readonly unknown[] = Array.isArray(value) ? itemsOf(value) : [value];
  if (list.length === 0) throw wrong(option, 'say how the run gets at it');
  return list.map((entry, index) =>
    takeDelivery(entry, list.length === 1 ? option : `${option}[${index}]`),
  );
}

const NAMES = {
  endpoint: ['by', 'token', 'region'],
  aws: ['by', 'for', 'profile', 'region'],
  git: ['by', 'for', 'url'],
  file: ['by', 'path', 'render', 'variable', 'needs'],
  env: ['by', 'variables'],
} as const;

function takeDelivery(value: unknown, option: string): Delivery {
  const { by, for: program } = (value ?? {}) as { by?: unknown; for?: unknown };
  const kind = by === 'process' ? program : by;
  if (typeof kind !== 'string' || !Object.hasOwn(NAMES, kind) || by === 'aws' || by === 'git') {
    throw wrong(
      option,
      "must have by: 'endpoint', 'file', 'env', or 'process' with for: 'aws' or 'git'",
    );
  }
  const own = takeOwn<string>(value, option, NAMES[kind as keyof typeof NAMES]);
  CHECKS[kind as keyof typeof NAMES](own, option);
  return own as unknown as Delivery;
}

type Own = Readonly<Record<string, unknown>>;

const CHECKS: Readonly<Record<keyof typeof NAMES, (own: Own, option: string) => void>> = {
  endpoint(own, option) {
    if (own['token'] !== undefined && own['token'] !== 'file' && own['token'] !== 'none') {
      throw wrong(`${option}.token`, "must be 'file' or 'none'");
    }
    requireWord(own['region'], `${option}.region`);
  },
  aws(own, option) {
    requireWord(own['profile'], `${option}.profile`);
    requireWord(own['region'], `${option}.region`);
  },
  git(own, option) {
    if (
      typeof own['url'] !== 'string' ||
      !/^https?:\/\/[^\s/@?#]+(\/[^\s?#]*)?$/.test(own['url'])
    ) {
      throw wrong(
        `${option}.url`,
        'must be an http: or https: URL without user, query and fragment',
      );
    }
  },
  file(own, option) {
    const { path, render, variable, needs } = own;
    const parts = typeof path === 'string' ? path.split('/') : [''];
    if (
      typeof path !== 'string' ||
      isAbsolute(path) ||
      path.includes('\0') ||
      parts.some((part) => ['', '.', '..'].includes(part))
    ) {
      throw wrong(`${option}.path`, 'must be a relative path below the home of the run');
    }
    if (typeof render !== 'function') throw wrong(`${option}.render`, 'must be a function');
    if (variable !== undefined && !isVariable(variable)) {
      throw wrong(`${option}.variable`, 'must be the name of a variable');
    }
    if (
      needs !== undefined &&
      !(Array.isArray(needs) && itemsOf(needs).every((it) => typeof it === 'string'))
    )
      throw wrong(`${option}.needs`, 'must be an array of names');
  },
  env(own, option) {
    const variables = own['variables'];
    if (typeof variables !== 'object' || variables === null) {
      throw wrong(`${option}.variables`, 'must be an object: variable → name of the value');
    }
    for (const [name, from] of Object.entries(variables)) {
      if (!isVariable(name) || typeof from !== 'string') {
        throw wrong(`${option}.variables`, 'must have names of variables and of values');
      }
    }
  },
};

const isVariable = (name: unknown): boolean =>
  typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);

/** What stands in a configuration file or a variable without quotes. */
function requireWord(value: unknown, option: string): void {
  if (value === undefined) return;
  if (typeof value === 'string' && /^[\w.-]+$/.test(value)) return;
  throw wrong(option, 'must be a word of letters, digits, ., _ and -');
}

function wrong(option: string, message: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, message);
}
