// The options of the environment → createEnvironment and prepareWorkspace.
import { randomBytes } from 'node:crypto';

import {
  createEnvironment,
  prepareWorkspace,
  type AllowEntry,
  type CacheEntry,
  type Environment,
  type PresetName,
  type PreparedWorkspace,
} from '../index.js';
import type { UserIds } from '../launch/accounts.js';
import type { EnvironmentFlags } from './environment-flags.js';
import { UsageError } from './failure.js';
import { complain } from './output.js';
import { parseVariables } from './run-options.js';

/** Nothing is made. @throws {UsageError | SallyportTypeError} */
export function buildEnvironment(flags: EnvironmentFlags): Environment {
  const { workspace, preset, cache } = flags;
  const { allow, set } = parseVariables(flags.env, process.env);
  const runId = flags.runId ?? (workspace === undefined ? undefined : randomRunId());
  if (flags.removeHome === true && workspace === undefined) {
    throw new UsageError('--remove-home: needs --workspace: write that too, or leave it out');
  }
  const request = {
    ...(runId === undefined ? {} : { runId }),
    ...(workspace === undefined ? {} : { workspace }),
    allow: [...allow, ...(flags.allowEnv ?? []).map(splitReason)],
    set: Object.assign(set, parseSet(flags.set)),
    presets: (preset ?? []) as PresetName[],
    caches: (cache ?? []).map((text) => splitReason(text) as CacheEntry),
  };
  try {
    return createEnvironment(request);
  } catch (error) {
    throw inOurWords(error as Error);
  }
}

const FLAGS: ReadonlyArray<readonly [option: RegExp, flag: string]> = [
  [/^runId\b/, '--run-id'],
  [/^workspace\b/, '--workspace'],
  [/^allow\[\d+\](\.name)?/, '--allow-env'],
  [/^set\b/, '--set'],
  [/^presets\[\d+\]/, '--preset'],
  [/^caches\[\d+\]/, '--cache'],
];

/** The library speaks of options of its own. */
function inOurWords(error: Error): Error {
  const found = FLAGS.find(([option]) => option.test(error.message));
  return found === undefined ? error : new UsageError(error.message.replace(found[0], found[1]));
}

/**
 * With --workspace: makes its directories, for the user of the run.
 *
 * @throws {SallyportError} for a hostile one
 */
export function enterWorkspace(
  { workspace }: EnvironmentFlags,
  owner: UserIds | undefined,
): PreparedWorkspace | null {
  return workspace === undefined ? null : prepareWorkspace(workspace, { ...owner });
}

/** With --remove-home: removes them again. What will not go is told, and is no failure of the run. */
export async function leaveWorkspace(
  { removeHome }: EnvironmentFlags,
  prepared: PreparedWorkspace | null,
): Promise<void> {
  if (removeHome !== true) return;
  try {
    await prepared?.remove();
  } catch (error) {
    complain((error as Error).message);
  }
}

export function randomRunId(): string {
  return randomBytes(3).toString('hex');
}

/** Names of variables hold no colon: what follows the first is the reason. */
function splitReason(text: string): AllowEntry {
  const colon = text.indexOf(':');
  if (colon === -1) return { name: text };
  return { name: text.slice(0, colon), reason: text.slice(colon + 1) };
}

function parseSet(written: readonly string[] = []): Record<string, string> {
  // Without a prototype: `__proto__` is a name like any other.
  const set = Object.create(null) as Record<string, string>;
  written.forEach((text, index) => {
    const equals = text.indexOf('=');
    if (equals < 1) {
      throw new UsageError(
        `--set, number ${index + 1}: no variable with a value: write --set NAME=VALUE`,
      );
    }
    set[text.slice(0, equals)] = text.slice(equals + 1);
  });
  return set;
}
