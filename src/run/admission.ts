// The review of a run: what is reviewed is the very plan that is launched, before anything starts.
import { invalid, refused } from '../errors.js';
import { ADMIT, PIN, type LaunchOptions } from '../launch/request.js';
import { pinExecutable } from '../launch/pin.js';
import { copyOwn, withoutPrototype } from '../own-properties.js';
import type { RawOptions } from '../plan/options.js';
import type { PinnedExecutable } from '../plan/pinned.js';
import type { LaunchPlan } from '../plan/plan.js';
import { gatherEvidence } from '../review/evidence.js';
import type { GateName } from '../review/gate.js';
import { parseProfile, readProfile } from '../review/parse.js';
import type { Profile } from '../review/profile.js';
import { reviewParsed, type Review } from '../review/review.js';
import type { RunLimits } from './options.js';

/** @throws {SallyportError | SallyportTypeError} */
export function takeProfile(value: unknown): Profile | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' || value instanceof URL) return copyOwn(readProfile(value));
  if (typeof value === 'object') return copyOwn(parseProfile(value));
  throw invalid(
    'ERR_SALLYPORT_INVALID_ARGUMENT',
    'profile',
    'must be a profile, or the path of one',
  );
}

/** Reviews one run by its profile, and remembers the review for the report. */
export class Admission {
  readonly #profile: Profile;
  readonly #containment: string;
  readonly #limits: RunLimits;
  #pinned: PinnedExecutable | null = null;
  /** Null until there was a plan. */
  review: Review | null = null;

  constructor(profile: Profile, containment: string, limits: RunLimits) {
    this.#profile = profile;
    this.#containment = containment;
    this.#limits = limits;
  }

  /** @returns the same options, held to what the profile asks of a launch */
  prepare(raw: RawOptions): LaunchOptions {
    const { launch, executable } = this.#profile;
    const pins = executable.sha256 !== undefined && raw.pinned === undefined;
    return withoutPrototype<LaunchOptions>({
      ...(launch.verify === 'at-exec' ? { verify: 'at-exec' } : {}),
      ...raw,
      ...(pins ? { [PIN]: () => this.#pin() } : {}),
      [ADMIT]: (plan) => {
        this.#admit(plan);
      },
    });
  }

  dispose(): void {
    this.#pinned?.[Symbol.dispose]();
  }

  /** Whatever it hashes to: the gate of the program compares. */
  async #pin(): Promise<PinnedExecutable> {
    this.#pinned = await pinExecutable(this.#profile.executable.path);
    return this.#pinned;
  }

  #admit(plan: LaunchPlan): void {
    const evidence = {
      ...gatherEvidence(plan),
      containment: this.#containment,
      limits: this.#limits,
    };
    this.review = reviewParsed({ plan, approved: this.#profile, evidence, now: Date.now() });
    const { decision, gates } = this.review;
    if (decision === 'accept') return;
    const named = gates
      .filter((gate) => gate.decision === decision)
      .map(({ name, sentence }): string => `${name}: ${sentence}`);
    throw refused(
      'ERR_SALLYPORT_NOT_ADMITTED',
      `${plan.file} was not started: the review says ${decision}: ${named.join('; ')}`,
      {
        stage: 'review',
        stagePath: (gates.find((gate) => gate.decision === decision)?.name ?? '') satisfies
          GateName | '',
        stageSource: 'reported',
        path: plan.file,
      },
    );
  }
}
