// A profile and the command line → the launch that is asked for, which is then reviewed by it.
import { isatty } from 'node:tty';

import { createEnvironment } from '../index.js';
import type { AttributeOptions } from '../plan/attributes.js';
import type { PlanOptions, StdioEntry } from '../plan/options.js';
import type { ApprovedChannel, Profile } from '../review/profile.js';
import { UsageError } from './failure.js';
import { parsePass, parseSession, parseVariables, type RunFlags } from './run-options.js';

export interface AskedLaunch {
  readonly file: string;
  readonly args: readonly string[];
  readonly options: PlanOptions;
}

/** What is not written the profile says. What is written is asked for, whatever the profile says of it. */
export function askByProfile(
  profile: Profile,
  file: string | undefined,
  args: readonly string[],
  flags: RunFlags,
): AskedLaunch {
  const pass = parsePass(flags.pass);
  const { stdin, stdout, stderr } = profile.channels ?? {};
  const given = parseVariables(flags.env, process.env);
  const { fixed, passed } = profile.environment;
  const variables: Record<string, string> = { ...fixed };
  for (const { name } of passed) {
    const value = process.env[name];
    if (value !== undefined) variables[name] ??= value;
  }
  for (const name of given.allow) variables[name] = process.env[name] ?? '';
  const cwd = flags.cwd ?? ('path' in profile.cwd ? profile.cwd.path : undefined);
  return {
    file: file ?? profile.executable.path,
    args: file === undefined ? fixedArguments(profile) : args,
    options: {
      // What a profile says of one channel may be wrong for another: the plan refuses that.
      stdio: [
        entry(stdin, 'null'),
        entry(stdout, 'pipe'),
        entry(stderr, 'pipe'),
      ] as PlanOptions['stdio'],
      pass,
      env: { ...variables, ...given.set },
      session: parseSession(flags.session) ?? profile.launch.session,
      noNewPrivileges: flags.allowNewPrivileges !== true && profile.launch.noNewPrivileges,
      ...(cwd === undefined ? {} : { cwd }),
      ...(file === undefined && profile.argv0 !== undefined ? { argv0: profile.argv0 } : {}),
      ...(profile.launch.verify === 'at-exec' ? { verify: 'at-exec' as const } : {}),
      ...(profile.launch.attributes as AttributeOptions | undefined),
    },
  };
}

function fixedArguments({ arguments: wanted }: Profile): string[] {
  return wanted.map((argument) => {
    if (typeof argument === 'string') return argument;
    throw new UsageError(
      `--profile: the argument '${argument.operand}' is for each run to say: write the command with all of its arguments`,
    );
  });
}

function entry(channel: ApprovedChannel | undefined, fallback: StdioEntry): StdioEntry {
  if (channel === undefined) return fallback;
  return channel.object === undefined ? (channel.channel as StdioEntry) : 'inherit';
}

/** For a first draft: nothing on a terminal, what is redirected, and pipes. */
export function optionsOfDraft(flags: RunFlags): PlanOptions {
  return {
    stdio: [isatty(0) ? 'null' : 'inherit', 'pipe', 'pipe'],
    pass: parsePass(flags.pass),
    env: createEnvironment(parseVariables(flags.env, process.env)),
    session: parseSession(flags.session) ?? 'new',
    noNewPrivileges: flags.allowNewPrivileges !== true,
    ...(flags.cwd === undefined ? {} : { cwd: flags.cwd }),
  };
}
