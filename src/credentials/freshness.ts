// Keeps one credential fresh: mints before it expires, one at a time, and says how it stands.
import { mintOnce } from './mint.js';
import { MintError, type CredentialSource, type Minted } from './source.js';
import type { CredentialOutage, CredentialState, CredentialStatus } from './status.js';

export interface FreshnessListener {
  /** What a mint gave, before anybody else has it. A throw is a failed mint. */
  accept(minted: Minted): void;
  /** A set that nobody will use: it came too late. */
  discard(minted: Minted): void;
  changed(): void;
  /** What it had holds no longer, while another is being minted. */
  lapsed(): void;
  /** An error's text without secrets. */
  describe(error: unknown): string;
}

export interface FreshnessWish {
  readonly runId: string;
  /** Values that its deliveries need. */
  readonly required: readonly string[];
  /** False: what the run got at its start is all that it gets. */
  readonly renews: boolean;
}

/** Of its life: what is left when it counts as expired, so that a request can still be made with it. */
const MARGIN_SHARE = 0.05;
const LONGEST_MARGIN = 5_000;
const LEAD_SHARE = 1 / 3;
const JITTER_SHARE = 0.1;
/** Milliseconds between attempts that fail: doubled each time. */
const FIRST_RETRY_SHARE = 0.05;
const SHORTEST_RETRY = 100;
const LONGEST_FIRST_RETRY = 5_000;
const LONGEST_RETRY = 60_000;
/** setTimeout does not count the time that the machine slept: the clock is looked at so often. */
const LONGEST_WAIT = 60_000;
/** How long a request waits for a mint under way. The JavaScript SDK gives up after a second. */
const REQUEST_PATIENCE = 800;

type Outage = { -readonly [Key in keyof CredentialOutage]: CredentialOutage[Key] };

export class Freshness {
  readonly source: CredentialSource;
  readonly #wish: FreshnessWish;
  readonly #listener: FreshnessListener;
  readonly #stopped = new AbortController();
  #current: Minted | undefined;
  /** Milliseconds after 1970, as all moments here: what others mint expires by the wall clock. */
  #expiry = 0;
  #margin = 0;
  #life = Infinity;
  #mintedAt = { wall: 0, steady: 0 };
  #renewAt = Infinity;
  #retryAt = Infinity;
  /** Nothing is planned before it is known. */
  #runEnd = 0;
  #underWay: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #state: CredentialState = 'refreshing';
  #held = false;
  #minted = 0;
  readonly #outages: Outage[] = [];

  constructor(source: CredentialSource, wish: FreshnessWish, listener: FreshnessListener) {
    this.source = source;
    this.#wish = wish;
    this.#listener = listener;
  }

