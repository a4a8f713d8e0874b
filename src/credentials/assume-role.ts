// A source: a role of AWS, assumed for the run by AWS's own SDK.
import { invalid } from '../errors.js';
import { takeOwn } from '../own-properties.js';
import type { Delivery } from './delivery.js';
import { MintError, type CredentialSource, type MintContext, type Minted } from './source.js';

/** What `assumeRole` takes. */
export interface AssumeRole {
  /** Default `aws`. */
  readonly name?: string | undefined;
  /** Why the run is given it, for the report. */
  readonly reason: string;
  /** `arn:aws:iam::111122223333:role/development`. */
  readonly roleArn: string;
  /** Twelve digits: the one account that may serve runs. The role that AWS returns must be of it. */
  readonly account: string;
  /** Seconds. Default 900, the shortest that AWS gives. */
  readonly durationSeconds?: number | undefined;
  /** As AssumeRole has it. */
  readonly externalId?: string | undefined;
  /** A policy that narrows the role further, as JSON. */
  readonly policy?: string | undefined;
  /** More session tags. `run_id` is always one. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Region of the STS that is asked, and of the run unless its delivery says another. */
  readonly region?: string | undefined;
  /** Configuration of the SDK's STSClient: `credentials`, `endpoint`, `profile`, … */
  readonly client?: Readonly<Record<string, unknown>> | undefined;
  /** Default: by the endpoint. */
  readonly delivery?: Delivery | readonly Delivery[] | undefined;
  /** Milliseconds that one mint may take. Default: 10 000. */
  readonly mintDeadline?: number | undefined;
  /** Milliseconds before its end at which it is minted again. Default: a third of its life. */
  readonly lead?: number | undefined;
  /** Milliseconds by which that is earlier at random, at most. Default: a tenth of its life. */
  readonly jitter?: number | undefined;
}

const NAMES = [
  'name',
  'reason',
  'roleArn',
  'account',
  'durationSeconds',
  'externalId',
  'policy',
  'tags',
  'region',
  'client',
  'delivery',
  'mintDeadline',
  'lead',
  'jitter',
] as const;

const SHORTEST = 900;
/** What STS takes as RoleSessionName. */
const SESSION_NAME_LENGTH = 64;

/**
 * Each mint is one AssumeRole. The session is called `agent-<run id>`, cut at 64 characters, and
 * tagged `run_id`, so that CloudTrail tells whose call it was.
 *
 * @throws {SallyportTypeError}
 */
export function assumeRole(options: AssumeRole): CredentialSource {
  const own = takeOwn(options, 'assumeRole', NAMES) as Partial<AssumeRole>;
  const { name = 'aws', reason = '', account, roleArn, region, durationSeconds = SHORTEST } = own;
  if (typeof account !== 'string' || !/^\d{12}$/.test(account)) {
    throw wrong('account', 'must be twelve digits: the account whose role may serve runs');
  }
  if (typeof roleArn !== 'string' || accountOf(roleArn, 'iam') !== account) {
    throw wrong('roleArn', 'must be a role of the account that is named');
  }
  if (
    !Number.isInteger(durationSeconds) ||
    durationSeconds < SHORTEST ||
    durationSeconds > 43_200
  ) {
    throw wrong('durationSeconds', `must be seconds from ${SHORTEST} to 43200`);
  }
  const { delivery, mintDeadline, lead, jitter } = own;
  return {
    name,
    reason,
    delivery: delivery ?? { by: 'endpoint', ...(region === undefined ? undefined : { region }) },
    mint: (context) => mint({ ...own, reason, account, roleArn, durationSeconds }, context),
    ...(mintDeadline === undefined ? undefined : { mintDeadline }),
    ...(lead === undefined ? undefined : { lead }),
    ...(jitter === undefined ? undefined : { jitter }),
  };
}

async function mint(
  options: AssumeRole & { durationSeconds: number },
  { runId, signal }: MintContext,
): Promise<Minted> {
  const { STSClient, AssumeRoleCommand } = await loadSts();
  const { region, client: configuration, account } = options;
  // Once for each mint: it reads the harness's own credentials anew, which expire as well.
  const client = new STSClient({
    ...(region === undefined ? undefined : { region }),
    ...configuration,
  });
  try {
    const tags = { ...options.tags, run_id: runId };
    const answer = await client.send(
      new AssumeRoleCommand({
        RoleArn: options.roleArn,
        RoleSessionName: `agent-${runId}`.slice(0, SESSION_NAME_LENGTH),
        DurationSeconds: options.durationSeconds,
        ExternalId: options.externalId,
        Policy: options.policy,
        Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
      }),
      { abortSignal: signal },
    );
    const { Credentials: given, AssumedRoleUser: user } = answer;
    const served = accountOf(user?.Arn ?? '', 'sts');
    if (served !== account) {
      throw new MintError(
        `STS gave a role of account ${served ?? 'unknown'}, and only ${account} may serve this run`,
      );
    }
    return {
      values: {
        AccessKeyId: given?.AccessKeyId ?? '',
        SecretAccessKey: given?.SecretAccessKey ?? '',
        SessionToken: given?.SessionToken ?? '',
      },
      expiresAt: given?.Expiration as Date,
    };
  } finally {
    client.destroy();
  }
}

/** `arn:aws:iam::111122223333:role/…`, `arn:aws:sts::111122223333:assumed-role/…`. */
function accountOf(arn: string, service: 'iam' | 'sts'): string | undefined {
  const kind = service === 'iam' ? 'role' : 'assumed-role';
  return new RegExp(`^arn:aws[\\w-]*:${service}::(\\d{12}):${kind}/`).exec(arn)?.[1];
}

async function loadSts(): Promise<typeof import('@aws-sdk/client-sts')> {
  try {
    return await import('@aws-sdk/client-sts');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new MintError('@aws-sdk/client-sts is not installed: npm install @aws-sdk/client-sts');
  }
}

function wrong(option: string, message: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, message);
}
