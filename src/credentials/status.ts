// How one credential stands, for the harness and for the report.

/**
 * `fresh`; `refreshing`: being minted; `degraded`: it could not be minted again and still holds;
 * `expired`: there is none that holds.
 */
export type CredentialState = 'fresh' | 'refreshing' | 'degraded' | 'expired';

/** One time during which minting failed, however often it was tried. */
export interface CredentialOutage {
  /** Of the first failure. ISO 8601. */
  readonly since: string;
  /** When it was minted again; null: never. */
  readonly until: string | null;
  /** How many mints failed. */
  readonly attempts: number;
  /** Why the latest attempt failed. */
  readonly why: string;
}

/** How a credential stands. */
export interface CredentialStatus {
  /** Name of its source. */
  readonly name: string;
  /** Whether it holds. */
  readonly state: CredentialState;
  /** ISO 8601; null: it does not expire, or there is none yet. */
  readonly expiresAt: string | null;
  /** When it will be minted again; null: it will not. */
  readonly renewAt: string | null;
  /** Why the latest attempt failed; null where it did not. */
  readonly lastError: string | null;
  /** How often it was minted. */
  readonly minted: number;
  /** Each time during which it could not be minted. */
  readonly outages: readonly CredentialOutage[];
}
