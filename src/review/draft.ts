// A profile drafted from a real plan, to be read and edited: it says what is, not what should be.
import { DEFAULT_PATH, PASSED_THROUGH } from '../plan/create-environment.js';
import type { DescriptorPlan } from '../plan/descriptors.js';
import type { LaunchPlan } from '../plan/plan.js';
import type { DescriptorObject } from '../objects/object.js';
import { EXPECTED_KINDS, isExpectedKind } from '../objects/kind.js';
import type {
  ApprovedChannel,
  ApprovedDescriptor,
  ApprovedObject,
  Operand,
  Profile,
} from './profile.js';
import { SHELLS } from './parse.js';

/** Stands where somebody has to write why. */
const TO_BE_STATED = 'to be stated';

/**
 * No secret gets into it: what looks like one becomes a granted variable or an operand, and what this
 * cannot tell is for whoever edits it to see.
 *
 * @param ours the variables of this process, by which passed-through ones are known
 */
export function profileFrom(plan: LaunchPlan, ours: NodeJS.ProcessEnv = process.env): Profile {
  const [argv0 = '', ...given] = plan.argv;
  const program = plan.executable.split('/').pop() ?? '';
  return {
    profile: 1,
    executable: {
      path: plan.executable,
      kind: SHELLS.has(program) ? 'any' : 'native',
      ...(plan.pinned === null ? {} : { sha256: plan.pinned.sha256 }),
    },
    ...(argv0 === plan.executable || argv0 === program ? {} : { argv0 }),
    arguments: given.map(draftArgument),
    environment: draftEnvironment(plan, ours),
    cwd: { path: plan.cwd },
    channels: {
      stdin: draftChannel(plan.descriptors[0]),
      stdout: draftChannel(plan.descriptors[1]),
      stderr: draftChannel(plan.descriptors[2]),
    },
    descriptors: plan.descriptors.slice(3).flatMap(draftDescriptor),
    launch: {
      platform: 'linux',
      arch: process.arch,
      api: plan.version,
      session: plan.session,
      noNewPrivileges: plan.noNewPrivileges,
      verify: 'at-exec',
      ...(Object.keys(plan.attributes).length === 0
        ? {}
        : { attributes: structuredClone(plan.attributes) as Record<string, unknown> }),
    },
    credentials: [],
  };
}

function draftArgument(given: string, index: number): string | Operand {
  return looksSecret('', given)
    ? { operand: `argument ${index + 1}`, rule: { kind: 'text' } }
    : given;
}

function draftEnvironment(plan: LaunchPlan, ours: NodeJS.ProcessEnv): Profile['environment'] {
  const environment: Profile['environment'] = { fixed: {}, passed: [], granted: [] };
  for (const [name, value] of Object.entries(plan.environment)) {
    if ((PASSED_THROUGH as readonly string[]).includes(name)) {
      environment.passed.push({ name, reason: 'says how to print, and grants nothing' });
    } else if (name === 'PATH' && value === DEFAULT_PATH) {
      environment.fixed[name] = value;
    } else if (looksSecret(name, value)) {
      environment.granted.push({ name, credential: TO_BE_STATED, reason: TO_BE_STATED });
    } else if (name === '__proto__' || (Object.hasOwn(ours, name) && ours[name] === value)) {
      // The first can be no name among `fixed`.
      environment.passed.push({ name, reason: TO_BE_STATED });
    } else {
      environment.fixed[name] = value;
    }
  }
  return environment;
}

function draftChannel(descriptor: DescriptorPlan | undefined): ApprovedChannel {
  if (descriptor === undefined || descriptor.object === null) {
    return { channel: (descriptor?.channel ?? 'null') as ApprovedChannel['channel'] };
  }
  return {
    channel: descriptor.channel as ApprovedChannel['channel'],
    object: draftObject(descriptor.object),
    reason: TO_BE_STATED,
  };
}

function draftDescriptor({ target, object }: DescriptorPlan): ApprovedDescriptor[] {
  if (object === null) return [];
  return [{ target, object: draftObject(object), role: 'other', reason: TO_BE_STATED }];
}

function draftObject({ kind, access, target, socket }: DescriptorObject): ApprovedObject {
  const expected = EXPECTED_KINDS.find((each) => isExpectedKind(kind, each)) ?? 'other';
  return {
    kind: expected,
    // An O_PATH descriptor can be opened again for whatever the file allows.
    access: access === 'none' ? 'both' : access,
    ...(target.startsWith('/') ? { path: target } : {}),
    ...(socket === undefined || socket.local === '' ? {} : { address: socket.local }),
  };
}

const SECRET_NAME = /KEY|TOKEN|SECRET|PASS|CRED|AUTH|COOKIE|SESSION|SIGNATURE|DSN|PRIVATE/i;
/** `https://user:password@host`, and long words without a blank or a path's slashes. */
const SECRET_VALUE = /:\/\/[^/\s]*@|^[A-Za-z0-9+_=.-]{24,}$|-----BEGIN /;

/** Too often rather than too seldom: a wrong guess costs an edit, the other one a secret in a file. */
function looksSecret(name: string, value: string): boolean {
  return SECRET_NAME.test(name) || SECRET_VALUE.test(value);
}

/** Where somebody still has to say why: the paths of what a draft left open. */
export function findUnstated(value: unknown, at = ''): string[] {
  if (value === TO_BE_STATED) return [at];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) =>
    findUnstated(each, at === '' ? name : `${at}.${name}`),
  );
}
