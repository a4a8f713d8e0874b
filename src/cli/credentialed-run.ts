// A supervised run that is given credentials: what is said of it, and signals before it has begun.
import type { CredentialBroker, CredentialedReport } from '../credentials.js';
import { startWithCredentials } from '../credentials/run.js';
import type { RunOptions } from '../index.js';
import { phraseCount } from '../phrase-count.js';
import type { RunUnderWay } from '../run/handle.js';
import { EndedBefore } from './failure.js';
import { complain, redactBy } from './output.js';
import { clean } from './table.js';

export interface CredentialedCall {
  readonly broker: CredentialBroker;
  readonly masks: boolean;
  readonly file: string;
  readonly args: readonly string[];
  readonly options: RunOptions;
  readonly look: (running: RunUnderWay) => void;
  /** As `CredentialedStart` has it. */
  readonly amend: (options: RunOptions) => RunOptions;
}

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** @throws {EndedBefore}, and as `runWithCredentials` */
export async function runCredentialed(call: CredentialedCall): Promise<CredentialedReport> {
  const { broker, masks, file, args, options, amend } = call;
  redactBy((text) => broker.redact(text));
  let early: NodeJS.Signals | undefined;
  const stopListening: Array<() => void> = [];
  const begun = (): void => {
    for (const stop of stopListening.splice(0)) stop();
  };
  const running = startWithCredentials(broker, file, args, options, {
    masks,
    amend,
    look: (underWay) => {
      begun();
      call.look(underWay);
    },
  });
  for (const signal of ENDING) {
    const end = (): void => {
      early ??= signal;
      running.abort();
    };
    process.on(signal, end);
    stopListening.push(() => process.off(signal, end));
  }
  try {
    const report = await running;
    if (report.plan === null && early !== undefined) throw new EndedBefore(early);
    return report;
  } finally {
    begun();
  }
}

/** What is worth knowing at the end; one clause each. */
function summarizeCredentials({ credentials }: CredentialedReport): string[] {
  const { grants, fetches, fileErrors, end } = credentials;
  const refused = fetches.filter(({ outcome }) => outcome === 'refused');
  const strangers = refused.filter(({ why }) => why?.startsWith('NotInRun') === true);
  const clauses = [
    ...grants.flatMap(({ name, outages }) =>
      outages.map(({ since, until, attempts, why }) => {
        const lasted = until === null ? 'and not again' : `until ${until}`;
        return `credential ${name} could not be minted since ${since}, ${lasted} (${phraseCount(attempts, 'attempt')}): ${why}`;
      }),
    ),
    ...strangers.slice(0, 1).map(({ pid, executable }) => {
      const who = pid === null ? 'somebody' : `${executable ?? 'a process'} (${pid})`;
      const more = strangers.length > 1 ? ` and ${strangers.length - 1} more` : '';
      return `${who}${more} asked for its credentials from outside of the run, and was refused`;
    }),
    ...grants
      .filter(({ unmasked }) => unmasked.length > 0)
      .map(({ name, unmasked }) => {
        return `${unmasked.join(', ')} of credential ${name} is too short to be masked (name it under plain where it is no secret)`;
      }),
    ...grants.flatMap(({ name, revocation }) =>
      (revocation?.errors ?? []).map((why) => `credential ${name} was not revoked: ${why}`),
    ),
    ...fileErrors.map((why) => `a file of credentials was not written: ${why}`),
    ...(end?.filesLeft ?? []).map((path) => `${path} could not be removed`),
  ];
  return clauses.map(clean);
}

export function tellCredentials(file: string, report: CredentialedReport): void {
  for (const clause of summarizeCredentials(report)) complain(`run: ${file}: ${clause}`);
}
