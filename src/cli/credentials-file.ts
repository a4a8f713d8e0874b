// `--credentials FILE` → sources: a description in JSON, or a module that gives them.
import { dirname, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import {
  assumeRole,
  commandSource,
  fileSource,
  netrcFile,
  npmrcFile,
  pgpassFile,
  templateFile,
  type AssumeRole,
  type CredentialSource,
  type Delivery,
} from '../credentials.js';
import { veil } from '../credentials/mask.js';
import { createEnvironment } from '../index.js';
import { DocumentFault, readDocument } from '../json-document.js';
import { describeFaults, phraseFaults, type Issue } from '../schema-faults.js';
import {
  credentialsJsonSchema,
  credentialsSchema,
  type DeliveryEntry,
  type SourceEntry,
} from './credentials-schema.js';
import { EXIT, UsageError } from './failure.js';
import { complain } from './output.js';

const MODULES: ReadonlySet<string> = new Set(['.js', '.mjs', '.cjs']);

/**
 * @param runId for a module that wants to know
 * @throws {UsageError} naming the file and what is wrong in it; no value of it
 */
export async function readSources(path: string, runId: string): Promise<CredentialSource[]> {
  return MODULES.has(extname(path)) ? await loadModule(path, runId) : readDescription(path);
}

/** It gives an array, or a function of `{ runId }` that does; code of the caller's, with our rights. */
async function loadModule(path: string, runId: string): Promise<CredentialSource[]> {
  let given: unknown;
  // Where nothing is left that could settle its promise Node ends, by itself and with code 0.
  const unsettled = (): void => {
    const fault = 'ended this process, or waits for what never comes: nothing was started';
    complain(faulty(path, [fault]).message);
    process.exitCode = EXIT.failed;
  };
  process.once('exit', unsettled);
  try {
    const { default: exported } = (await import(pathToFileURL(resolve(path)).href)) as {
      default?: unknown;
    };
    given =
      typeof exported === 'function'
        ? await (exported as (about: { runId: string }) => unknown)({ runId })
        : exported;
  } catch (error) {
    throw faulty(path, [`cannot be loaded: ${veil(firstLine(error))}`]);
  } finally {
    process.off('exit', unsettled);
  }
  if (!Array.isArray(given)) {
    throw faulty(path, [
      'must export an array of sources by default, or a function that gives one',
    ]);
  }
  return given as CredentialSource[];
}

function readDescription(path: string): CredentialSource[] {
  let value: unknown;
  try {
    value = readDocument(path);
  } catch (error) {
    if (!(error instanceof DocumentFault)) throw error;
    const { message, isNoJson } = error;
    const instead = isNoJson ? ': a module must be called .js, .mjs or .cjs' : '';
    throw faulty(path, [message + instead]);
  }
  const result = credentialsSchema().safeParse(value);
  if (!result.success) {
    const issues = result.error.issues as unknown as readonly Issue[];
    throw faulty(path, describeFaults(issues, credentialsJsonSchema));
  }
  const base = dirname(resolve(path));
  return result.data.sources.map((entry, index) => {
    try {
      return toSource(entry, base);
    } catch (error) {
      throw faulty(path, [`sources.${index}: ${(error as Error).message}`]);
    }
  });
}

function toSource(entry: SourceEntry, base: string): CredentialSource {
  switch (entry.kind) {
    case 'aws-assume-role': {
      const { kind: _, delivery, policy, client, ...rest } = entry;
      return assumeRole({
        ...(rest as Omit<AssumeRole, 'policy' | 'delivery' | 'client'>),
        ...(client === undefined ? {} : { client }),
        ...(policy === undefined
          ? {}
          : { policy: typeof policy === 'string' ? policy : JSON.stringify(policy) }),
        ...(delivery === undefined ? {} : { delivery: toDeliveries(delivery) }),
      });
    }
    case 'command': {
      const { kind: _, command, allowEnv, set, cwd, delivery, ...rest } = entry;
      const [file = '', ...args] = command;
      return commandSource({
        ...(rest as Named),
        delivery: toDeliveries(delivery),
        // A path is meant as seen from the file that has it; a name is looked up in the PATH.
        file: file.includes('/') ? resolve(base, file) : file,
        args,
        env: createEnvironment({
          ...(allowEnv === undefined ? {} : { allow: allowEnv }),
          ...(set === undefined ? {} : { set }),
        }),
        cwd: resolve(base, cwd ?? '.'),
      });
    }
    case 'file': {
      const { kind: _, path, delivery, ...rest } = entry;
      return fileSource({
        ...(rest as Named),
        delivery: toDeliveries(delivery),
        path: resolve(base, path),
      });
    }
  }
}

type Named = Pick<
  CredentialSource,
  'name' | 'reason' | 'plain' | 'mintDeadline' | 'lead' | 'jitter'
>;

function toDeliveries(entry: DeliveryEntry | readonly DeliveryEntry[]): Delivery[] {
  const list = Array.isArray(entry)
    ? (entry as readonly DeliveryEntry[])
    : [entry as DeliveryEntry];
  return list.map(toDelivery);
}

function toDelivery(entry: DeliveryEntry): Delivery {
  if (entry.by !== 'file') return entry;
  const { by: _by, format, ...options } = entry;
  switch (format) {
    case 'pgpass':
      return pgpassFile(options as Parameters<typeof pgpassFile>[0]);
    case 'netrc':
      return netrcFile(options as Parameters<typeof netrcFile>[0]);
    case 'npmrc':
      return npmrcFile(options as Parameters<typeof npmrcFile>[0]);
    case 'template':
      return templateFile(options as Parameters<typeof templateFile>[0]);
  }
}

export function faulty(path: string, faults: readonly string[]): UsageError {
  return new UsageError(`--credentials ${path}: ${phraseFaults(faults)}: see docs/credentials.md`);
}

function firstLine(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'it threw no Error';
}
