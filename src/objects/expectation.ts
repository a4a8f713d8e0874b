// What the caller says a descriptor is, and the comparison with what it really is.
import { invalid, refused } from '../errors.js';
import { takeOwn } from '../own-properties.js';
import { EXPECTED_KINDS, isExpectedKind, type ExpectedKind } from './kind.js';
import { isExactly, isReadable, phraseObject, type DescriptorObject } from './object.js';

/** Checked before anything starts. What is left out is not checked. */
export interface Expectation {
  /** What it is. */
  kind: ExpectedKind;
  /** What it permits, exactly. */
  access: 'read' | 'write' | 'both';
  /** Absolute path of a file, directory, FIFO or device, as /proc/self/fd shows it. */
  path?: string | undefined;
  /** st_dev, as fs.Stats has it. */
  dev?: number | bigint | undefined;
  /** st_ino, as fs.Stats has it (bigint where it may exceed 2^53). */
  ino?: number | bigint | undefined;
  /** Local address of a socket or listener: `127.0.0.1:80`, `[::1]:80`, `/run/x.sock`, `@abstract`. */
  address?: string | undefined;
}

const FIELDS = ['kind', 'access', 'path', 'dev', 'ino', 'address'] as const;
const ACCESSES = ['read', 'write', 'both'];

/** @throws {SallyportTypeError} naming `option` and what to write instead */
export function takeExpectation(value: unknown, option: string): Expectation {
  const given = takeOwn(value, option, FIELDS);
  requireOneOf(given.kind, EXPECTED_KINDS, `${option}.kind`);
  requireOneOf(given.access, ACCESSES, `${option}.access`);
  for (const name of ['path', 'address'] as const) {
    const text = given[name];
    if (text === undefined || (typeof text === 'string' && !text.includes('\0'))) continue;
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      `${option}.${name}`,
      'must be a string without NUL',
    );
  }
  for (const name of ['dev', 'ino'] as const) {
    const number = given[name];
    if (number === undefined || typeof number === 'bigint') continue;
    if (typeof number !== 'number' || !Number.isSafeInteger(number)) {
      throw invalid(
        'ERR_SALLYPORT_INVALID_ARGUMENT',
        `${option}.${name}`,
        'must be a safe integer or a bigint',
      );
    }
  }
  return given as Expectation;
}

function requireOneOf(value: unknown, allowed: readonly string[], option: string): void {
  if (typeof value === 'string' && allowed.includes(value)) return;
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    option,
    `must be one of ${allowed.map((a) => `'${a}'`).join(', ')}`,
  );
}

/** @throws {SallyportError} `ERR_SALLYPORT_UNEXPECTED_OBJECT`, saying what the descriptor really is */
export function requireExpected(fd: number, object: DescriptorObject, expected: Expectation): void {
  const difference = findDifference(object, expected);
  if (difference === null) return;
  throw refused(
    'ERR_SALLYPORT_UNEXPECTED_OBJECT',
    `descriptor ${fd} is ${phraseObject(object)}, dev ${object.dev} inode ${object.inode}: expected ${difference}`,
    { stage: 'descriptor', stagePath: String(fd), stageSource: 'reported' },
  );
}

/** Null where the object is what was expected. */
export function findDifference(object: DescriptorObject, expected: Expectation): string | null {
  if (!isExpectedKind(object.kind, expected.kind)) return `kind ${expected.kind}`;
  if (object.access !== expected.access) return `access ${expected.access}`;
  if (expected.path !== undefined && !isExactly(object.target, expected.path)) {
    return `path ${phraseName(expected.path)}`;
  }
  if (expected.dev !== undefined && BigInt(object.dev) !== BigInt(expected.dev)) {
    return `dev ${expected.dev}`;
  }
  if (expected.ino !== undefined && BigInt(object.inode) !== BigInt(expected.ino)) {
    return `inode ${expected.ino}`;
  }
  if (expected.address !== undefined && !isExactly(object.socket?.local, expected.address)) {
    return `address ${phraseName(expected.address)}`;
  }
  return null;
}

function phraseName(name: string): string {
  return isReadable(name)
    ? name
    : `${name}, which may be any name that is no UTF-8: give dev and ino instead`;
}
