// What a schema found wrong in somebody's JSON → clauses that say what to write instead. No value is
// in them.

/** As zod has it. */
export interface Issue {
  readonly code?: string;
  readonly path: ReadonlyArray<PropertyKey>;
  readonly message: string;
  readonly keys?: readonly string[];
  readonly errors?: ReadonlyArray<readonly Issue[]>;
  readonly discriminator?: string;
}

/** Of a JSON Schema. */
export interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
  readonly const?: string | number | boolean;
}

/** Of a message: the first says most. */
const MOST_NAMED = 3;
/** Of somebody's name in it. */
const LONGEST_NAME = 80;

/**
 * One for each fault; those beyond `MOST_NAMED` are there to be counted.
 *
 * @param schema the same as JSON Schema: for the names that there are at a place
 */
export function describeFaults(issues: readonly Issue[], schema: () => SchemaNode): string[] {
  let made: SchemaNode | undefined;
  const once = (): SchemaNode => (made ??= makeOrNone(schema));
  // A name that is mistyped is also one that is missing: the first says how to mend both.
  const isUnknown = ({ code }: Issue): boolean => code === 'unrecognized_keys';
  const ordered = [...issues.filter(isUnknown), ...issues.filter((each) => !isUnknown(each))];
  const faults: string[] = [];
  for (const issue of ordered) {
    const described = faults.length < MOST_NAMED ? describeIssue(issue, once) : issue.keys;
    // One by one: there may be more of them than a call takes.
    for (const fault of described ?? ['']) faults.push(fault);
  }
  return faults;
}

/** What a library added to Object.prototype is in the way of who makes it: then no name is near. */
function makeOrNone(schema: () => SchemaNode): SchemaNode {
  try {
    return schema();
  } catch {
    return {};
  }
}

/** The first of them in one sentence, and how many more there are. */
export function phraseFaults(faults: readonly string[]): string {
  const named = faults.slice(0, MOST_NAMED).join('; ');
  return faults.length > MOST_NAMED ? `${named}; ${faults.length - MOST_NAMED} more` : named;
}

/** A name is somebody's: as long as they like. */
export function shorten(name: string): string {
  return name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME)}…`;
}

function describeIssue(issue: Issue, schema: () => SchemaNode): string[] {
  const path = issue.path.map((step) => shorten(String(step))).join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = knownNames(findNodes(schema(), issue.path));
    return (issue.keys ?? []).map((key, index) => {
      if (index >= MOST_NAMED) return key;
      const near = nearest(key, known);
      const instead =
        near === null
          ? known.length === 0
            ? ''
            : `: write one of ${known.join(', ')}`
          : `: did you mean ${near}?`;
      return `${path === '' ? '' : `${path}.`}${shorten(key)} is unknown${instead}`;
    });
  }
  if (issue.code === 'invalid_union' && issue.errors !== undefined) {
    // Of several forms the one that comes closest says what is wrong.
    const closest = [...issue.errors].sort((a, b) => depth(b) - depth(a))[0] ?? [];
    const inner = closest.flatMap((each) =>
      describeIssue({ ...each, path: [...issue.path, ...each.path] }, schema),
    );
    if (inner.length > 0) return inner;
    // None comes close: the word is missing that says which it is.
    const words = findNodes(schema(), issue.path).flatMap((node) => node.const ?? []);
    if (issue.discriminator !== undefined && words.length > 0) {
      return [`${path}: must be one of ${[...new Set(words)].join(', ')}`];
    }
  }
  const isMissing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
  return [`${path === '' ? 'it' : path}: ${isMissing ? 'is missing' : issue.message}`];
}

function depth(issues: readonly Issue[]): number {
  const isUnknown = issues.some(({ code }) => code === 'unrecognized_keys');
  const deepest = issues.reduce((most, { path }) => Math.max(most, path.length), 0);
  return deepest + (isUnknown ? 1 : 0);
}

/** What the schema has at a place, in all of its forms. */
function findNodes(schema: SchemaNode, path: ReadonlyArray<PropertyKey>): SchemaNode[] {
  let nodes = expand([schema]);
  for (const step of path) {
    nodes = expand(
      nodes.flatMap((node) => {
        const next = typeof step === 'number' ? node.items : node.properties?.[String(step)];
        return next === undefined ? [] : [next];
      }),
    );
  }
  return nodes;
}

function knownNames(nodes: readonly SchemaNode[]): string[] {
  return [...new Set(nodes.flatMap((node) => Object.keys(node.properties ?? {})))];
}

/** Unions may stand in unions. */
function expand(nodes: readonly SchemaNode[]): SchemaNode[] {
  return nodes.flatMap((node) => [node, ...expand(node.anyOf ?? []), ...expand(node.oneOf ?? [])]);
}

/** Null where none is near. */
function nearest(name: string, known: readonly string[]): string | null {
  let best: string | null = null;
  if (name.length > LONGEST_NAME) return null;
  let least = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    // That many letters have to be put in or left out.
    if (Math.abs(name.length - candidate.length) >= least) continue;
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
