// What the tests of credentials share: a broker with a role of the fake AWS, sources that are made up.
import { randomBytes } from 'node:crypto';

import { assumeRole, type AssumeRole, type CredentialSource } from '../../../src/credentials.js';
import { ROLE, ACCOUNT, type FakeAws } from './fake-aws.js';

/** As the issue of a run is called everywhere in these tests. */
export const runId = 'b71e04';

export function developmentRole(aws: FakeAws, options: Partial<AssumeRole> = {}): CredentialSource {
  return assumeRole({
    reason: 'the task reads a bucket',
    roleArn: ROLE,
    account: ACCOUNT,
    region: 'eu-west-1',
    client: {
      endpoint: aws.endpoint,
      credentials: { accessKeyId: 'AKIAHARNESS', secretAccessKey: 'harness' },
    },
    ...options,
  });
}

export interface MadeUp {
  readonly source: CredentialSource;
  /** What it has given, in order. */
  readonly passwords: string[];
  /** Set: mint throws this. */
  failure: Error | null;
}

/** A user with a new password each time. */
export function madeUpPassword(
  life: number | null,
  options: Partial<CredentialSource> & Pick<CredentialSource, 'delivery'>,
): MadeUp {
  const made: MadeUp = {
    passwords: [],
    failure: null,
    source: {
      name: 'made-up',
      reason: 'a test',
      plain: ['username'],
      mint: () => {
        if (made.failure !== null) throw made.failure;
        const password = randomBytes(12).toString('hex');
        made.passwords.push(password);
        const expiresAt = life === null ? null : new Date(Date.now() + life);
        return { values: { username: 'somebody', password }, expiresAt };
      },
      ...options,
    },
  };
  return made;
}

/** The error that a promise must reject with. */
export async function refusalOf(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error('it was to be refused, and was not');
}
