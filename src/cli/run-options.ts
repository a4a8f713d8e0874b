// The options of `sallyport run` → options of spawn().
import type { PassEntry, SpawnOptions } from '../plan/options.js';
import type { EnvironmentFlags } from './environment-flags.js';
import { UsageError } from './failure.js';
import { belongsToNode, isOpen } from './inherited.js';

/** As commander gives them. */
export interface RunFlags extends EnvironmentFlags {
  pass?: string[];
  cwd?: string;
  session?: string;
  allowNewPrivileges?: boolean;
  deadline?: string;
  stall?: string;
  grace?: string;
  drain?: string;
  maxOutput?: string;
  limit?: string[];
  user?: string;
  report?: string;
  quiet?: boolean;
  status?: boolean;
  /** False with --no-shield. */
  shield?: boolean;
  explain?: boolean;
  json?: boolean;
  profile?: string;
  credentials?: string;
  /** False with --no-mask-credentials. */
  maskCredentials?: boolean;
}

export interface Variables {
  allow: string[];
  set: Record<string, string>;
}

export function parseSession(session: string | undefined): SpawnOptions['session'] {
  if (session === undefined) return undefined;
  if (session === 'new' || session === 'group' || session === 'inherit') return session;
  throw new UsageError('--session: not a session: write new, group or inherit');
}

/** `N` or `N=M`: our number, and its number in the child. */
export function parsePass(written: readonly string[] = []): PassEntry[] {
  const entries = written.map(parsePassEntry);
  const targets = entries.map(({ fd, as }) => as ?? fd);
  const twice = targets.find((target, index) => targets.indexOf(target) !== index);
  if (twice === undefined) return entries;
  throw new UsageError(
    `--pass: two descriptors for number ${twice} in the child: give one of them another, as in --pass ${twice}=${Math.max(...targets) + 1}`,
  );
}

function parsePassEntry(text: string): PassEntry {
  const match = /^(\d{1,9})(?:=(\d{1,9}))?$/.exec(text);
  if (match === null) {
    throw new UsageError(
      '--pass: not a descriptor number: write --pass 5, or --pass 5=3 for number 3 in the child',
    );
  }
  const fd = Number(match[1]);
  const as = match[2] === undefined ? fd : Number(match[2]);
  if (as < 3) {
    throw new UsageError(
      `--pass: ${as} is a standard channel of the child, always inherited: redirect it in the shell`,
    );
  }
  // Before the library opens descriptors of its own at the lowest free numbers.
  if (!isOpen(fd)) {
    throw new UsageError(
      `--pass ${fd}: not open here: open it in the shell, as in ${fd}<FILE, and start sallyport itself, since npx and npm close it`,
    );
  }
  if (belongsToNode(fd)) {
    throw new UsageError(
      `--pass ${fd}: not handed to sallyport (${fd} is a number that node uses itself): open it in the shell, as in ${fd}<FILE, and start sallyport itself, since npx and npm close it`,
    );
  }
  return { fd, as };
}

/**
 * `NAME` is the parent's value, `NAME=VALUE` a given one; the last word on a name counts. A variable
 * that the caller names and does not have is an error: without it the program would fail later, or
 * do something else.
 */
export function parseVariables(
  written: readonly string[] = [],
  ours: NodeJS.ProcessEnv,
): Variables {
  const values = new Map<string, string | null>();
  written.forEach((text, index) => {
    const equals = text.indexOf('=');
    const name = equals === -1 ? text : text.slice(0, equals);
    if (name === '') throw new UsageError('--env: no name: write --env NAME or --env NAME=VALUE');
    if (equals === -1 && !Object.hasOwn(ours, name)) {
      // Who forgot `NAME=` wrote a value: only what looks like a name is repeated.
      const [what, again] = /^[A-Z_][A-Z0-9_]*$/i.test(name)
        ? [name, name]
        : [`number ${index + 1}`, 'NAME'];
      throw new UsageError(
        `--env ${what}: no such variable here: set it, leave it out, or write --env ${again}=VALUE`,
      );
    }
    values.set(name, equals === -1 ? null : text.slice(equals + 1));
  });
  const allow: string[] = [];
  // Without a prototype: `__proto__` is a name like any other.
  const set = Object.create(null) as Record<string, string>;
  for (const [name, value] of values) {
    if (value === null) allow.push(name);
    else set[name] = value;
  }
  return { allow, set };
}
