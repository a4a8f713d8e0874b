// The broker of one run: has its credentials minted, delivered, kept fresh, and taken back.
import { EventEmitter } from 'node:events';

import { markAsOurs } from '../copies.js';
import { invalid, SallyportError } from '../errors.js';
import { takeOwn } from '../own-properties.js';
import { Assembly } from './assemble.js';
import { findRoot, verifyCaller, type Root, type Verification } from './caller.js';
import { neededValues } from './delivery.js';
import { Endpoint, type CredentialFetch } from './endpoint.js';
import { CredentialFiles } from './files.js';
import { Freshness } from './freshness.js';
import { Issued } from './issued.js';
import type { OutputMask } from '../run/output-options.js';
import { Secrets, veil } from './mask.js';
import { takeBrokerOptions, type BrokerWish, type CredentialBrokerOptions } from './options.js';
import { EventLog, phraseDelivery, type CredentialEnd, type CredentialReport } from './report.js';
import { MintError, tooShort, unavailable } from './source.js';
import type { CredentialStatus } from './status.js';

/** What a run must be given so that it finds its credentials. */
export interface DeliveredCredentials {
  /** Variables. With `env` deliveries, secrets are among the values. */
  readonly environment: Readonly<Record<string, string>>;
  /** Variables that the run must not have: they would win over these. */
  readonly remove: readonly string[];
  /** Absolute paths of the files that were made. */
  readonly files: readonly string[];
  /** Those of the sources; left out where there is none. */
  readonly reason?: string;
}

/** What `open` takes. */
export interface OpenCredentialsOptions {
  /** Milliseconds that the run may last, from now on. */
  readonly deadline?: number | undefined;
}

/** Events of a broker, with what listeners are given. */
export interface CredentialBrokerEvents {
  /** The state of one credential has changed. */
  state: [status: CredentialStatus];
  /** One was asked for at the endpoint. */
  fetch: [fetch: CredentialFetch];
}

/** How long a request waits to hear which process the run is: it may be faster than our news. */
const ADMISSION_PATIENCE = 700;
const LONGEST_MESSAGE = 300;

/**
 * Mints nothing yet: `open` does.
 *
 * @throws {SallyportTypeError}
 */
export function createCredentialBroker(options: CredentialBrokerOptions): CredentialBroker {
  return CredentialBroker.of(takeBrokerOptions(options));
}

