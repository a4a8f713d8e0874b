// stdio and pass: which table they become, and what is refused.
import { describe, expect, it } from 'vitest';

import type { DescriptorObject } from '../../src/objects/object.js';
import { buildTable, resolveTable } from '../../src/plan/descriptors.js';
import { thrown } from '../support/errors.js';

const limit = () => 1024;

/** target ← source, or the channel's name. */
const table = (stdio: unknown, pass?: unknown) =>
  buildTable(stdio, pass, limit).map(
    ({ target, channel, source }) =>
      `${String(target)}←${source === null ? channel : String(source)}`,
  );

describe('stdio', () => {
  it.each([
    [undefined, ['0←null', '1←pipe', '2←pipe']],
    [null, ['0←null', '1←pipe', '2←pipe']],
    ['null', ['0←null', '1←null', '2←null']],
    ['pipe', ['0←pipe', '1←pipe', '2←pipe']],
    ['inherit', ['0←0', '1←1', '2←2']],
    [7, ['0←7', '1←7', '2←7']],
    [0, ['0←0', '1←0', '2←0']],
    [[], ['0←null', '1←pipe', '2←pipe']],
    [['pipe'], ['0←pipe', '1←pipe', '2←pipe']],
    [
      [undefined, null, 5],
      ['0←null', '1←pipe', '2←5'],
    ],
    [
      [1, 0, 'inherit'],
      ['0←1', '1←0', '2←2'],
    ],
    [
      ['null', 9, 9],
      ['0←null', '1←9', '2←9'],
    ],
  ])('%j', (stdio, expected) => {
    expect(table(stdio)).toEqual(expected);
  });

  it.each([
    ['ignore', "write 'null'"],
    [['pipe', 'ignore'], "write 'null'"],
    ['overlapped', 'stdio'],
    [['pipe', 'pipe', 'pipe', 'pipe'], 'pass'],
    [['pipe', 'pipe', 'pipe', 'ipc'], 'pass'],
    [[{}], 'stdio[0]'],
    [-1, 'stdio'],
    [['null', 1.5], 'stdio[1]'],
    [['null', NaN], 'stdio[1]'],
    [['null', 'null', 2 ** 31], 'stdio[2]'],
    [['null', '1'], 'stdio[1]'],
    [process.stdout, 'stdio'],
    [true, 'stdio'],
  ])('refuses %s', (stdio, says) => {
    const error = thrown(() => table(stdio));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.code).toMatch(/^ERR_SALLYPORT_/);
    expect(error.stage).toBe('plan');
    expect(error.message).toContain(says);
  });
});

describe('pass', () => {
  it.each([
    [[], []],
    [undefined, []],
    [[5], ['5←5']],
    [[{ fd: 5 }], ['5←5']],
    [[{ fd: 5, as: undefined }], ['5←5']],
    [[{ fd: 0, as: 3 }], ['3←0']],
    [
      [
        { fd: 30, as: 9 },
        { fd: 31, as: 4 },
      ],
      ['4←31', '9←30'],
    ],
    [
      [
        { fd: 3, as: 4 },
        { fd: 4, as: 3 },
      ],
      ['3←4', '4←3'],
    ],
    [
      [7, { fd: 7, as: 8 }],
      ['7←7', '8←7'],
    ],
    [[1023], ['1023←1023']],
  ])('%j', (pass, expected) => {
    expect(table('null', pass)).toEqual(['0←null', '1←null', '2←null', ...expected]);
  });

  it.each([
    [5, 'pass'],
    ['5', 'pass'],
    [['5'], 'pass[0]'],
    [[5, null], 'pass[1]'],
    [[undefined], 'pass[0]'],
    [[0], 'stdio'],
    [[{ fd: 2 }], 'stdio'],
    [[{ fd: 9, as: 1 }], 'stdio'],
    [[-1], 'pass[0]'],
    [[{ fd: 5, as: -1 }], 'pass[0].as'],
    [[{ fd: 5, as: 4.5 }], 'pass[0].as'],
    [[{ fd: '5' }], 'pass[0].fd'],
    [[{}], 'pass[0].fd'],
    [[{ as: 4 }], 'pass[0].fd'],
    [[{ fd: 5, to: 4 }], 'pass[0].to'],
    [[5, 5], 'twice'],
    [[5, { fd: 6, as: 5 }], 'twice'],
    [[1024], '1024'],
    [[{ fd: 5, as: 5000 }], '5000'],
    [[{ fd: 5, expect: 'file' }], 'pass[0].expect'],
    [[{ fd: 5, expect: { kind: 'pipe' } }], 'pass[0].expect.access'],
    [[{ fd: 5, expect: { kind: 'plumbing', access: 'read' } }], 'pass[0].expect.kind'],
    [[{ fd: 5, expect: { kind: 'pipe', access: 'r' } }], 'pass[0].expect.access'],
    [[{ fd: 5, expect: { kind: 'file', access: 'read', ino: 1.5 } }], 'pass[0].expect.ino'],
    [[{ fd: 5, expect: { kind: 'file', access: 'read', inode: 1 } }], 'pass[0].expect.inode'],
  ])('refuses %j', (pass, says) => {
    const error = thrown(() => table('null', pass));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.code).toMatch(/^ERR_SALLYPORT_/);
    expect(error.message).toContain(says);
  });

  it('what a prototype holds is no part of an entry', () => {
    const entry = Object.assign(
      Object.create({ as: 77, expect: { kind: 'file', access: 'read' } }) as object,
      {
        fd: 5,
      },
    );
    expect(buildTable('null', [entry], limit).at(-1)).toEqual({
      target: 5,
      channel: 'descriptor',
      source: 5,
      expect: null,
    });
  });
});

describe('resolveTable', () => {
  const object: DescriptorObject = {
    kind: 'file',
    access: 'read',
    target: '/made/up',
    dev: 1,
    inode: '2',
    flags: 0,
  };

  it('joins each source with its object, and is frozen', () => {
    const asked: number[] = [];
    const resolved = resolveTable(
      buildTable(['null', 'pipe', 9], [{ fd: 8, as: 5 }], limit),
      (source) => {
        asked.push(source);
        return object;
      },
    );
    expect(asked).toEqual([9, 8]);
    expect(resolved).toEqual([
      { target: 0, channel: 'null', source: null, object: null },
      { target: 1, channel: 'pipe', source: null, object: null },
      { target: 2, channel: 'descriptor', source: 9, object },
      { target: 5, channel: 'descriptor', source: 8, object },
    ]);
    expect(Object.isFrozen(resolved)).toBe(true);
    expect(resolved.every((entry) => Object.isFrozen(entry))).toBe(true);
  });

  it('refuses an object that is not the expected one', () => {
    const pass = [{ fd: 8, as: 5, expect: { kind: 'listener', access: 'both' } }];
    const error = thrown(() => resolveTable(buildTable('null', pass, limit), () => object));
    expect(error.code).toBe('ERR_SALLYPORT_UNEXPECTED_OBJECT');
    expect(error.message).toContain('/made/up');
  });
});
