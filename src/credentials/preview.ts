// What a broker would give to a run, with nothing minted, opened or written.
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Assembly, type Places, type Served } from './assemble.js';
import type { DeliveredCredentials } from './broker.js';
import { Freshness } from './freshness.js';
import { takeBrokerOptions, type CredentialBrokerOptions } from './options.js';
import { phraseDelivery } from './report.js';

/** One credential, as it would be given. */
export interface PreviewedGrant {
  readonly name: string;
  readonly reason: string;
  /** In words, as in a report. */
  readonly deliveries: readonly string[];
  /** Some of it is fixed at the start: the run may not last longer than it holds. */
  readonly isFixed: boolean;
}

export interface CredentialPreview {
  readonly grants: readonly PreviewedGrant[];
  /** Names, paths and reasons are those of the run; values of credentials are empty. */
  readonly delivered: DeliveredCredentials;
}

/** @throws {SallyportTypeError} as `createCredentialBroker`, and where two deliveries contradict */
export function previewCredentials(options: CredentialBrokerOptions): CredentialPreview {
  const { granted, home, runId } = takeBrokerOptions(options);
  const files = new Sketch(home ?? join(tmpdir(), 'sallyport-credentials-…'));
  const assembly = new Assembly(files);
  for (const { source, deliveries } of granted) {
    const never = new Freshness(source, { runId, required: [], renews: false }, NOBODY);
    for (const delivery of deliveries) assembly.add(never, delivery, SKETCHED);
  }
  assembly.finish();
  return {
    grants: granted.map(({ source: { name, reason }, deliveries }) => ({
      name,
      reason,
      deliveries: deliveries.map(phraseDelivery),
      isFixed: deliveries.some(({ by }) => by === 'env'),
    })),
    delivered: {
      environment: { ...assembly.environment },
      remove: [...assembly.remove],
      files: [...files.paths],
      reason: granted.map(({ source }) => source.reason).join('; '),
    },
  };
}

/** The port and the token are chosen when it is opened. */
const SKETCHED: Served = { origin: 'http://127.0.0.1:0', token: '' };

const NOBODY = {
  accept: () => undefined,
  discard: () => undefined,
  changed: () => undefined,
  lapsed: () => undefined,
  describe: () => '',
};

class Sketch implements Places {
  readonly paths = new Set<string>();

  constructor(readonly home: string) {}

  place(path: string): string {
    const full = join(this.home, path);
    this.paths.add(full);
    return full;
  }

  write(): void {
    // Nothing is there to be written.
  }

  withdraw(): boolean {
    return true;
  }
}
