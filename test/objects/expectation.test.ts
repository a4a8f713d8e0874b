// What a caller expects of a descriptor, against what it really is.
import { describe, expect, it } from 'vitest';

import {
  requireExpected,
  takeExpectation,
  type Expectation,
} from '../../src/objects/expectation.js';
import { EXPECTED_KINDS, isExpectedKind, OBJECT_KINDS } from '../../src/objects/kind.js';
import { phraseObject, type DescriptorObject } from '../../src/objects/object.js';
import { thrown } from '../support/errors.js';

const file: DescriptorObject = {
  kind: 'file',
  access: 'read',
  target: '/etc/hosts',
  dev: 5,
  inode: '9007199254740993',
  flags: 0,
};

const listener: DescriptorObject = {
  kind: 'listener',
  access: 'both',
  target: 'socket:[12]',
  dev: 8,
  inode: '12',
  flags: 2,
  socket: { family: 2, type: 1, protocol: 6, listening: true, local: '127.0.0.1:80', remote: '' },
};

describe('kinds', () => {
  it('every object is expected by exactly one word', () => {
    for (const kind of OBJECT_KINDS) {
      expect(EXPECTED_KINDS.filter((expected) => isExpectedKind(kind, expected))).toHaveLength(1);
    }
  });

  it('pipe covers FIFOs, char-device covers terminals, a listener is no socket, other is the rest', () => {
    expect(OBJECT_KINDS.filter((kind) => isExpectedKind(kind, 'pipe'))).toEqual(['pipe', 'fifo']);
    expect(OBJECT_KINDS.filter((kind) => isExpectedKind(kind, 'char-device'))).toEqual([
      'char-device',
      'tty',
    ]);
    expect(isExpectedKind('listener', 'socket')).toBe(false);
    expect(isExpectedKind('socket', 'listener')).toBe(false);
    for (const kind of ['epoll', 'eventfd', 'pidfd', 'block-device', 'inotify', 'other'] as const) {
      expect(isExpectedKind(kind, 'other')).toBe(true);
    }
    expect(isExpectedKind('memfd', 'file')).toBe(false);
  });
});

describe('requireExpected', () => {
  it.each<[DescriptorObject, Expectation]>([
    [file, { kind: 'file', access: 'read' }],
    [file, { kind: 'file', access: 'read', path: '/etc/hosts', dev: 5, ino: 9007199254740993n }],
    [file, { kind: 'file', access: 'read', dev: 5n }],
    [listener, { kind: 'listener', access: 'both', address: '127.0.0.1:80' }],
  ])('accepts what it is', (object, expected) => {
    expect(() => {
      requireExpected(7, object, expected);
    }).not.toThrow();
  });

  it.each<[string, DescriptorObject, Expectation]>([
    ['kind', file, { kind: 'directory', access: 'read' }],
    ['kind', listener, { kind: 'socket', access: 'both' }],
    ['access', file, { kind: 'file', access: 'both' }],
    ['access', file, { kind: 'file', access: 'write' }],
    ['path', file, { kind: 'file', access: 'read', path: '/etc/host' }],
    ['dev', file, { kind: 'file', access: 'read', dev: 6 }],
    // One beyond what a number holds exactly: it must not be rounded into a match.
    ['inode', file, { kind: 'file', access: 'read', ino: 9007199254740992n }],
    ['address', listener, { kind: 'listener', access: 'both', address: '0.0.0.0:80' }],
    ['address', file, { kind: 'file', access: 'read', address: '127.0.0.1:80' }],
  ])('refuses another %s and says what it really is', (difference, object, expected) => {
    const error = thrown(() => {
      requireExpected(7, object, expected);
    });
    expect(error).toMatchObject({ code: 'ERR_SALLYPORT_UNEXPECTED_OBJECT', stage: 'descriptor' });
    expect(error.message).toContain('descriptor 7');
    expect(error.message).toContain(phraseObject(object));
    expect(error.message).toContain(difference);
  });

  it('an O_PATH descriptor has none of the accesses that can be expected', () => {
    for (const access of ['read', 'write', 'both'] as const) {
      expect(() => {
        requireExpected(7, { ...file, access: 'none' }, { kind: 'file', access });
      }).toThrow('access');
    }
  });
});

describe('takeExpectation', () => {
  it('takes own properties only', () => {
    const inherited = Object.create({ kind: 'file', access: 'read' }) as object;
    expect(
      thrown(() => {
        takeExpectation(inherited, 'expect');
      }),
    ).toBeInstanceOf(TypeError);
  });
});

it('phraseObject says kind, name and access', () => {
  expect(phraseObject(file)).toBe('file /etc/hosts (read)');
  expect(phraseObject(listener)).toBe('listener 127.0.0.1:80 (both)');
});
