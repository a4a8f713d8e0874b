// The schema of profiles: what is checked here is what is published as JSON Schema.
import type * as Zod from 'zod';

import { EXPECTED_KINDS } from '../objects/kind.js';
import { LIMITS, type ATTRIBUTE_NAMES, type LimitName } from '../plan/attributes.js';
import type { Profile } from './profile.js';

type Z = typeof Zod;

/** Loaded with the first profile: nothing else needs it. */
function load(): Z {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous and late
  return require('zod') as Z;
}

let schema: Zod.ZodType<Profile> | undefined;

/** @internal zod's types would be part of ours. */
export function profileSchema(): Zod.ZodType<Profile> {
  schema ??= define(load());
  return schema;
}

/** What the package publishes in schema/profile.v1.json. */
export function profileJsonSchema(): object {
  const { $schema, ...rest } = load().toJSONSchema(profileSchema(), { target: 'draft-2020-12' });
  return {
    $schema,
    $id: 'https://sallyport.dev/profile.v1.json',
    title: 'sallyport profile, version 1',
    description: 'A launch that somebody has reviewed. Holds no secret.',
    ...rest,
  };
}

function define(z: Z): Zod.ZodType<Profile> {
  const absolute = z.string().regex(/^\/[^\0]*$/, 'must be an absolute path');
  const text = z.string().regex(/^[^\0]*$/, 'must have no NUL');
  const reason = z.string().min(1, 'must say why');
  const variable = z.string().regex(/^[^=\0]+$/, 'must be the name of a variable');
  const inode = z.string().regex(/^\d+$/, 'must be an inode in decimal digits');
  const count = z.number().int().nonnegative();

  const object = z.strictObject({
    kind: z.enum(EXPECTED_KINDS),
    access: z.enum(['read', 'write', 'both']),
    path: absolute.optional(),
    address: z.string().optional(),
    dev: count.optional(),
    inode: inode.optional(),
  });
  const channel = z.strictObject({
    channel: z.enum(['null', 'pipe', 'stdout', 'inherit', 'descriptor']),
    object: object.optional(),
    reason: reason.optional(),
  });
  const rule = z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('text') }),
    z.strictObject({
      kind: z.literal('integer'),
      min: z.number().int().optional(),
      max: z.number().int().optional(),
    }),
    z.strictObject({ kind: z.literal('absolute-path'), within: absolute.optional() }),
    z.strictObject({ kind: z.literal('one-of'), values: z.array(text).min(1) }),
  ]);
  const operand = z.strictObject({
    operand: z.string().min(1),
    rule,
    maxBytes: count.optional(),
    mayBeOption: z.boolean().optional(),
  });
  const number = z.number().int();
  const limitValue = z.union([count, z.literal('unlimited')]);
  const limit = z.strictObject({ soft: limitValue, hard: limitValue });
  const limitNames = Object.keys(LIMITS) as LimitName[];
  const limits = z.strictObject(
    Object.fromEntries(limitNames.map((each) => [each, limit.optional()])),
  );
  const attributes = z.strictObject({
    limits: limits.optional(),
    umask: number.min(0).max(0o777).optional(),
    nice: number.min(-20).max(19).optional(),
    ioPriority: z
      .strictObject({
        class: z.enum(['realtime', 'best-effort', 'idle']),
        level: number.min(0).max(7),
      })
      .optional(),
    oomScoreAdjust: number.min(-1000).max(1000).optional(),
    cpuAffinity: z.array(count).min(1).optional(),
    user: z.union([z.string().min(1), count]).optional(),
    group: z.union([z.string().min(1), count]).optional(),
    groups: z.union([z.array(count), z.literal('init')]).optional(),
    dieWithParent: number.min(1).max(64).optional(),
    terminal: count.optional(),
  } satisfies Record<(typeof ATTRIBUTE_NAMES)[number], unknown>);
  return z.strictObject({
    profile: z.literal(1),
    name: z.string().optional(),
    executable: z.strictObject({
      path: absolute,
      kind: z.enum(['native', 'any']),
      sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
        .optional(),
      dev: count.optional(),
      inode: inode.optional(),
    }),
    argv0: text.optional(),
    arguments: z.array(z.union([text, operand])),
    environment: z.strictObject({
      fixed: z.record(variable, text),
      passed: z.array(z.strictObject({ name: variable, reason })),
      granted: z.array(z.strictObject({ name: variable, credential: z.string().min(1), reason })),
    }),
    cwd: z.union([z.strictObject({ path: absolute }), z.strictObject({ within: absolute })]),
    channels: z.strictObject({ stdin: channel, stdout: channel, stderr: channel }).optional(),
    descriptors: z
      .array(
        z.strictObject({
          target: z.number().int().min(3),
          object,
          role: z.enum(['job-input', 'job-output', 'service-socket', 'log', 'other']),
          reason,
          optional: z.boolean().optional(),
        }),
      )
      .optional(),
    launch: z.strictObject({
      platform: z.literal('linux'),
      arch: z.string().optional(),
      api: z.literal(1),
      session: z.enum(['new', 'group', 'inherit']),
      noNewPrivileges: z.boolean(),
      verify: z.enum(['at-exec', 'not-required']),
      attributes: attributes.optional(),
      containment: z
        .array(z.enum(['init', 'group', 'cgroup']))
        .min(1)
        .optional(),
    }),
    credentials: z.array(z.strictObject({ name: z.string().min(1), reason })),
    limits: z
      .strictObject({
        deadline: z.number().positive().optional(),
        stall: z.number().positive().optional(),
        outputBytes: count.optional(),
      })
      .optional(),
    // The type is written by hand, for its comments; this says that both are the same.
  }) as unknown as Zod.ZodType<Profile>;
}
