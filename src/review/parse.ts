// A profile from a file or a value: checked, with what to write instead of what is unknown.
import { readFileSync } from 'node:fs';

import { refused, type SallyportError } from '../errors.js';
import { isRecord } from '../own-properties.js';
import type { Profile } from './profile.js';
import { profileJsonSchema, profileSchema } from './schema.js';

/** Of a message: the first says most. */
const MOST_NAMED = 3;

interface Issue {
  readonly code?: string;
  readonly path: ReadonlyArray<PropertyKey>;
  readonly message: string;
  readonly keys?: readonly string[];
  readonly errors?: ReadonlyArray<readonly Issue[]>;
}

/** @throws {SallyportError} `ERR_SALLYPORT_INVALID_PROFILE`, naming each fault by its path */
export function parseProfile(value: unknown, where = 'profile'): Profile {
  if (!isRecord(value)) throw faulty(where, ['must be an object']);
  const result = profileSchema().safeParse(value);
  if (!result.success) {
    const issues = result.error.issues as unknown as readonly Issue[];
    // A name that is mistyped is also one that is missing: the first says how to mend both.
    const isUnknown = ({ code }: Issue): boolean => code === 'unrecognized_keys';
    const ordered = [...issues.filter(isUnknown), ...issues.filter((each) => !isUnknown(each))];
    throw faulty(where, ordered.flatMap(describeIssue));
  }
  const faults = [...findLost(value), ...findContradictions(result.data)];
  if (faults.length > 0) throw faulty(where, faults);
  return result.data;
}

/** @throws {SallyportError} as `parseProfile`, and for a file that cannot be read or is no JSON */
export function readProfile(path: string | URL): Profile {
  const where = String(path);
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // A syntax error's own message quotes the text, which may be anything.
    const { code } = error as NodeJS.ErrnoException;
    throw faulty(where, [code === undefined ? 'is no JSON' : `cannot be read: ${code}`]);
  }
  return parseProfile(value, where);
}

function faulty(where: string, faults: readonly string[]): SallyportError {
  const named = faults.slice(0, MOST_NAMED).join('; ');
  const more = faults.length > MOST_NAMED ? `; ${faults.length - MOST_NAMED} more` : '';
  return refused('ERR_SALLYPORT_INVALID_PROFILE', `${where}: ${named}${more}`, {
    stage: 'review',
    stagePath: where,
    stageSource: 'reported',
  });
}

function describeIssue(issue: Issue): string[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = knownNames(issue.path);
    return (issue.keys ?? []).map((key) => {
      const near = nearest(key, known);
      const instead =
        near === null
          ? known.length === 0
            ? ''
            : `: write one of ${known.join(', ')}`
          : `: did you mean ${near}?`;
      return `${path === '' ? key : `${path}.${key}`} is unknown${instead}`;
    });
  }
  // Of several forms the one that comes closest says what is wrong.
  if (issue.code === 'invalid_union' && issue.errors !== undefined && issue.errors.length > 0) {
    const closest = [...issue.errors].sort((a, b) => depth(b) - depth(a))[0] ?? [];
    const inner = closest.flatMap((each) =>
      describeIssue({ ...each, path: [...issue.path, ...each.path] }),
    );
    if (inner.length > 0) return inner;
  }
  const isMissing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
  return [`${path === '' ? 'it' : path}: ${isMissing ? 'is missing' : issue.message}`];
}

function depth(issues: readonly Issue[]): number {
  const isUnknown = issues.some(({ code }) => code === 'unrecognized_keys');
  return Math.max(0, ...issues.map(({ path }) => path.length)) + (isUnknown ? 1 : 0);
}

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
}

/** The names that the schema has at a place. */
function knownNames(path: ReadonlyArray<PropertyKey>): string[] {
  let nodes: Node[] = [profileJsonSchema()];
  for (const step of path) {
    nodes = expand(nodes).flatMap((node) => {
      const next = typeof step === 'number' ? node.items : node.properties?.[String(step)];
      return next === undefined ? [] : [next];
    });
  }
  const names = expand(nodes).flatMap((node) => Object.keys(node.properties ?? {}));
  return [...new Set(names)];
}

function expand(nodes: readonly Node[]): Node[] {
  return nodes.flatMap((node) => [node, ...(node.anyOf ?? []), ...(node.oneOf ?? [])]);
}

/** Null where none is near. */
export function nearest(name: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let least = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const cost = left[i - 1] === right[j - 1] ? 0 : 1;
      next[j] = Math.min((next[j - 1] ?? 0) + 1, (row[j] ?? 0) + 1, (row[j - 1] ?? 0) + cost);
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

/** What the parser of the form leaves out, without a word. */
function findLost(value: object): string[] {
  const { fixed } = (value as Profile).environment;
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
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) faults.push(`environment: ${twice} stands there twice`);
  const targets = (descriptors ?? []).map(({ target }) => target);
  const again = targets.find((target, index) => targets.indexOf(target) !== index);
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
