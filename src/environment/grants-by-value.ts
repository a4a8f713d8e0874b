// Values that have the shape of a credential, by the rules of secretlint where it is installed.

/** For each name what its value looks like, as clauses. */
export interface ValueJudgement {
  readonly found: ReadonlyMap<string, readonly string[]>;
  /** Why only our own few shapes were looked for, or null. */
  readonly limited: string | null;
}

type Shape = readonly [pattern: RegExp, what: string];

/** What the rules there leave out, or see in files of a certain form only. */
const SHAPES: readonly Shape[] = [
  [/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#]*:[^\s]*@/i, 'a URL with a password in it'],
  [/^eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*$/, 'a JSON web token'],
  [/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/, 'a private key'],
  [/^(AKIA|ASIA)[A-Z2-7]{16}$/, 'an access key of AWS'],
];

/** A value is looked at up to here. */
const LONGEST = 64 * 1024;
const MOST_TOGETHER = 256;
/** No rule looks past it. */
const BETWEEN = '\n;\n';

export async function judgeValues(
  variables: ReadonlyArray<readonly [name: string, value: string]>,
): Promise<ValueJudgement> {
  const found = new Map<string, string[]>();
  const add = (name: string, what: string): void => {
    const before = found.get(name);
    if (before === undefined) found.set(name, [what]);
    else if (!before.includes(what)) before.push(what);
  };
  for (const [name, value] of variables) {
    for (const [pattern, what] of SHAPES) if (pattern.test(value)) add(name, what);
  }
  const linter = await loadLinter();
  if (typeof linter === 'string') return { found, limited: linter };
  for (const batch of batchesOf(variables)) {
    for (const [name, rule] of await linter(batch)) add(name, rule);
  }
  return { found, limited: null };
}

interface Line {
  readonly name: string;
  readonly text: string;
}

/** It keeps a record of each call and searches that for each: thousands of calls would take minutes. */
function batchesOf(variables: ReadonlyArray<readonly [name: string, value: string]>): Line[][] {
  const alone: Line[][] = [];
  const batches: Line[][] = [];
  let room = 0;
  for (const [name, value] of variables) {
    const text = `${name}=${value.slice(0, LONGEST)}`;
    // Its comments switch rules off, for all that stands with them.
    if (text.includes('secretlint')) {
      alone.push([{ name, text }]);
      continue;
    }
    if (text.length > room || batches.at(-1)?.length === MOST_TOGETHER) {
      batches.push([]);
      room = LONGEST;
    }
    batches.at(-1)?.push({ name, text });
    room -= text.length;
  }
  return [...batches, ...alone];
}

type Linter = (
  lines: readonly Line[],
) => Promise<ReadonlyArray<readonly [name: string, what: string]>>;

let loaded: Promise<Linter | string> | undefined;

/** 25 ms, which only who asks for this report pays. */
function loadLinter(): Promise<Linter | string> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<Linter | string> {
  try {
    const [{ lintSource }, { creator }] = await Promise.all([
      import('@secretlint/core'),
      import('@secretlint/secretlint-rule-preset-recommend'),
    ]);
    const config = {
      rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: creator }],
    };
    return async (lines) => {
      const { messages } = await lintSource({
        // As in a file of variables: some rules look for the name as well.
        source: {
          filePath: 'environment',
          content: lines.map(({ text }) => text).join(BETWEEN),
          ext: '',
          contentType: 'text',
        },
        options: { config, maskSecrets: true },
      });
      // The message itself is not used: it repeats how long the secret is.
      return messages.map(({ ruleId, messageId, range: [start] }) => [
        findLine(lines, start),
        `${messageId} by secretlint's rule ${nameRule(ruleId)}`,
      ]);
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return `@secretlint/core and its recommended rules could not be loaded (${code ?? 'broken'})`;
  }
}

/** The name of the variable in which this place is. */
function findLine(lines: readonly Line[], place: number): string {
  let end = 0;
  const line = lines.find(({ text }) => place < (end += text.length + BETWEEN.length));
  return (line ?? lines.at(-1))?.name ?? '';
}

const nameRule = (id: string): string => id.replace(/^@secretlint\/secretlint-rule-/, '');
