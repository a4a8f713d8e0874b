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
  for (const [name, value] of variables) {
    for (const rule of await linter(name, value.slice(0, LONGEST))) add(name, rule);
  }
  return { found, limited: null };
}

type Linter = (name: string, value: string) => Promise<readonly string[]>;

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
    return async (name, value) => {
      const { messages } = await lintSource({
        // As in a file of variables: some rules look for the name as well.
        source: {
          filePath: 'environment',
          content: `${name}=${value}`,
          ext: '',
          contentType: 'text',
        },
        options: { config, maskSecrets: true },
      });
      // The message itself is not used: it repeats how long the secret is.
      return messages.map(
        ({ ruleId, messageId }) => `${messageId} by secretlint's rule ${nameRule(ruleId)}`,
      );
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return `@secretlint/core and its recommended rules could not be loaded (${code ?? 'broken'})`;
  }
}

const nameRule = (id: string): string => id.replace(/^@secretlint\/secretlint-rule-/, '');