/** Mints the credentials of one run, keeps them fresh, and takes them back. */
export class CredentialBroker extends EventEmitter<CredentialBrokerEvents> {
  readonly #wish: BrokerWish;
  readonly #secrets = new Secrets();
  readonly #log = new EventLog();
  readonly #credentials: readonly Freshness[];
  readonly #issued: readonly Issued[];
  #state: 'new' | 'open' | 'closed' = 'new';
  #files: CredentialFiles | undefined;
  #endpoint: Endpoint | undefined;
  #assembly: Assembly | undefined;
  #root: Root | undefined;
  #admitted!: () => void;
  readonly #admission = new Promise<void>((resolve) => {
    this.#admitted = resolve;
  });
  #end: CredentialEnd | null = null;
  #closing: Promise<CredentialReport> | undefined;

  /** @internal */
  static of(wish: BrokerWish): CredentialBroker {
    return new CredentialBroker(wish);
  }

  private constructor(wish: BrokerWish) {
    super();
    this.#wish = wish;
    const describe = (error: unknown): string => this.#describe(error);
    this.#issued = wish.granted.map((granted) => {
      return new Issued(granted, wish.runId, this.#secrets, describe);
    });
    this.#credentials = wish.granted.map(({ source, deliveries }, index) => {
      const required = [...new Set(deliveries.flatMap(neededValues))];
      const renews = deliveries.some(({ by }) => by !== 'env');
      const issued = this.#issued[index] as Issued;
      const fresh: Freshness = new Freshness(
        source,
        { runId: wish.runId, required, renews },
        {
          accept: (minted) => {
            issued.accept(minted);
          },
          discard: (minted) => {
            issued.discard(minted);
          },
          changed: () => {
            this.#writeFiles();
            this.#tell('state', fresh.status);
          },
          lapsed: () => {
            this.#writeFiles();
          },
          describe,
        },
      );
      return fresh;
    });
  }

  /**
   * Mints every credential, opens the endpoint, writes the files.
   *
   * @throws {SallyportError} `ERR_SALLYPORT_CREDENTIAL_UNAVAILABLE`: a source cannot mint;
   *   `ERR_SALLYPORT_CREDENTIAL_LIFETIME`: one that is delivered by variables would expire during the
   *   run; stage `credentials`: a file cannot be made. Everything is taken back then.
   */
  async open(options?: OpenCredentialsOptions): Promise<DeliveredCredentials> {
    const { deadline } = takeOwn(options, 'options', ['deadline']);
    if (deadline !== undefined && !(typeof deadline === 'number' && deadline > 0)) {
      throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'deadline', 'must be milliseconds');
    }
    if (this.#state !== 'new') {
      throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'broker', 'is for one run, and had its run');
    }
    this.#state = 'open';
    try {
      return await this.#open(deadline);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /**
   * Says which process the run is: it and all that comes from it may ask at the endpoint, and nobody
   * else. `runWithCredentials` does it.
   */
  admit(pid: number): void {
    this.#root = findRoot(pid);
    this.#admitted();
  }

  /** How each credential stands now. */
  status(): CredentialStatus[] {
    return this.#credentials.map(({ status }) => status);
  }

  /** For one channel of output: takes out what was minted so far and will be. */
  mask(): OutputMask {
    return this.#secrets.open();
  }

  /** A text without the secrets that were minted so far. */
  redact(text: string): string {
    return this.#secrets.redact(text);
  }

  /** @internal */
  redactAll<Value>(value: Value): Value {
    return this.#secrets.redactAll(value);
  }

  /** How things stand; after `close` also how they ended. */
  report(): CredentialReport {
    return this.redactAll<CredentialReport>({
      version: 1,
      runId: this.#wish.runId,
      grants: this.#credentials.map((fresh, index) => {
        const { source, deliveries } = this.#issued[index] as Issued;
        return {
          ...fresh.status,
          reason: source.reason,
          deliveries: deliveries.map(phraseDelivery),
          unmasked: this.#issued[index]?.unmasked ?? [],
          revocation: this.#issued[index]?.revocation ?? null,
        };
      }),
      fetches: [...this.#log.fetches],
      fetchesOmitted: this.#log.omitted,
      environmentNames: Object.keys(this.#assembly?.environment ?? {}).sort(),
      files: this.#files?.paths ?? [],
      fileErrors: [...this.#log.fileErrors],
      end: this.#end,
    });
  }

  /** Closes the endpoint, removes the files, has the sources revoke. Never rejects. */
  close(): Promise<CredentialReport> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Closes the broker, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #open(deadline: number | undefined): Promise<DeliveredCredentials> {
    const { granted, home, owner } = this.#wish;
    const files = (this.#files = new CredentialFiles(home, owner));
    await this.#mintAll();
    this.#requireLifetimes(deadline);
    const asks = granted.some(({ deliveries }) =>
      deliveries.some(({ by }) => by === 'endpoint' || by === 'process'),
    );
    const assembly = new Assembly(files);
    if (asks) {
      const endpoint = await Endpoint.open({
        routes: assembly.routes,
        verify: (port, endpoint) => this.#verify(port, endpoint),
        record: (fetch) => {
          this.#log.add(fetch);
          this.#tell('fetch', fetch);
        },
      });
      this.#endpoint = endpoint;
      // `close` may have come and gone, and has not seen it.
      if (this.#closing !== undefined) await endpoint.close();
      this.#requireOpen();
      // It helps nobody outside of the run, and it is no output all the same.
      this.#secrets.add(endpoint.token, null);
    }
    // From here on nothing is waited for: nobody can close in between.
    granted.forEach(({ deliveries }, index) => {
      const fresh = this.#credentials[index] as Freshness;
      for (const delivery of deliveries) assembly.add(fresh, delivery, this.#endpoint);
    });
    assembly.finish();
    assembly.writeFiles();
    this.#assembly = assembly;
    const runEnd = deadline === undefined ? Infinity : Date.now() + deadline;
    for (const fresh of this.#credentials) fresh.keepUntil(runEnd);
    const reason = granted.map(({ source }) => source.reason).join('; ');
    return Object.freeze({
      environment: Object.freeze({ ...assembly.environment }),
      remove: [...assembly.remove],
      files: files.paths,
      ...(reason === '' ? undefined : { reason }),
    });
  }

  /** It may be closed while it is being opened: by a run that is aborted. */
  #requireOpen(): void {
    if (this.#closing === undefined) return;
    throw unavailable(this.#wish.runId, 'the broker was closed meanwhile');
  }

  async #mintAll(): Promise<void> {
    const outcomes = await Promise.allSettled(this.#credentials.map((fresh) => fresh.start()));
    outcomes.forEach((outcome, index) => {
      if (outcome.status === 'fulfilled') return;
      const name = this.#credentials[index]?.source.name ?? '';
      throw unavailable(name, (outcome.reason as Error).message);
    });
    this.#requireOpen();
  }

  #requireLifetimes(deadline: number | undefined): void {
    const now = Date.now();
    this.#wish.granted.forEach(({ source: { name }, deliveries }, index) => {
      const expiry = this.#credentials[index]?.expiry ?? 0;
      const isFixed = deliveries.some(({ by }) => by === 'env');
      if (!isFixed || expiry >= now + (deadline ?? Infinity)) return;
      throw tooShort(name, expiry - now, deadline);
    });
  }

  async #verify(port: number, endpoint: number): Promise<Verification> {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ADMISSION_PATIENCE);
    });
    await Promise.race([this.#admission, patience]);
    clearTimeout(timer);
    return verifyCaller(port, endpoint, this.#root);
  }

  #writeFiles(): void {
    try {
      this.#assembly?.writeFiles();
    } catch (error) {
      // The disk is full, say: what stands there stays until the next time.
      this.#log.addFileError(this.#describe(error));
    }
  }

  /** Later, so that what a listener throws is thrown from the event loop, and nothing is cut short. */
  #tell<Name extends keyof CredentialBrokerEvents>(
    name: Name,
    ...values: CredentialBrokerEvents[Name]
  ): void {
    queueMicrotask(() => {
      (this as EventEmitter).emit(name, ...values);
    });
  }

  #describe(error: unknown): string {
    if (!(error instanceof Error)) return 'it threw something that is no Error';
    const { name, message } = error;
    const isOurs = error instanceof MintError || error instanceof SallyportError;
    const [line = ''] = this.redact(message).split(/\p{Cc}/u);
    const text = ['Error', 'MintError', 'SallyportError'].includes(name)
      ? line
      : `${name}: ${line}`;
    return (isOurs ? text : veil(text)).slice(0, LONGEST_MESSAGE);
  }

  async #close(): Promise<CredentialReport> {
    this.#state = 'closed';
    for (const fresh of this.#credentials) fresh.stop();
    this.#admitted();
    await this.#endpoint?.close();
    const filesLeft = this.#files?.remove() ?? [];
    await Promise.all(this.#issued.map((issued) => issued.revokeAll()));
    this.#end = { at: new Date().toISOString(), filesLeft };
    return this.report();
  }
}
markAsOurs(CredentialBroker);
