// Variables as the caller wrote them → a record without a prototype; malformed ones are refused.
import { invalid } from '../errors.js';
import { isRecord, typeName } from '../own-properties.js';
import { requirePermissions } from '../runtime.js';

export type Variables = Readonly<Record<string, string>>;

/**
 * Own enumerable strings; undefined and null mean absent. A polluted Object.prototype adds nothing.
 * Messages name positions and well-formed names, never values.
 */
export function takeVariables(env: unknown, option: string): Record<string, string> {
  if (!isRecord(env)) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      option,
      `must be an object of variables, not ${typeName(env)}; for env also createEnvironment({ … }) or 'inherit'`,
    );
  }
  const variables = emptyRecord();
  for (const [name, value] of takeEntries(env, option)) {
    variables[name] = takeValue(value, `${option}.${name}`);
  }
  return variables;
}

/** Names checked, values not yet; what is undefined or null is left out. A getter is asked once. */
export function takeEntries(env: object, option: string): Array<[name: string, value: unknown]> {
  return Object.keys(env).flatMap((key, index): Array<[string, unknown]> => {
    const value: unknown = (env as Record<string, unknown>)[key];
    if (value === undefined || value === null) return [];
    return [[takeName(key, `name ${index + 1} of ${option}`), value]];
  });
}

export function takeValue(value: unknown, position: string): string {
  if (typeof value !== 'string') {
    throw malformed(position, `must be a string, not ${typeName(value)}`);
  }
  const nul = value.indexOf('\0');
  if (nul !== -1) throw malformed(position, `has a NUL at position ${nul}`);
  return value;
}

/** A malformed name is not repeated: somebody who wrote `NAME=secret` put a value there. */
export function takeName(name: unknown, position: string): string {
  if (typeof name !== 'string')
    throw malformed(position, `must be a string, not ${typeName(name)}`);
  if (name === '') throw malformed(position, 'is empty');
  if (name.includes('=')) throw malformed(position, "has a '='");
  if (name.includes('\0')) throw malformed(position, 'has a NUL');
  return name;
}

export function malformed(position: string, message: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ENVIRONMENT', position, message);
}

export function takeList(value: unknown, option: string): unknown[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, 'must be an array');
  }
  return Array.from(value);
}

export function takeReason(reason: unknown, position: string): { reason?: string } {
  if (reason === undefined) return {};
  if (typeof reason === 'string' && reason.trim() !== '') return { reason };
  throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', position, 'must be text that is not empty');
}

/** @returns our own value; undefined where the variable is not set */
export function ownVariable(name: string): string | undefined {
  requirePermissions();
  const value = process.env[name];
  // Own: a polluted Object.prototype shines through process.env as well.
  return value !== undefined && Object.hasOwn(process.env, name) ? value : undefined;
}

// Without a prototype, a variable called `__proto__` is one like any other.
export function emptyRecord(): Record<string, string> {
  return Object.create(null) as Record<string, string>;
}
