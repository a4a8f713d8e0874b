// The one vocabulary of what a descriptor can be.

/** Kinds that the native classifier tells apart (native/core/descriptor_object.h has the same). */
export const OBJECT_KINDS = [
  'file',
  'directory',
  'symlink',
  'pipe',
  'fifo',
  'socket',
  'listener',
  'char-device',
  'tty',
  'block-device',
  'memfd',
  'pidfd',
  'eventfd',
  'epoll',
  'inotify',
  'fanotify',
  'timerfd',
  'signalfd',
  'io_uring',
  'bpf',
  'namespace',
  'other',
] as const;

/** What a descriptor refers to. */
export type ObjectKind = (typeof OBJECT_KINDS)[number];

/** Kinds that can be expected of a descriptor. `other` is whatever none of the others names. */
export const EXPECTED_KINDS = [
  'file',
  'directory',
  'pipe',
  'socket',
  'listener',
  'char-device',
  'memfd',
  'other',
] as const;

/** The kinds that can be expected; some of `ObjectKind` are one here. */
export type ExpectedKind = (typeof EXPECTED_KINDS)[number];

/** What a descriptor permits. `none` is an O_PATH descriptor, open(2). */
export type ObjectAccess = 'read' | 'write' | 'both' | 'none';

/**
 * Whether an object of this kind is what was expected. A FIFO is a pipe with a name and a terminal
 * is a character device; a listener is not a `socket`, since it grants something else: accepting.
 */
export function isExpectedKind(kind: ObjectKind, expected: ExpectedKind): boolean {
  if (expected === 'pipe') return kind === 'pipe' || kind === 'fifo';
  if (expected === 'char-device') return kind === 'char-device' || kind === 'tty';
  if (expected === 'other') {
    return !EXPECTED_KINDS.some((other) => other !== 'other' && isExpectedKind(kind, other));
  }
  return kind === expected;
}
