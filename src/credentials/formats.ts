// Files of other programs that hold a credential: pgpass, netrc, npmrc.
import { invalid } from '../errors.js';
import type { FileDelivery } from './delivery.js';

/** Where files go that are found by a variable. */
export const OWN_FOLDER = '.credentials';

export interface PgpassFile {
  /** As the program writes it: libpq compares names. */
  readonly host: string;
  /** Default 5432. */
  readonly port?: number;
  /** Default `*`: any. */
  readonly database?: string;
}

/** For libpq (psql and most drivers), read at each connection. Values: `username`, `password`. */
export function pgpassFile({ host, port = 5432, database = '*' }: PgpassFile): FileDelivery {
  const escape = (field: string): string => field.replace(/[\\:]/g, '\\$&');
  return {
    by: 'file',
    path: `${OWN_FOLDER}/pgpass`,
    variable: 'PGPASSFILE',
    needs: ['username', 'password'],
    render: ({ values }) => {
      const { username = '', password = '' } = values;
      const fields = [escape(host), port, database === '*' ? '*' : escape(database)];
      return `${[...fields, escape(username), escape(password)].join(':')}\n`;
    },
  };
}

export interface NetrcFile {
  /** The machine. */
  readonly host: string;
}

/** `.netrc` in the home of the run: curl, git and others. Values: `username`, `password`. */
export function netrcFile({ host }: NetrcFile): FileDelivery {
  requireWord(host, 'host');
  return {
    by: 'file',
    path: '.netrc',
    needs: ['username', 'password'],
    render: ({ values }) =>
      `machine ${host} login ${unquoted(values['username'])} password ${unquoted(values['password'])}\n`,
  };
}

export interface NpmrcFile {
  /** `https://registry.example/`. */
  readonly registry: string;
  /** `@scope` that is fetched from there. Default: it is the registry of all packages. */
  readonly scope?: string;
}

/** For npm, read by each process. Values: `token`. */
export function npmrcFile({ registry, scope }: NpmrcFile): FileDelivery {
  const url = URL.canParse(registry) ? new URL(registry) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'registry', 'must be an http: or https: URL');
  }
  if (scope !== undefined && !/^@[\w.-]+$/.test(scope)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'scope', 'must be @ and a name');
  }
  const path = url.pathname.replace(/\/*$/, '/');
  return {
    by: 'file',
    path: `${OWN_FOLDER}/npmrc`,
    variable: 'NPM_CONFIG_USERCONFIG',
    needs: ['token'],
    render: ({ values }) =>
      `${scope === undefined ? '' : `${scope}:`}registry=${url.origin}${path}\n` +
      `//${url.host}${path}:_authToken=${unquoted(values['token'])}\n`,
  };
}

/** These files know no quoting that all of their readers know. */
function unquoted(value = ''): string {
  if (/^[^\s"'\\#;$]+$/.test(value)) return value;
  throw new Error(
    'a value is empty or has blanks, quotes, \\, #, ; or $, which this file cannot hold',
  );
}

function requireWord(value: unknown, option: string): void {
  if (typeof value === 'string' && /^[\w.:-]+$/.test(value)) return;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, 'must be a name or an address');
}
