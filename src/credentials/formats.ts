// Files of other programs that hold a credential: pgpass, netrc, npmrc, and any by a template.
import { invalid } from '../errors.js';
import { takeOwn } from '../own-properties.js';
import type { FileDelivery } from './delivery.js';

/** Where files go that are found by a variable. */
export const OWN_FOLDER = '.credentials';

/** What `pgpassFile` takes. */
export interface PgpassFile {
  /** As the program writes it: libpq compares names. */
  readonly host: string;
  /** Default 5432. */
  readonly port?: number | undefined;
  /** Default `*`: any. */
  readonly database?: string | undefined;
}

/** For libpq (psql and most drivers), read at each connection. Values: `username`, `password`. */
export function pgpassFile(options: PgpassFile): FileDelivery {
  const own = takeOwn(options, 'pgpassFile', ['host', 'port', 'database']);
  const { port = 5432, database = '*' } = own as Partial<PgpassFile>;
  const host = takeLine(own.host, 'host');
  takeLine(database, 'database');
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'port', 'must be a port from 1 to 65535');
  }
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

/** What `netrcFile` takes. */
export interface NetrcFile {
  /** The machine. */
  readonly host: string;
}

/** `.netrc` in the home of the run: curl, git and others. Values: `username`, `password`. */
export function netrcFile(options: NetrcFile): FileDelivery {
  const host = takeWord(takeOwn(options, 'netrcFile', ['host']).host, 'host');
  return {
    by: 'file',
    path: '.netrc',
    needs: ['username', 'password'],
    render: ({ values }) =>
      `machine ${host} login ${unquoted(values['username'])} password ${unquoted(values['password'])}\n`,
  };
}

/** What `npmrcFile` takes. */
export interface NpmrcFile {
  /** `https://registry.example/`. */
  readonly registry: string;
  /** `@scope` that is fetched from there. Default: it is the registry of all packages. */
  readonly scope?: string | undefined;
}

/** For npm, read by each process. Values: `token`. */
export function npmrcFile(options: NpmrcFile): FileDelivery {
  const { registry, scope } = takeOwn(options, 'npmrcFile', ['registry', 'scope']);
  const url =
    typeof registry === 'string' && URL.canParse(registry) ? new URL(registry) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'registry', 'must be an http: or https: URL');
  }
  if (scope !== undefined && !(typeof scope === 'string' && /^@[\w.-]+$/.test(scope))) {
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

/** A file of any form. */
export interface TemplateFile {
  /** Below the home of the run. */
  readonly path: string;
  /**
   * The text, with `{{name}}` where a value stands; `{{name|json}}` as it stands within quotes in JSON,
   * `{{name|url}}` as in a part of a URL.
   */
  readonly template: string;
  /** The variable that names the file to the programs of the run. */
  readonly variable?: string | undefined;
}

const PLACE = /\{\{\s*([\w.-]+)\s*(?:\|\s*(\w+)\s*)?\}\}/g;

const FORMS: Readonly<Record<string, (value: string) => string>> = {
  '': (value) => value,
  json: (value) => JSON.stringify(value).slice(1, -1),
  url: encodeURIComponent,
};

/** Any text. Values: those that it names. */
export function templateFile(options: TemplateFile): FileDelivery {
  const own = takeOwn(options, 'templateFile', ['path', 'template', 'variable']);
  const { path, template, variable } = own as Partial<TemplateFile>;
  if (typeof template !== 'string') {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'template', 'must be text');
  }
  const places = [...template.matchAll(PLACE)];
  const needs = [...new Set(places.map(([, name = '']) => name))];
  if (needs.length === 0) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'template', 'must have a {{name}} of a value');
  }
  const unknown = places.find(([, , form = '']) => !Object.hasOwn(FORMS, form));
  if (unknown !== undefined) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'template',
      `has {{${unknown[1] ?? ''}|${unknown[2] ?? ''}}}: the forms are json and url`,
    );
  }
  return {
    by: 'file',
    path: path as string,
    ...(variable === undefined ? undefined : { variable }),
    needs,
    render: ({ values }) =>
      template.replaceAll(PLACE, (_, name: string, form = '') =>
        (FORMS[form as string] ?? String)(values[name] ?? ''),
      ),
  };
}

/** These files know no quoting that all of their readers know. */
function unquoted(value = ''): string {
  if (/^[^\s"'\\#;$]+$/.test(value)) return value;
  throw new Error(
    'a value is empty or has blanks, quotes, \\, #, ; or $, which this file cannot hold',
  );
}

function takeWord(value: unknown, option: string): string {
  if (typeof value === 'string' && /^[\w.:-]+$/.test(value)) return value;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, 'must be a name or an address');
}

/** What may stand in a line of a file. */
function takeLine(value: unknown, option: string): string {
  if (typeof value === 'string' && /^[^\0\r\n]+$/.test(value)) return value;
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, 'must be text without a line end');
}
