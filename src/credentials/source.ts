// What a source of credentials is, and the check of what it minted.
import { refused } from '../errors.js';
import type { Delivery } from './delivery.js';

/** What a source is told. */
export interface MintContext {
  /** Of the broker. */
  readonly runId: string;
  /** Aborted at the mint's deadline, and when the run is over. */
  readonly signal: AbortSignal;
}

/** One set of values that hold until a moment. */
export interface Minted {
  /** By name. Which names a delivery needs is said there. */
  readonly values: Readonly<Record<string, string>>;
  /** Null: it does not expire. */
  readonly expiresAt: Date | null;
}

/** Where credentials come from. */
export interface CredentialSource {
  /** Letters, digits, `.`, `_` and `-`; each once in a broker. */
  readonly name: string;
  /** Why the run is given it; for the record. */
  readonly reason: string;
  /** Gives values or a promise of them. */
  readonly mint: (context: MintContext) => Minted | Promise<Minted>;
  /** Called at the end for each set that has not expired. */
  readonly revoke?: ((minted: Minted, context: MintContext) => void | Promise<void>) | undefined;
  /** How the run gets at it. */
  readonly delivery: Delivery | readonly Delivery[];
  /** Names of values that are no secrets (a user's name): they are not masked. */
  readonly plain?: readonly string[] | undefined;
  /** Milliseconds that a mint may take. Default 10 000. */
  readonly mintDeadline?: number | undefined;
  /** Milliseconds before expiry at which it is minted again. Default a third of its life. */
  readonly lead?: number | undefined;
  /** It is minted up to so many milliseconds earlier. Default a tenth of its life. */
  readonly jitter?: number | undefined;
}

/** A source could not mint. Its text names no secret: see `Secrets.redact` where it is made. */
export class MintError extends Error {}

/**
 * @throws {MintError} for anything else than what `Minted` says. It names no value.
 */
export function checkMinted(minted: unknown, required: readonly string[], now: number): Minted {
  const { values, expiresAt } = (minted ?? {}) as { values?: unknown; expiresAt?: unknown };
  if (typeof values !== 'object' || values === null) {
    throw new MintError('it gave no values: mint must give { values, expiresAt }');
  }
  const taken = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(values as Record<string, unknown>)) {
    if (typeof value !== 'string') throw new MintError(`its value ${name} is no string`);
    // Each of these would end a line of a file or a variable too early.
    if (required.includes(name) && /[\0\r\n]/.test(value)) {
      throw new MintError(`its value ${name} has a NUL or a line end`);
    }
    taken[name] = value;
  }
  const missing = required.filter((name) => taken[name] === undefined);
  if (missing.length > 0) {
    throw new MintError(`it gave no ${missing.join(', ')}, which its delivery needs`);
  }
  if (expiresAt === null) return { values: taken, expiresAt };
  if (!(expiresAt instanceof Date) || Number.isNaN(expiresAt.getTime())) {
    throw new MintError('it gave no expiresAt: a Date, or null where it does not expire');
  }
  if (expiresAt.getTime() <= now) {
    throw new MintError(`what it gave expired at ${expiresAt.toISOString()}, before it came`);
  }
  return { values: taken, expiresAt };
}

/** The error for a caller whose run cannot begin. */
export function unavailable(source: string, why: string): Error {
  return refused(
    'ERR_SALLYPORT_CREDENTIAL_UNAVAILABLE',
    `credential ${source} could not be minted: ${why}; nothing was started`,
    { stage: 'credentials', stagePath: source },
  );
}

/**
 * The error for a run that may last longer than what is delivered to it by variables.
 *
 * @param life milliseconds that it holds
 * @param deadline milliseconds that the run may last; undefined: no end
 */
export function tooShort(source: string, life: number, deadline: number | undefined): Error {
  const lasts = deadline === undefined ? 'has no deadline' : `has a deadline of ${deadline} ms`;
  return refused(
    'ERR_SALLYPORT_CREDENTIAL_LIFETIME',
    `credential ${source} is delivered by variables, which cannot change in a running process: it expires in ${life} ms, and the run ${lasts}; give a shorter deadline, or deliver it by endpoint, process or file; nothing was started`,
    { stage: 'credentials', stagePath: source },
  );
}
