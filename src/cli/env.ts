// `sallyport env`: what a child would inherit here, beside what a run receives.
import {
  describeEnvironment,
  planLaunch,
  type EnvironmentDescription,
  type SuspectVariable,
} from '../index.js';
import { phraseCount } from '../phrase-count.js';
import type { EnvironmentFlags } from './environment-flags.js';
import { buildEnvironment } from './environment-options.js';
import { describeGrant } from './describe-grant.js';
import { printJson } from './json-output.js';
import { print } from './output.js';
import { clean, formatTable, paint, type Row } from './table.js';

export interface EnvFlags extends EnvironmentFlags {
  json?: boolean;
}

/** @param command what the run would start, where that is to be looked up too */
export async function env(command: readonly string[], flags: EnvFlags): Promise<number> {
  const given = buildEnvironment(flags);
  const [file, ...args] = command;
  const program =
    file === undefined ? null : planLaunch(file, args, { env: given, stdio: 'null' }).executable;
  const description = await describeEnvironment(process.env, given);
  if (flags.json === true) {
    printJson('env', { ...description, program });
  } else {
    print(formatDescription(description, program));
  }
  return 0;
}

const HEADING = ['NAME', 'VALUE', 'RUN', 'WHY'] as const;

function formatDescription(
  { inherited, received, notTested }: EnvironmentDescription,
  program: string | null,
): string {
  const { count, grants, suspects } = inherited;
  const others = suspects.length - grants;
  const parts = [
    `${paint(`${phraseCount(count, 'variable')} here`, 'bold')} would be inherited: ${phraseCount(grants, 'looks', 'look')} like a credential, ${phraseCount(others, 'more does', 'more do')} more than inform\n`,
  ];
  if (suspects.length > 0) parts.push(formatTable(HEADING, suspects.map(describeSuspect)));
  parts.push(
    `\n${paint(`${phraseCount(received.count, 'variable')} in a run`, 'bold')}${program === null ? '' : ` of ${clean(program)}`}\n`,
    line('of its own', received.fixed.join(' ')),
    line('passed through', received.passedThrough.join(' ')),
    ...received.grants.map((grant, index) =>
      line(index === 0 ? 'granted' : '', describeGrant(grant)),
    ),
    ...received.caches.map(({ name, path, reason }) =>
      line('cache', `${name}, to read, at ${path}: ${reason}`),
    ),
    line('not set here', received.absent.join(' ')),
    '\nNo secrets were searched for: this goes by names and shapes of values.\n',
    ...notTested.filter((text) => text.startsWith('shapes')).map((text) => `${clean(text)}\n`),
  );
  return parts.join('');
}

function describeSuspect({ name, shown, because, flag, received }: SuspectVariable): Row {
  const why =
    because.length > 0 ? because.join('; ') : flag === undefined ? '' : `${flag.kind}: ${flag.why}`;
  return {
    cells: [name, shown, received ? 'gets it' : 'does not', why],
    colour: because.length === 0 ? undefined : received ? 'red' : 'yellow',
  };
}

function line(label: string, text: string): string {
  return text === '' ? '' : `${label.padEnd(15)} ${clean(text)}\n`;
}