  /** The first mint. @throws {MintError} */
  async start(): Promise<void> {
    await this.#renew();
    if (this.#minted > 0) return;
    throw new MintError(this.#outages[0]?.why ?? 'the broker was closed meanwhile');
  }

  /** @param runEnd nothing is minted for the time after it; milliseconds after 1970 */
  keepUntil(runEnd: number): void {
    this.#runEnd = runEnd;
    this.#planRenewal();
    this.#tick();
  }

  /** What holds now, for whoever has it already. */
  get current(): Minted | undefined {
    return this.#holds(this.#now()) ? this.#current : undefined;
  }

  /** Milliseconds after 1970. */
  get expiry(): number {
    return this.#expiry;
  }

  /**
   * For a request. Where minting is known to fail there is no waiting.
   *
   * @returns undefined: there is none that holds
   */
  async obtain(): Promise<Minted | undefined> {
    const minted = this.current;
    if (minted !== undefined) return minted;
    this.#tick();
    if (this.#openOutage === undefined && this.#underWay !== undefined) {
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, REQUEST_PATIENCE);
      });
      await Promise.race([this.#underWay, patience]);
      clearTimeout(timer);
    }
    return this.current;
  }

  get status(): CredentialStatus {
    const planned = Math.min(this.#renewAt, this.#retryAt);
    const open = this.#openOutage;
    return {
      name: this.source.name,
      state: this.#state,
      expiresAt: Number.isFinite(this.#expiry) && this.#expiry > 0 ? iso(this.#expiry) : null,
      renewAt: Number.isFinite(planned) && !this.#stopped.signal.aborted ? iso(planned) : null,
      lastError: open?.why ?? null,
      minted: this.#minted,
      outages: this.#outages.map((outage) => ({ ...outage })),
    };
  }

  /** Nothing is minted any more; what is under way is thrown away. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#stopped.abort();
  }

  get #openOutage(): Outage | undefined {
    const last = this.#outages.at(-1);
    return last?.until === null ? last : undefined;
  }

  /**
   * By the wall clock, as the services have it; but where that is set back, not before what has passed
   * since the last mint. (The steady clock alone would not count the time that the machine slept.)
   */
  #now(): number {
    const { wall, steady } = this.#mintedAt;
    return Math.max(Date.now(), wall + performance.now() - steady);
  }

  #holds(now: number): boolean {
    return this.#current !== undefined && now < this.#expiry - this.#margin;
  }

  /** Does what is due, and comes back when the next thing is. */
  #tick(): void {
    if (this.#stopped.signal.aborted) return;
    const now = this.#now();
    const due = Math.min(this.#renewAt, this.#retryAt) <= now;
    if (due && this.#underWay === undefined) void this.#renew();
    this.#settleState();
    clearTimeout(this.#timer);
    const moments = [this.#renewAt, this.#retryAt, this.#expiry - this.#margin];
    const next = Math.min(...moments.filter((moment) => moment > now));
    if (!Number.isFinite(next)) return;
    const wait = Math.min(next - now, LONGEST_WAIT);
    this.#timer = setTimeout(
      () => {
        this.#tick();
      },
      Math.max(1, Math.ceil(wait)),
    );
    this.#timer.unref();
  }

  #settleState(): void {
    const holds = this.#holds(this.#now());
    const failing = this.#openOutage !== undefined;
    const isMinting = this.#underWay !== undefined;
    const state = failing
      ? holds
        ? 'degraded'
        : 'expired'
      : isMinting
        ? 'refreshing'
        : holds
          ? 'fresh'
          : 'expired';
    const lapsed = this.#held && !holds;
    this.#held = holds;
    if (state !== this.#state) {
      this.#state = state;
      this.#listener.changed();
    } else if (lapsed) this.#listener.lapsed();
  }

  #renew(): Promise<void> {
    this.#renewAt = this.#retryAt = Infinity;
    this.#underWay ??= this.#mint().then(
      (minted) => {
        this.#take(minted);
      },
      (error: unknown) => {
        this.#fail(error);
      },
    );
    this.#settleState();
    return this.#underWay;
  }

  async #mint(): Promise<Minted> {
    const { runId, required } = this.#wish;
    const minted = await mintOnce(this.source, runId, this.#stopped.signal, required, (late) => {
      this.#listener.discard(late);
    });
    this.#listener.accept(minted);
    return minted;
  }

  #take(minted: Minted): void {
    this.#underWay = undefined;
    const now = Date.now();
    this.#mintedAt = { wall: now, steady: performance.now() };
    this.#current = minted;
    this.#minted += 1;
    this.#expiry = minted.expiresAt?.getTime() ?? Infinity;
    this.#life = this.#expiry - now;
    this.#margin = Math.min(LONGEST_MARGIN, this.#life * MARGIN_SHARE);
    const open = this.#openOutage;
    if (open !== undefined) open.until = iso(now);
    this.#planRenewal();
    this.#settleState();
    this.#tick();
  }

  #planRenewal(): void {
    const outlivesRun = this.#expiry - this.#margin >= this.#runEnd;
    if (!this.#wish.renews || outlivesRun || !Number.isFinite(this.#life)) return;
    const { lead = this.#life * LEAD_SHARE, jitter = this.#life * JITTER_SHARE } = this.source;
    const at = this.#expiry - Math.max(lead, this.#margin) - Math.random() * jitter;
    // Whatever the lead is: not at once again.
    const mintedAt = this.#expiry - this.#life;
    this.#renewAt = Math.max(at, mintedAt + this.#life * MARGIN_SHARE);
  }

  #fail(error: unknown): void {
    this.#underWay = undefined;
    if (this.#stopped.signal.aborted) return;
    const now = this.#now();
    const why = this.#listener.describe(error);
    const open = this.#openOutage;
    if (open === undefined) this.#outages.push({ since: iso(now), until: null, attempts: 1, why });
    else {
      open.attempts += 1;
      open.why = why;
    }
    const attempts = open?.attempts ?? 1;
    const first = Number.isFinite(this.#life)
      ? Math.max(SHORTEST_RETRY, Math.min(LONGEST_FIRST_RETRY, this.#life * FIRST_RETRY_SHARE))
      : LONGEST_FIRST_RETRY;
    const pause = Math.min(LONGEST_RETRY, first * 2 ** Math.min(attempts - 1, 16));
    const retry = now + pause * (1 + Math.random() * JITTER_SHARE);
    // Before the first success nobody waits for a second attempt: the run does not begin.
    if (this.#minted > 0 && retry < this.#runEnd) this.#retryAt = retry;
    this.#settleState();
    this.#tick();
  }
}

const iso = (moment: number): string => new Date(moment).toISOString();
