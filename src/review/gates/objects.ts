// Compares an object behind a descriptor with the one that was approved.
import { isExpectedKind } from '../../objects/kind.js';
import { phraseObject, type DescriptorObject } from '../../objects/object.js';
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
  if (approved.path !== undefined && asked.target !== approved.path) {
    comparison.wider(`${path}.path`, approved.path, asked.target);
  }
  if (approved.address !== undefined && asked.socket?.local !== approved.address) {
    comparison.wider(`${path}.address`, approved.address, asked.socket?.local ?? 'no socket');
  }
  if (approved.dev !== undefined && asked.dev !== approved.dev) {
    comparison.wider(`${path}.dev`, String(approved.dev), String(asked.dev));
  }
  if (approved.inode !== undefined && asked.inode !== approved.inode) {
    comparison.wider(`${path}.inode`, approved.inode, asked.inode);
  }
}

/** `file /etc/hosts (read)`, as a profile has it. */
export function phraseApproved({ kind, access, path, address }: ApprovedObject): string {
  return [kind, path ?? address ?? '', `(${access})`].filter((part) => part !== '').join(' ');
}
