// Compares an object behind a descriptor with the one that was approved.
import { isExpectedKind } from '../../objects/kind.js';
import { isExactly, phraseObject, type DescriptorObject } from '../../objects/object.js';
import type { Comparison } from '../gate.js';
import type { ApprovedObject } from '../profile.js';

export function compareObject(
  path: string,
  approved: ApprovedObject,
  asked: DescriptorObject,
  comparison: Comparison,
): void {
  if (!isExpectedKind(asked.kind, approved.kind)) {
    comparison.wider(`${path}.kind`, approved.kind, phraseObject(asked));
    return;
  }
  if (asked.access !== approved.access) {
    // An O_PATH descriptor (`none`) grants something else: opening again.
    const isLess = approved.access === 'both' && asked.access !== 'none';
    comparison[isLess ? 'narrower' : 'wider'](`${path}.access`, approved.access, asked.access);
  }
  compareName(`${path}.path`, approved.path, asked.target, comparison);
  compareName(`${path}.address`, approved.address, asked.socket?.local ?? 'no socket', comparison);
  if (approved.dev !== undefined && asked.dev !== approved.dev) {
    comparison.wider(`${path}.dev`, String(approved.dev), String(asked.dev));
  }
  if (approved.inode !== undefined && asked.inode !== approved.inode) {
    comparison.wider(`${path}.inode`, approved.inode, asked.inode);
  }
}

function compareName(
  path: string,
  approved: string | undefined,
  asked: string,
  comparison: Comparison,
): void {
  if (approved === undefined || isExactly(asked, approved)) return;
  if (asked === approved) comparison.unknown(path, approved, 'a name that is no UTF-8');
  else comparison.wider(path, approved, asked);
}

/** `file /etc/hosts (read)`, as a profile has it. */
export function phraseApproved({ kind, access, path, address }: ApprovedObject): string {
  return [kind, path ?? address ?? '', `(${access})`].filter((part) => part !== '').join(' ');
}
