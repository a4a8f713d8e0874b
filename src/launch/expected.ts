// What a child is compared with at its exec, as numbers for the addon.
import { statSync } from 'node:fs';

import { VERIFY_AFTER_EXEC, VERIFY_AT_EXEC } from '../native-binding.js';
import type { ObjectAccess } from '../objects/kind.js';
import type { DescriptorObject } from '../objects/object.js';
import { ownDirectory } from '../plan/directory.js';
import type { LaunchPlan } from '../plan/plan.js';

// ObjectAccess in native/core/descriptor_object.h.
const ACCESSES: Readonly<Record<ObjectAccess, bigint>> = {
  read: 0n,
  write: 1n,
  both: 2n,
  none: 3n,
};

const NOTHING = new BigUint64Array(0);

/**
 * The table as it was identified when the plan was made. Directory and program are identified here, at
 * the call: they are named by paths until then.
 */
export function encodeVerification(
  plan: LaunchPlan,
  program: { readonly object: DescriptorObject } | null,
): BigUint64Array {
  if (plan.verify === null) return NOTHING;
  const numbers = [
    plan.verify === 'at-exec' ? VERIFY_AT_EXEC : VERIFY_AFTER_EXEC,
    plan.noNewPrivileges ? 1n : 0n,
    ...identify(plan.cwd === ownDirectory() ? '.' : plan.cwd),
    ...(program === null ? identify(plan.executable) : identityOf(program.object)),
  ];
  for (const { target, object } of plan.descriptors) {
    if (object === null) continue;
    numbers.push(
      BigInt(target),
      ...identityOf(object),
      ACCESSES[object.access],
      BigInt(object.mount ?? 0),
    );
  }
  return BigUint64Array.from(numbers);
}

function identityOf({ dev, inode }: DescriptorObject): [dev: bigint, inode: bigint] {
  return [BigInt(dev), BigInt(inode)];
}

/** Zeros where it cannot be reached: then the launch itself fails, and says so better. */
function identify(path: string): [dev: bigint, inode: bigint] {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return [dev, ino];
  } catch {
    return [0n, 0n];
  }
}
