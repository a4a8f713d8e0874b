// All that one source has minted for a run: what must be masked, and revoked at the end.
import type { Granted } from './options.js';
import type { CredentialRevocation } from './report.js';
import type { Secrets } from './mask.js';
import type { Delivery } from './delivery.js';
import { MintError, type CredentialSource, type Minted } from './source.js';

const REVOKE_DEADLINE = 10_000;

export class Issued {
  readonly source: CredentialSource;
  readonly deliveries: readonly Delivery[];
  readonly #runId: string;
  readonly #secrets: Secrets;
  readonly #describe: (error: unknown) => string;
  readonly #unmasked = new Set<string>();
  #live: Minted[] = [];
  #over = false;
  #revoked = 0;
  readonly #errors: string[] = [];

  constructor(
    { source, deliveries }: Granted,
    runId: string,
    secrets: Secrets,
    describe: (error: unknown) => string,
  ) {
    this.source = source;
    this.deliveries = deliveries;
    this.#runId = runId;
    this.#secrets = secrets;
    this.#describe = describe;
  }

  /** @throws what `render` of a delivery throws: then the run never gets it */
  accept(minted: Minted): void {
    this.#keep(minted);
    for (const delivery of this.deliveries) {
      if (delivery.by !== 'file') continue;
      const text: unknown = delivery.render(minted);
      if (typeof text === 'string') continue;
      // Of an async one: that it may reject is told here already.
      if (text instanceof Promise) text.catch(() => undefined);
      throw new MintError(`render of ${delivery.path} gave no string`);
    }
  }

  /** Nobody will use it. */
  discard(minted: Minted): void {
    this.#keep(minted);
  }

  get unmasked(): string[] {
    return [...this.#unmasked];
  }

  get revocation(): CredentialRevocation | null {
    if (this.source.revoke === undefined || !this.#over) return null;
    return { revoked: this.#revoked, errors: [...this.#errors] };
  }

  async revokeAll(): Promise<void> {
    this.#over = true;
    const live = this.#live.filter(isLive);
    this.#live = [];
    await Promise.all(live.map((minted) => this.#revoke(minted)));
  }

  #keep(minted: Minted): void {
    const { plain = [] } = this.source;
    for (const [name, value] of Object.entries(minted.values)) {
      if (plain.includes(name) || this.#secrets.add(value, minted.expiresAt)) continue;
      this.#unmasked.add(name);
    }
    this.#live = [...this.#live.filter(isLive), minted];
    if (this.#over) void this.revokeAll();
  }

  async #revoke(minted: Minted): Promise<void> {
    const { revoke } = this.source;
    if (revoke === undefined) return;
    const abort = new AbortController();
    const { signal } = abort;
    const late = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => {
        reject(signal.reason as Error);
      });
    });
    const timer = setTimeout(() => {
      abort.abort(new Error(`revoke took longer than ${REVOKE_DEADLINE} ms`));
    }, REVOKE_DEADLINE);
    try {
      await Promise.race([(async () => revoke(minted, { runId: this.#runId, signal }))(), late]);
      this.#revoked += 1;
    } catch (error) {
      this.#errors.push(this.#describe(error));
    } finally {
      clearTimeout(timer);
    }
  }
}

function isLive({ expiresAt }: Minted): boolean {
  return expiresAt === null || expiresAt.getTime() > Date.now();
}
