// Seals this process's own descriptors: what is close-on-exec no plain spawn hands over.
import { constants } from 'node:os';

import { invalid, systemError } from '../errors.js';
import { adviseLimit } from '../limits.js';
import { isFailure } from '../native-binding.js';
import { native } from '../native.js';
import { itemsOf, takeOwn } from '../own-properties.js';
import type { DescriptorObject } from '../objects/object.js';

/** What `sealDescriptors` takes. */
export interface SealOptions {
  /** `sockets` (the default, listeners among them), `listeners` alone, or `all`. */
  kinds?: 'sockets' | 'listeners' | 'all' | undefined;
  /** Numbers that stay as they are. */
  except?: readonly number[] | undefined;
  /** Also 0, 1 and 2. Default false. */
  standard?: boolean | undefined;
  /**
   * Seal again at this interval, in milliseconds, what native libraries have opened since. The timer
   * does not keep the process running. Between two passes a plain spawn can still hand something over.
   * A later pass that cannot look (EMFILE) changes nothing and is followed by the next.
   */
  every?: number | undefined;
  /** Ends the repetition. */
  signal?: AbortSignal | undefined;
  /** Called with what a later pass has sealed, where that is anything. */
  onSealed?: ((sealed: SealedDescriptor[]) => void) | undefined;
}

/** A descriptor that was open without close-on-exec, and has it now. */
export interface SealedDescriptor extends DescriptorObject {
  /** Number of the descriptor. */
  readonly fd: number;
}

const OPTION_NAMES = ['kinds', 'except', 'standard', 'every', 'signal', 'onSealed'] as const;
// SealKinds in native/core/descriptor_table.h.
const KINDS = { sockets: 0, listeners: 1, all: 2 } as const;

interface Pass {
  kinds: number;
  except: Int32Array;
  standard: boolean;
}

/**
 * Sets FD_CLOEXEC, fcntl(2), on what this process has open, past every gap between the numbers. Node
 * itself does so at its start, up to the first gap after 15. 0, 1 and 2 are left alone. What other
 * threads open afterwards is not sealed, unless `every` says when to look again.
 *
 * @returns what was changed, by ascending number
 * @throws {SallyportError} where /proc/self/fd cannot be read
 */
export function sealDescriptors(options: SealOptions = {}): SealedDescriptor[] {
  const taken = takeOwn(options, 'sealDescriptors', OPTION_NAMES);
  const pass = takePass(taken.kinds, taken.except, taken.standard);
  const { every, signal, onSealed } = takeRepetition(taken.every, taken.signal, taken.onSealed);
  const sealed = seal(pass);
  if (every !== undefined) repeat(pass, every, signal, onSealed);
  return sealed;
}

function takePass(kinds: unknown, except: unknown, standard: unknown): Pass {
  if (kinds !== undefined && !(typeof kinds === 'string' && Object.hasOwn(KINDS, kinds))) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'kinds',
      "must be 'sockets', 'listeners' or 'all'",
    );
  }
  // Beyond 2³¹ they would wrap around, and leave another one open.
  const isNumber = (fd: unknown): fd is number =>
    Number.isInteger(fd) && (fd as number) >= 0 && (fd as number) < 2 ** 31;
  if (except !== undefined && !(Array.isArray(except) && itemsOf(except).every(isNumber))) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'except',
      'must be an array of descriptor numbers',
    );
  }
  if (standard !== undefined && typeof standard !== 'boolean') {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'standard', 'must be true or false');
  }
  return {
    kinds: KINDS[(kinds ?? 'sockets') as keyof typeof KINDS],
    except: Int32Array.from(except ?? []),
    standard: standard === true,
  };
}

function takeRepetition(
  every: unknown,
  signal: unknown,
  onSealed: unknown,
): { every?: number; signal?: AbortSignal; onSealed?: (sealed: SealedDescriptor[]) => void } {
  if (every !== undefined && !(typeof every === 'number' && every >= 1 && every < 2 ** 31)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'every', 'must be milliseconds, 1 or more');
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'signal', 'must be an AbortSignal');
  }
  if (onSealed !== undefined && typeof onSealed !== 'function') {
    throw invalid('ERR_SALLYPORT_INVALID_ARGUMENT', 'onSealed', 'must be a function');
  }
  return {
    ...(every === undefined ? {} : { every }),
    ...(signal === undefined ? {} : { signal }),
    ...(onSealed === undefined
      ? {}
      : { onSealed: onSealed as (sealed: SealedDescriptor[]) => void }),
  };
}

function seal({ kinds, except, standard }: Pass): SealedDescriptor[] {
  const sealed = native().sealDescriptors(kinds, except, standard);
  if (isFailure(sealed)) {
    const { ENOENT } = constants.errno;
    const advice = sealed.errno === ENOENT ? 'is /proc mounted?' : adviseLimit(sealed.errno);
    throw systemError(sealed.errno, 'opendir', advice, {
      syscall: 'seal',
      stage: 'descriptor',
      stagePath: sealed.path,
      stageSource: 'reported',
    });
  }
  return sealed.map(([fd, object]) => ({ fd, ...object }));
}

/**
 * At the limit of open descriptors even looking needs one. Nobody could catch what a timer throws: it
 * would end the process, at the moment when that has most connections. The next pass comes anyway.
 */
function sealWhereItCan(pass: Pass): SealedDescriptor[] {
  try {
    return seal(pass);
  } catch {
    return [];
  }
}

function repeat(
  pass: Pass,
  every: number,
  signal: AbortSignal | undefined,
  onSealed: ((sealed: SealedDescriptor[]) => void) | undefined,
): void {
  if (signal?.aborted === true) return;
  const timer = setInterval(() => {
    const sealed = sealWhereItCan(pass);
    if (sealed.length > 0) onSealed?.(sealed);
  }, every);
  timer.unref();
  signal?.addEventListener('abort', () => clearInterval(timer), { once: true });
}
