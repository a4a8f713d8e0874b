// What a profile says: a launch that somebody has reviewed, without any secret.
import type { ExpectedKind } from '../objects/kind.js';
import type { LaunchAttributes } from '../plan/attributes.js';
import type { DescriptorPlan } from '../plan/descriptors.js';
import type { LaunchPlan } from '../plan/plan.js';

/** An object and the operation on it: what a descriptor may be. What is left out is not compared. */
export interface ApprovedObject {
  /** What it is. */
  kind: ExpectedKind;
  /** What it permits, exactly. */
  access: 'read' | 'write' | 'both';
  /** Absolute path. */
  path?: string;
  /** Local address of a socket or listener. */
  address?: string;
  /** st_dev of stat(2). */
  dev?: number;
  /** st_ino of stat(2), in decimal. */
  inode?: string;
}

/** One of 0, 1 and 2. */
export interface ApprovedChannel {
  /** What stands there: a pipe, `/dev/null`, or an object. */
  channel: Exclude<DescriptorPlan['channel'], 'listener'>;
  /** With `inherit` and `descriptor`. */
  object?: ApprovedObject;
  /** Why it is given. */
  reason?: string;
}

/** A descriptor beyond 0, 1 and 2. */
export interface ApprovedDescriptor {
  /** Number in the child. */
  target: number;
  /** What it must be. */
  object: ApprovedObject;
  /** What it is for. */
  role: 'job-input' | 'job-output' | 'service-socket' | 'log' | 'other';
  /** Why it is given. */
  reason: string;
  /** Whether a launch without it is the one that was reviewed. */
  optional?: boolean;
}

/** A place among the arguments that each launch fills. */
export interface Operand {
  /** Name of the place. */
  operand: string;
  /** What may stand there. */
  rule:
    | { kind: 'text' }
    | { kind: 'integer'; min?: number; max?: number }
    | { kind: 'absolute-path'; within?: string }
    | { kind: 'one-of'; values: string[] };
  /** Default 4096. */
  maxBytes?: number;
  /** Whether it may begin with `-`, which many programs take for an option. */
  mayBeOption?: boolean;
}

/** A reviewed, stored launch policy. The JSON Schema is `sallyport/profile.schema.json`. */
export interface Profile {
  /** Of this format. */
  profile: 1;
  /** What it is for. */
  name?: string;
  /**
   * `path`, absolute; `kind`: `'native'` (no script, and by its name and where that leads no shell)
   * or `'any'`; with `sha256` a sealed copy must run; `dev` and `inode`.
   */
  executable: {
    /** Absolute path. */
    path: string;
    /** `native`: no script and no shell. */
    kind: 'native' | 'any';
    /** 64 hexadecimal digits. The launch then runs a sealed copy that has it. */
    sha256?: string;
    /** st_dev, stat(2). Absent: any. */
    dev?: number;
    /** st_ino, stat(2), in decimal. Absent: any. */
    inode?: string;
  };
  /** argv[0]. Default: the path, or its last part. */
  argv0?: string;
  /** In order: a fixed string, or a place with a rule. */
  arguments: Array<string | Operand>;
  /**
   * `fixed`: names with values; `passed`: names with reasons, with whatever value; `granted`: names
   * with the credential and the reason.
   */
  environment: {
    /** Values that are no secret. */
    fixed: Record<string, string>;
    /** May be there, with whatever value. */
    passed: Array<{ name: string; reason: string }>;
    /** Must be there; the value is a secret and stands nowhere. */
    granted: Array<{ name: string; credential: string; reason: string }>;
  };
  /** `{ path }`, or `{ within }`, by the names alone. */
  cwd: { path: string } | { within: string };
  /** Left out: not stated, and a review holds. */
  channels?: { stdin: ApprovedChannel; stdout: ApprovedChannel; stderr: ApprovedChannel };
  /** Left out: not stated, and a review holds. */
  descriptors?: ApprovedDescriptor[];
  /**
   * `platform`, `arch`, `api` (version of launch plans), `session`, `noNewPrivileges`, `verify`,
   * `attributes`, `containment`.
   */
  launch: {
    /** As `process.platform`. */
    platform: 'linux';
    /** As `process.arch`. */
    arch?: string;
    /** `version` of launch plans. */
    api: 1;
    /** As the option of a plan. */
    session: LaunchPlan['session'];
    /** As the option of a plan. */
    noNewPrivileges: boolean;
    /** `at-exec`: only a launch that is compared at its exec is the one that was reviewed. */
    verify: 'at-exec' | 'not-required';
    /** Limits, identity and the rest, as a plan has them. */
    attributes?: Record<string, unknown>;
    /** Ways of containment that are good enough for a run. */
    containment?: string[];
  };
  /** Names and reasons. */
  credentials: Array<{ name: string; reason: string }>;
  /** Of a run: at most. */
  limits?: {
    /** Milliseconds. */
    deadline?: number;
    /** Milliseconds. */
    stall?: number;
    /** Of each channel. */
    outputBytes?: number;
  };
}

/** As a profile has attributes. */
export type ApprovedAttributes = Partial<Record<keyof LaunchAttributes, unknown>>;
