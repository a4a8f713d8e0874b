// Objects that are known by their class, where two copies of this package are loaded in one process.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { invalid } from './errors.js';

/** Of a prototype: a function that names its copy. Registered, so that every copy finds it. */
const COPY = Symbol.for('sallyport.copy');

/** Whose constructor may be private. */
interface Class<T extends object> {
  readonly prototype: T;
  [Symbol.hasInstance](value: unknown): boolean;
}

export function markAsOurs(ours: Class<object>): void {
  Object.defineProperty(ours.prototype, COPY, { value: nameCopy });
}

/**
 * `instanceof`, for a class that was marked.
 *
 * @throws {SallyportTypeError} where it is of another copy: that is no mistake in the value
 */
export function isOurs<T extends object>(
  value: unknown,
  ours: Class<T>,
  option: string,
): value is T {
  if (value instanceof ours) return true;
  if (typeof value !== 'object' || value === null || !(COPY in value)) return false;
  const copy = value[COPY] as () => string;
  // Of another of our classes: a mistake.
  if (copy === nameCopy) return false;
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    option,
    `was made by another copy of sallyport (${copy()}; this one is ${nameCopy()}): make it by the copy that is to use it, or install one only ('npm ls sallyport' shows them)`,
  );
}

/** `1.2.3 in '/srv/app/node_modules/sallyport/dist'`. On the error path only. */
function nameCopy(): string {
  try {
    const text = readFileSync(join(__dirname, '..', 'package.json'), 'utf8');
    const { name, version } = JSON.parse(text) as { name?: unknown; version?: unknown };
    // Above the code of a bundle is the package that was bundled.
    if (name === 'sallyport') return `${String(version)} in '${__dirname}'`;
  } catch {
    // Bundled, without its package.
  }
  return `in '${__dirname}'`;
}
