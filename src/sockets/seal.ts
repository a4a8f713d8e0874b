// Seals this process's own descriptors: what is close-on-exec no plain spawn hands over.
import { invalid, systemError } from '../errors.js';
import { isFailure, native } from '../native.js';
import { takeOwn } from '../own-properties.js';
import type { DescriptorObject } from '../objects/object.js';

export interface SealOptions {
  /** `sockets` (the default), or `all`. */
  kinds?: 'sockets' | 'all';
}

/** A descriptor that was open without close-on-exec, and has it now. */
export interface SealedDescriptor extends DescriptorObject {
  readonly fd: number;
}

/**
 * Sets FD_CLOEXEC, fcntl(2), on what this process has open, past every gap between the numbers. Node
 * itself does so at its start, up to the first gap after 15. 0, 1 and 2 are left alone. What other
 * threads open afterwards is not sealed.
 *
 * @returns what was changed, by ascending number
 * @throws {SallyportError} where /proc/self/fd cannot be read
 */
export function sealDescriptors(options: SealOptions = {}): SealedDescriptor[] {
  const { kinds } = takeOwn(options, 'sealDescriptors', ['kinds']);
  if (kinds !== undefined && kinds !== 'sockets' && kinds !== 'all') {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'kinds', "must be 'sockets' or 'all'");
  }
  const sealed = native().sealDescriptors(kinds === 'all');
  if (isFailure(sealed)) {
    throw systemError(sealed.errno, 'opendir', 'is /proc mounted?', {
      syscall: 'seal',
      stage: 'descriptor',
      stagePath: sealed.path,
      stageSource: 'reported',
    });
  }
  return sealed.map(([fd, object]) => ({ fd, ...object }));
}
