// What a run was given, who asked for it, and what became of it at the end. No value is in it.
import type { Delivery } from './delivery.js';
import type { CredentialFetch } from './endpoint.js';
import type { CredentialStatus } from './status.js';

/** One credential, in the report. */
export interface CredentialGrant extends CredentialStatus {
  /** Why the run is given it. */
  readonly reason: string;
  /** In words: `endpoint`, `process aws`, `file .netrc`, `env DATABASE_URL`. */
  readonly deliveries: readonly string[];
  /** Values that were minted and are too short to be masked, by name. */
  readonly unmasked: readonly string[];
  /** Null where the source has no `revoke`, or it is not the end. */
  readonly revocation: CredentialRevocation | null;
}

/** What `revoke` did at the end. Null in the grant where the source has none, or it is not the end. */
export interface CredentialRevocation {
  /** Sets that had not expired. */
  readonly revoked: number;
  /** Why other sets were not. */
  readonly errors: readonly string[];
}

/** What became of the credentials of a run. Plain data, without a value. */
export interface CredentialReport {
  /** Version of this record. */
  readonly version: 1;
  /** Of the broker. */
  readonly runId: string;
  /** Each credential. */
  readonly grants: readonly CredentialGrant[];
  /** The first 1000. */
  readonly fetches: readonly CredentialFetch[];
  /** How many there were beyond them. */
  readonly fetchesOmitted: number;
  /** Names of the variables that the run was given. */
  readonly environmentNames: readonly string[];
  /** Absolute paths. */
  readonly files: readonly string[];
  /** Why files could not be written anew, each reason once. */
  readonly fileErrors: readonly string[];
  /** Null while it is open. */
  readonly end: CredentialEnd | null;
}

/** The end of the broker. */
export interface CredentialEnd {
  /** ISO 8601. */
  readonly at: string;
  /** Files that could not be removed. Must be empty. */
  readonly filesLeft: readonly string[];
}

const MOST_FETCHES = 1000;
const MOST_FILE_ERRORS = 20;

export class EventLog {
  readonly fetches: CredentialFetch[] = [];
  readonly fileErrors = new Set<string>();
  omitted = 0;

  add(fetch: CredentialFetch): void {
    if (this.fetches.length < MOST_FETCHES) this.fetches.push(fetch);
    else this.omitted += 1;
  }

  addFileError(why: string): void {
    if (this.fileErrors.size < MOST_FILE_ERRORS) this.fileErrors.add(why);
  }
}

export function phraseDelivery(delivery: Delivery): string {
  switch (delivery.by) {
    case 'endpoint':
      return delivery.token === 'none' ? 'endpoint without a token' : 'endpoint';
    case 'process':
      return delivery.for === 'git' ? `process git ${delivery.url}` : 'process aws';
    case 'file':
      return `file ${delivery.path}`;
    case 'env':
      return `env ${Object.keys(delivery.variables).join(', ')}`;
  }
}
