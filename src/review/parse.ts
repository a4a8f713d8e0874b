// A profile from a file or a value: checked, with what to write instead of what is unknown.
import { invalid, refused, type SallyportError } from '../errors.js';
import { DocumentFault, readDocument } from '../json-document.js';
import { copyOwn, isRecord } from '../own-properties.js';
import { describeFaults, phraseFaults, shorten, type Issue } from '../schema-faults.js';
import type { Profile } from './profile.js';
import { profileJsonSchema, profileSchema } from './schema.js';

/** @throws {SallyportError} `ERR_SALLYPORT_INVALID_PROFILE`, naming each fault by its path */
export function parseProfile(value: unknown, where = 'profile'): Profile {
  if (!isRecord(value)) throw faulty(where, ['must be an object']);
  const own = copyOwn(value) as Profile;
  const result = profileSchema().safeParse(own);
  if (!result.success) {
    const issues = result.error.issues as unknown as readonly Issue[];
    throw faulty(where, describeFaults(issues, profileJsonSchema));
  }
  const faults = [...findLost(own), ...findContradictions(own)];
  if (faults.length > 0) throw faulty(where, faults);
  // Not what the parser made: where Object.prototype has such a name it may not have set the member.
  return structuredClone(own);
}

/**
 * @throws {SallyportError} as `parseProfile`, and for a file that cannot be read or is no JSON
 * @throws {SallyportTypeError} for a path with a NUL
 */
export function readProfile(path: string | URL): Profile {
  const where = String(path);
  if (where.includes('\0')) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'path', 'must be a path without NUL');
  }
  let value: unknown;
  try {
    value = readDocument(path);
  } catch (error) {
    throw error instanceof DocumentFault ? faulty(where, [error.message]) : error;
  }
  return parseProfile(value, where);
}

function faulty(where: string, faults: readonly string[]): SallyportError {
  return refused('ERR_SALLYPORT_INVALID_PROFILE', `${where}: ${phraseFaults(faults)}`, {
    stage: 'review',
    stagePath: where,
    stageSource: 'reported',
  });
}

/** What the parser of the form leaves out, without a word. */
function findLost({ environment: { fixed } }: Profile): string[] {
  if (!Object.hasOwn(fixed, '__proto__')) return [];
  return ['environment.fixed.__proto__: cannot be fixed: write it under passed or granted'];
}

/** What a schema of the form cannot say. */
function findContradictions({ environment, descriptors, channels, executable }: Profile): string[] {
  const faults: string[] = [];
  const names = [
    ...Object.keys(environment.fixed),
    ...environment.passed.map(({ name }) => name),
    ...environment.granted.map(({ name }) => name),
  ];
  const twice = findTwice(names);
  if (twice !== undefined) faults.push(`environment: ${shorten(twice)} stands there twice`);
  const targets = (descriptors ?? []).map(({ target }) => target);
  const again = findTwice(targets);
  if (again !== undefined) faults.push(`descriptors: ${again} stands there twice`);
  for (const [name, { channel, object }] of Object.entries(channels ?? {})) {
    const needsObject = channel === 'inherit' || channel === 'descriptor';
    if (needsObject && object === undefined) {
      faults.push(
        `channels.${name}: '${channel}' must say which object: write object: { kind, access }`,
      );
    }
    if (!needsObject && object !== undefined) {
      faults.push(
        `channels.${name}: '${channel}' has no object: leave it out, or write channel: 'descriptor'`,
      );
    }
    if (channel === 'stdout' && name !== 'stderr') {
      faults.push(`channels.${name}: 'stdout' is for stderr only`);
    }
  }
  const program = executable.path.split('/').pop() ?? '';
  if (executable.kind === 'native' && SHELLS.has(program)) {
    faults.push(`executable.path: ${program} is a shell: name the program itself, or kind 'any'`);
  }
  return faults;
}

/** Undefined where each stands there once. */
function findTwice<Value>(values: readonly Value[]): Value | undefined {
  const seen = new Set<Value>();
  return values.find((value) => seen.size === seen.add(value).size);
}

/** Programs whose arguments are programs. */
export const SHELLS: ReadonlySet<string> = new Set([
  'sh',
  'bash',
  'dash',
  'zsh',
  'ksh',
  'mksh',
  'ash',
  'fish',
  'csh',
  'tcsh',
  'busybox',
]);
