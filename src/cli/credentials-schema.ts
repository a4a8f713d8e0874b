// The schema of `--credentials FILE`, where that is JSON.
import type * as Zod from 'zod';

type Z = typeof Zod;

/** Loaded with the first such file: nothing else of a run needs it. */
function load(): Z {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous and late
  return require('zod') as Z;
}

let schema: ReturnType<typeof define> | undefined;

export function credentialsSchema(): ReturnType<typeof define> {
  schema ??= define(load());
  return schema;
}

export function credentialsJsonSchema(): object {
  return load().toJSONSchema(credentialsSchema(), { target: 'draft-2020-12' });
}

export type CredentialsFile = Zod.infer<ReturnType<typeof define>>;
export type SourceEntry = CredentialsFile['sources'][number];
export type DeliveryEntry = Exclude<NonNullable<SourceEntry['delivery']>, readonly unknown[]>;

// Of the values only the form: what a source and a delivery may say they check themselves.
function define(z: Z) {
  const text = z.string();
  const milliseconds = z.number();
  const byFile = { by: z.literal('file') };
  const delivery = z.discriminatedUnion('by', [
    z.strictObject({
      by: z.literal('endpoint'),
      token: z.enum(['file', 'none']).optional(),
      region: text.optional(),
    }),
    z.discriminatedUnion('for', [
      z.strictObject({
        by: z.literal('process'),
        for: z.literal('aws'),
        profile: text.optional(),
        region: text.optional(),
      }),
      z.strictObject({ by: z.literal('process'), for: z.literal('git'), url: text }),
    ]),
    z.discriminatedUnion('format', [
      z.strictObject({
        ...byFile,
        format: z.literal('pgpass'),
        host: text,
        port: z.number().optional(),
        database: text.optional(),
      }),
      z.strictObject({ ...byFile, format: z.literal('netrc'), host: text }),
      z.strictObject({
        ...byFile,
        format: z.literal('npmrc'),
        registry: text,
        scope: text.optional(),
      }),
      z.strictObject({
        ...byFile,
        format: z.literal('template'),
        path: text,
        template: text,
        variable: text.optional(),
      }),
    ]),
    z.strictObject({ by: z.literal('env'), variables: z.record(text, text) }),
  ]);
  const deliveries = z.union([delivery, z.array(delivery).min(1)]);
  const common = {
    reason: text,
    mintDeadline: milliseconds.optional(),
    lead: milliseconds.optional(),
    jitter: milliseconds.optional(),
  };
  const named = { ...common, name: text, plain: z.array(text).optional(), delivery: deliveries };
  const source = z.discriminatedUnion('kind', [
    z.strictObject({
      ...common,
      kind: z.literal('aws-assume-role'),
      name: text.optional(),
      roleArn: text,
      account: text,
      region: text.optional(),
      durationSeconds: z.number().optional(),
      externalId: text.optional(),
      policy: z.union([text, z.record(text, z.unknown())]).optional(),
      tags: z.record(text, text).optional(),
      client: z
        .strictObject({
          endpoint: text.optional(),
          profile: text.optional(),
          maxAttempts: z.number().optional(),
        })
        .optional(),
      delivery: deliveries.optional(),
    }),
    z.strictObject({
      ...named,
      kind: z.literal('command'),
      command: z.array(text).min(1, 'must have a program and its arguments'),
      allowEnv: z
        .array(z.union([text, z.strictObject({ name: text, reason: text.optional() })]))
        .optional(),
      set: z.record(text, text).optional(),
      cwd: text.optional(),
    }),
    z.strictObject({ ...named, kind: z.literal('file'), path: text }),
  ]);
  return z.strictObject({
    $schema: text.optional(),
    version: z.literal(1).optional(),
    sources: z.array(source).min(1, 'must have a source'),
  });
}
