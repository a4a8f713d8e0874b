// `--credentials FILE` → the brokers of a run, and what they would give it.
import { applyCredentials, createCredentialBroker, type CredentialBroker } from '../credentials.js';
import type { CredentialBrokerOptions } from '../credentials/options.js';
import { previewCredentials, type CredentialPreview } from '../credentials/preview.js';
import type { Environment } from '../index.js';
import type { UserIds } from '../launch/accounts.js';
import { isAdded } from '../plan/credential-variables.js';
import { readSources } from './credentials-file.js';
import { UsageError } from './failure.js';
import { clean } from './table.js';

export interface CredentialsWish {
  readonly path: string;
  readonly runId: string;
  /** Where files go, with --workspace. */
  readonly home: string | undefined;
  /** The run's user, where it has another than we. */
  readonly owner: UserIds | undefined;
  /** What is named besides. */
  readonly env: Environment;
}

export interface Credentials {
  readonly preview: CredentialPreview;
  /** The environment as a plan would have it: values of credentials are empty. */
  readonly previewed: Environment;
  /** For --explain, under the ledger. */
  readonly formatted: () => string;
  /** A broker is for one run. */
  readonly makeBroker: () => CredentialBroker;
}

/**
 * Nothing is minted or made.
 *
 * @throws {UsageError} one paragraph, which names the file
 */
export async function readCredentials(wish: CredentialsWish): Promise<Credentials> {
  const { path, runId, home, owner, env } = wish;
  const sources = await readSources(path, runId);
  const options: CredentialBrokerOptions = {
    runId,
    sources,
    ...(home === undefined ? {} : { home }),
    ...(owner === undefined ? {} : { owner }),
  };
  let preview: CredentialPreview;
  try {
    createCredentialBroker(options);
    preview = previewCredentials(options);
  } catch (error) {
    throw new UsageError(
      `--credentials ${path}: ${(error as Error).message}: see docs/credentials.md`,
    );
  }
  refuseOthers(env, preview);
  return {
    preview,
    previewed: applyCredentials(env, preview.delivered),
    formatted: () => formatPreview(preview),
    makeBroker: () => createCredentialBroker(options),
  };
}

const ORIGINS: Readonly<Record<string, string>> = {
  allowed: '--allow-env',
  set: '--set',
  preset: '--preset',
  cache: '--cache',
};

/** What is named as well would be taken away, or be used instead. */
function refuseOthers({ record }: Environment, { delivered }: CredentialPreview): void {
  for (const name of [...delivered.remove, ...Object.keys(delivered.environment)]) {
    const grant = record.grants.find((each) => each.name === name);
    if (grant === undefined || isAdded(name)) continue;
    throw new UsageError(
      `${ORIGINS[grant.origin] ?? '--env'} ${name}: would be used instead of the credentials of the run: leave it out, or the source that gives it`,
    );
  }
}

function formatPreview({ grants, delivered }: CredentialPreview): string {
  const lines = grants.map(({ name, reason, deliveries, isFixed }) => {
    const fixed = isFixed ? ' (fixed at the start: needs a --deadline within its life)' : '';
    return `credential   ${name}, by ${deliveries.join(' and ')}${fixed}: ${reason}`;
  });
  const files = delivered.files.map((file) => `file         ${file}`);
  return `${[...lines, ...files].map(clean).join('\n')}\nnot minted   nothing is asked for, opened or written by --explain\n`;
}
