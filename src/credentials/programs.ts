// Sources: a program that prints a credential, and a file that somebody else keeps fresh.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

import { invalid } from '../errors.js';
import { takeOwn } from '../own-properties.js';
import { phraseCount } from '../phrase-count.js';
import { run } from '../run/run.js';
import type { RunOptions } from '../run/options.js';
import type { Delivery } from './delivery.js';
import { MintError, type CredentialSource, type Minted } from './source.js';

/** What both take. */
export interface SourceOptions {
  /** Name of the credential, unique in its broker. */
  readonly name: string;
  /** Why the run is given it, for the report. */
  readonly reason: string;
  /** How it gets to the run. */
  readonly delivery: Delivery | readonly Delivery[];
  /** Names of values that are no secrets. */
  readonly plain?: readonly string[] | undefined;
  /** Milliseconds that one mint may take. Default: 10 000. */
  readonly mintDeadline?: number | undefined;
  /** Milliseconds before its end at which it is minted again. Default: a third of its life. */
  readonly lead?: number | undefined;
  /** Milliseconds by which that is earlier at random, at most. Default: a tenth of its life. */
  readonly jitter?: number | undefined;
  /** What was printed or stands in the file → values. Default: JSON, see `parseCredential`. */
  readonly parse?: ((text: string) => Minted) | undefined;
}

/** What `commandSource` takes. */
export interface CommandSource extends SourceOptions {
  /** Name or path of the program. */
  readonly file: string;
  /** Arguments of the program. */
  readonly args?: readonly string[] | undefined;
  /** As for `run`: by default next to nothing, so name what it needs. */
  readonly env?: RunOptions['env'] | undefined;
  /** Where the program starts. */
  readonly cwd?: RunOptions['cwd'] | undefined;
}

/** What `fileSource` takes. */
export interface FileSource extends SourceOptions {
  /** Path of the file, read for each mint. */
  readonly path: string;
}

const NAMES = [
  'name',
  'reason',
  'delivery',
  'plain',
  'mintDeadline',
  'lead',
  'jitter',
  'parse',
] as const satisfies ReadonlyArray<keyof SourceOptions>;

const MOST_OUTPUT = 1 << 20;

/**
 * A program that prints the credential, started anew for each mint. What it prints is kept from
 * records; of stderr only the length is told, since nobody knows what stands there.
 */
export function commandSource(options: CommandSource): CredentialSource {
  const own = takeOwn(options, 'commandSource', [...NAMES, 'file', 'args', 'env', 'cwd']);
  const { file, args = [], env, cwd, parse = parseCredential } = own as Partial<CommandSource>;
  if (typeof file !== 'string' || file === '') throw wrong('file', 'must be a program');
  return source(options, async ({ signal }) => {
    const report = await run(file, args, {
      ...(env === undefined ? undefined : { env }),
      ...(cwd === undefined ? undefined : { cwd }),
      signal,
      containment: { prefer: ['init', 'group'] },
      output: { maxBytes: MOST_OUTPUT },
    });
    const { outcome, output } = report;
    if (outcome.error !== undefined) throw new MintError(outcome.error.message);
    if (outcome.kind !== 'exited' || outcome.code !== 0) {
      const { kind, code, signal: by } = outcome;
      const how = kind === 'exited' ? `exit code ${code}` : kind === 'signaled' ? by : kind;
      throw new MintError(
        `the program ended with ${how}; it wrote ${phraseCount(output.stderr.bytesSeen, 'byte')} to stderr, not shown`,
      );
    }
    return parseQuietly(parse, output.stdout.text, 'what the program printed');
  });
}

/** A file that is read for each mint. Somebody else writes it, and before it expires. */
export function fileSource(options: FileSource): CredentialSource {
  const own = takeOwn(options, 'fileSource', [...NAMES, 'path']);
  const { path, parse = parseCredential } = own as Partial<FileSource>;
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw wrong('path', 'must be a path without NUL');
  }
  return source(options, async ({ signal }) => {
    return parseQuietly(parse, await readRegular(path, signal), 'the file');
  });
}

/** A pipe would be waited for by a thread that nobody can stop, and a device has no end. */
async function readRegular(path: string, signal: AbortSignal): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const facts = await file.stat();
    if (!facts.isFile()) throw new MintError(`${path} is no regular file`);
    if (facts.size > MOST_OUTPUT) throw new MintError(`${path} has more than ${MOST_OUTPUT} bytes`);
    return await file.readFile({ encoding: 'utf8', signal });
  } finally {
    await file.close();
  }
}

function source(
  { name, reason, delivery, plain, mintDeadline, lead, jitter }: SourceOptions,
  mint: CredentialSource['mint'],
): CredentialSource {
  return {
    name,
    reason,
    delivery,
    mint,
    ...(plain === undefined ? undefined : { plain }),
    ...(mintDeadline === undefined ? undefined : { mintDeadline }),
    ...(lead === undefined ? undefined : { lead }),
    ...(jitter === undefined ? undefined : { jitter }),
  };
}

/** An error of a parser repeats what it could not parse: a piece of a secret. */
function parseQuietly(parse: (text: string) => Minted, text: string, what: string): Minted {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof MintError) throw error;
    throw new MintError(`${what} could not be parsed`);
  }
}

/**
 * JSON: `{ "values": { … }, "expiresAt": "2030-01-01T00:00:00Z" }`, null for what does not expire;
 * or what a `credential_process` of AWS prints.
 */
export function parseCredential(text: string): Minted {
  const parsed = JSON.parse(text) as Record<string, unknown>;
  if (typeof parsed['AccessKeyId'] === 'string') {
    const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = parsed;
    return {
      values: { AccessKeyId, SecretAccessKey, SessionToken } as Record<string, string>,
      expiresAt: toDate(Expiration ?? null),
    };
  }
  return {
    values: parsed['values'] as Record<string, string>,
    expiresAt: toDate(parsed['expiresAt']),
  };
}

function toDate(value: unknown): Date | null {
  if (value === null) return null;
  return new Date(typeof value === 'string' ? value : Number.NaN);
}

function wrong(option: string, message: string): Error {
  return invalid('ERR_SALLYPORT_INVALID_ARGUMENT', option, message);
}
