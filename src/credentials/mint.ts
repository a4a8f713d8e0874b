// One mint: within its deadline, and checked.
import { checkMinted, MintError, type CredentialSource, type Minted } from './source.js';

const DEADLINE = 10_000;

/**
 * @param stop ends it early
 * @param onLate what was minted all the same after that: nobody waits for it, and it may be revoked
 * @throws {MintError} and what the source throws
 */
export async function mintOnce(
  { mint, mintDeadline = DEADLINE }: CredentialSource,
  runId: string,
  stop: AbortSignal,
  required: readonly string[],
  onLate: (late: Minted) => void,
): Promise<Minted> {
  const abort = new AbortController();
  const { signal } = abort;
  const timer = setTimeout(() => {
    abort.abort(new MintError(`it took longer than ${mintDeadline} ms`));
  }, mintDeadline);
  const stopNow = (): void => {
    abort.abort(new MintError('the broker was closed meanwhile'));
  };
  stop.addEventListener('abort', stopNow, { once: true });
  const over = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
  // A source that throws at once rejects as well.
  const answer = (async () => mint({ runId, signal }))();
  let taken = true;
  try {
    if (stop.aborted) stopNow();
    return checkMinted(await Promise.race([answer, over]), required, Date.now());
  } catch (error) {
    taken = false;
    throw error;
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', stopNow);
    if (!taken) void answer.then((late) => discard(late, onLate), ignore);
  }
}

function discard(late: unknown, onLate: (late: Minted) => void): void {
  try {
    onLate(checkMinted(late, [], Date.now()));
  } catch {
    // Nothing that could be revoked.
  }
}

function ignore(): void {
  // It was told already, or nobody waits for it.
}
