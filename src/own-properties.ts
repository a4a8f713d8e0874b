// Takes what a caller wrote into an object: its own properties, known by name, and nothing else.
import { invalid } from './errors.js';

/**
 * A record without a prototype: what a library added to Object.prototype is nobody's wish. undefined
 * and null mean absent, everywhere in this package.
 *
 * @param option how the object is called in messages: `options`, `pass[2].expect`
 * @param instead what to write instead of a name that people use from habit
 * @throws {SallyportTypeError} for anything but an object, and for an unknown name
 */
export function takeOwn<Name extends string>(
  value: unknown,
  option: string,
  names: readonly Name[],
  instead: ReadonlyMap<string, string> = new Map(),
): { readonly [name in Name]?: unknown } {
  const own = Object.create(null) as Record<string, unknown>;
  if (value === undefined || value === null) return own as { readonly [name in Name]?: unknown };
  if (!isRecord(value)) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      option,
      `must be an object with ${names.join(', ')}, not ${typeName(value)}`,
    );
  }
  for (const name of Object.keys(value)) {
    if (!(names as readonly string[]).includes(name)) {
      throw invalid(
        'ERR_SALLYPORT_UNKNOWN_OPTION',
        `${option}.${name}`,
        instead.get(name) ?? `no such option; write one of ${names.join(', ')}`,
      );
    }
    const property: unknown = (value as Record<string, unknown>)[name];
    if (property !== undefined && property !== null) own[name] = property;
  }
  return own as { readonly [name in Name]?: unknown };
}

/**
 * A copy of a record of ours, whose absent fields stay absent whatever Object.prototype holds. What is
 * in it is the same: `copyOwn` goes all through.
 */
export function withoutPrototype<Fields extends object>(fields: Fields): Fields {
  return Object.assign(Object.create(null) as Fields, fields);
}

/**
 * What stands in an array, a hole as undefined. map, every and forEach pass holes over, so that a check
 * by them says nothing of what is counted or spread afterwards.
 */
export function itemsOf(list: readonly unknown[]): unknown[] {
  return Array.from(list);
}

/** Nothing that we take is nested deeper. */
const DEEPEST = 8;

/**
 * Of plain data the same, in objects without a prototype, in which nothing is but what stands there.
 * For what is read by other code than `takeOwn`, which asks the prototype too.
 */
export function copyOwn<Value>(value: Value): Value {
  return copy(value, 0) as Value;
}

function copy(value: unknown, depth: number): unknown {
  if (depth > DEEPEST) return value;
  if (Array.isArray(value)) return itemsOf(value).map((each) => copy(each, depth + 1));
  if (!isRecord(value)) return value;
  const own = Object.create(null) as Record<string, unknown>;
  for (const [name, each] of Object.entries(value)) own[name] = copy(each, depth + 1);
  return own;
}

/** An object that is nothing else: no array, Map, Set or Date. Of another realm too, as in a vm. */
export function isRecord(value: unknown): value is object {
  return typeof value === 'object' && Object.prototype.toString.call(value) === '[object Object]';
}

/** `null`, `an array`, `a Map`, `an ArrayBuffer`, `number`: for messages. */
export function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (typeof value !== 'object' || tag === 'Object') return typeof value;
  return `${/^[AEIOU]/.test(tag) ? 'an' : 'a'} ${tag}`;
}
