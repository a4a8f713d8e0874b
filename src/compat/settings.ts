// The options of a replaced child_process, from an object or from SALLYPORT_REGISTER.
import { isAbsolute } from 'node:path';

import { invalid } from '../errors.js';
import { itemsOf, takeOwn, typeName } from '../own-properties.js';
import { takeFlag, takeString } from '../plan/options.js';

/** What `install` takes; in SALLYPORT_REGISTER as `name=value`. */
export interface InstallOptions {
  /**
   * `inherit` (the default): what `env` says, or all that this process has, as in Node. `allowlist`:
   * of what a child would merely inherit only PATH, LANG, LC_ALL, TZ, TERM and `variables`.
   */
  environment?: 'inherit' | 'allowlist' | undefined;
  /** Names that the allowlist has besides. */
  variables?: readonly string[] | undefined;
  /**
   * Descriptors that every child receives, at the same number, where it would have from a plain spawn:
   * where they are open without close-on-exec.
   */
  pass?: readonly number[] | undefined;
  /**
   * Tells of each child whose plain spawn would have handed over more. `stderr`: a line for people;
   * an absolute path: a line of JSON, appended to that file. Default: tells nothing.
   */
  report?: 'stderr' | (string & {}) | undefined;
  /** no_new_privs for every child: setuid programs such as sudo then gain nothing. Default false. */
  noNewPrivileges?: boolean | undefined;
  /** Programs that are left to Node: names as they are called, or the last parts of their paths. */
  except?: readonly string[] | undefined;
}

/** Options after validation. */
export interface Settings {
  /** undefined: all. */
  readonly allowedVariables: readonly string[] | undefined;
  readonly pass: readonly number[];
  readonly report: string | undefined;
  readonly noNewPrivileges: boolean;
  readonly except: ReadonlySet<string>;
}

const NAMES = ['environment', 'variables', 'pass', 'report', 'noNewPrivileges', 'except'] as const;

/** @throws {SallyportTypeError} */
export function takeSettings(options: unknown): Settings {
  const taken = takeOwn(options, 'options', NAMES);
  const environment = taken.environment ?? 'inherit';
  if (environment !== 'inherit' && environment !== 'allowlist') {
    throw wrong('environment', "must be 'inherit' or 'allowlist'");
  }
  const variables = takeStrings(taken.variables, 'variables');
  if (variables.length > 0 && environment === 'inherit') {
    throw wrong('variables', "needs environment: 'allowlist'; otherwise all go along");
  }
  return Object.freeze({
    allowedVariables: environment === 'allowlist' ? variables : undefined,
    pass: takeDescriptors(taken.pass),
    report: taken.report === undefined ? undefined : takeReport(taken.report),
    noNewPrivileges: takeFlag(taken.noNewPrivileges, 'noNewPrivileges', false),
    except: new Set(takeStrings(taken.except, 'except')),
  });
}

function wrong(option: string, message: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, message);
}

function takeStrings(value: unknown, option: string): string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    throw wrong(option, `must be an array of strings, not ${typeName(value)}`);
  }
  return itemsOf(value).map((entry, index) => takeString(entry, `${option}[${index}]`));
}

function takeDescriptors(value: unknown): number[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw wrong('pass', 'must be an array of descriptor numbers');
  return itemsOf(value).map((fd, index) => {
    if (typeof fd !== 'number' || !Number.isInteger(fd) || fd < 3 || fd > 0x7fffffff) {
      throw invalid(
        'ERR_SALLYPORT_INVALID_DESCRIPTOR',
        `pass[${index}]`,
        'must be a descriptor number from 3; stdio says what 0, 1 and 2 are',
      );
    }
    return fd;
  });
}

function takeReport(value: unknown): string {
  const report = takeString(value, 'report');
  // Each process appends by itself, and may have another directory.
  if (report === 'stderr' || isAbsolute(report)) return report;
  throw wrong('report', "must be 'stderr' or an absolute path");
}

/**
 * `SALLYPORT_REGISTER`: options separated by `;`, each `name=value`, lists separated by `,`.
 *
 * @throws {SallyportTypeError}
 */
export function parseSettings(text: string): InstallOptions {
  const options: Record<string, unknown> = {};
  for (const part of text.split(';')) {
    if (part.trim() === '') continue;
    const at = part.indexOf('=');
    const name = (at === -1 ? part : part.slice(0, at)).trim();
    const value = at === -1 ? '' : part.slice(at + 1).trim();
    const option = `SALLYPORT_REGISTER: ${name}`;
    if (Object.hasOwn(options, name)) throw wrong(option, 'is there twice');
    if (at === -1) throw wrong(option, 'must be name=value');
    options[name] = parseValue(name, value, option);
  }
  return options;
}

function parseValue(name: string, value: string, option: string): unknown {
  if (name === 'noNewPrivileges') {
    if (value === 'true' || value === 'false') return value === 'true';
    throw wrong(option, 'must be true or false');
  }
  if (name !== 'variables' && name !== 'pass' && name !== 'except') return value;
  const words = value
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (name !== 'pass') return words;
  return words.map((word) => (/^\d+$/.test(word) ? Number(word) : word));
}

/** Whether a program is left to Node. */
export function isExcepted(file: string, { except }: Settings): boolean {
  return except.size > 0 && (except.has(file) || except.has(file.slice(file.lastIndexOf('/') + 1)));
}
