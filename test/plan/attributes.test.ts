// Options that the launcher serves → attributes: complete, canonical, frozen; or refused by name.
import { describe, expect, it } from 'vitest';

import {
  ATTRIBUTE_NAMES,
  LIMITS,
  encodeIoPriority,
  resolveAttributes,
} from '../../src/plan/attributes.js';
import { buildTable } from '../../src/plan/descriptors.js';
import { takeOptions } from '../../src/plan/options.js';
import { thrown } from '../support/errors.js';

const table = buildTable('null', [{ fd: 0, as: 7 }], () => 1024);

// As a caller writes them: null and unknown names are dealt with before.
const resolve = (options: Record<string, unknown>, session = 'new') =>
  resolveAttributes(takeOptions(options), session, table);

describe('what was asked for, and nothing else', () => {
  it('nothing', () => {
    expect(resolve({})).toEqual({});
    const absent = Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, null]));
    expect(resolve(absent)).toEqual({});
    expect(resolve({ dieWithParent: false })).toEqual({});
  });

  it.each<[string, unknown, unknown]>([
    ['umask', 0, 0],
    ['umask', 0o777, 0o777],
    ['nice', -20, -20],
    ['nice', 19, 19],
    ['oomScoreAdjust', -1000, -1000],
    ['oomScoreAdjust', 1000, 1000],
    ['cpuAffinity', [8191], [8191]],
    ['cpuAffinity', [3, 1, 3], [1, 3]],
    ['ioPriority', { class: 'realtime' }, { class: 'realtime', level: 4 }],
    ['ioPriority', { class: 'best-effort', level: 0 }, { class: 'best-effort', level: 0 }],
    ['ioPriority', { class: 'idle' }, { class: 'idle', level: 0 }],
    ['ioPriority', { class: 'idle', level: null }, { class: 'idle', level: 0 }],
    ['dieWithParent', true, 9],
    ['dieWithParent', 'SIGHUP', 1],
    ['dieWithParent', 64, 64],
    ['terminal', 2, 2],
    ['terminal', 7, 7],
    ['group', 'staff', 'staff'],
    ['group', 4294967294, 4294967294],
    ['groups', [], []],
    ['groups', [5, 2, 5], [2, 5]],
    ['limits', {}, {}],
    ['limits', { core: null }, {}],
    ['limits', { core: 0 }, { core: { soft: 0, hard: 0 } }],
    ['limits', { core: 'unlimited' }, { core: { soft: 'unlimited', hard: 'unlimited' } }],
    ['limits', { cpu: { soft: 1, hard: 'unlimited' } }, { cpu: { soft: 1, hard: 'unlimited' } }],
    ['limits', { as: 2 ** 53 - 1 }, { as: { soft: 2 ** 53 - 1, hard: 2 ** 53 - 1 } }],
  ])('%s: %j', (name, given, expected) => {
    expect(resolve({ [name]: given })).toEqual({ [name]: expected });
  });

  it.each<[Record<string, unknown>, unknown]>([
    [{ user: 'www-data' }, { user: 'www-data', groups: [] }],
    [{ user: 0 }, { user: 0, groups: [] }],
    [
      { user: 'a', group: 5 },
      { user: 'a', group: 5, groups: [] },
    ],
    [
      { user: 'a', groups: 'init' },
      { user: 'a', groups: 'init' },
    ],
    [
      { user: 'a', groups: [1] },
      { user: 'a', groups: [1] },
    ],
    [
      { user: 'a', groups: null },
      { user: 'a', groups: [] },
    ],
    [{ user: 'svc$' }, { user: 'svc$', groups: [] }],
    [{ user: 'DOMAIN\\somebody' }, { user: 'DOMAIN\\somebody', groups: [] }],
  ])('%j', (given, expected) => {
    expect(resolve(given)).toEqual(expected);
  });

  it('limits in one order, whatever the caller wrote', () => {
    const names = Object.keys(LIMITS);
    const written = Object.fromEntries([...names].reverse().map((name) => [name, 0]));
    expect(Object.keys(resolve({ limits: written }).limits!)).toEqual(names);
  });

  it('frozen, all through', () => {
    const attributes = resolve({
      limits: { core: 0 },
      ioPriority: { class: 'idle' },
      cpuAffinity: [0],
      groups: [1],
    });
    const parts = [attributes, ...Object.values(attributes), attributes.limits?.core];
    for (const part of parts) expect(Object.isFrozen(part)).toBe(true);
  });
});

describe('refused, by name', () => {
  const whole = (from: number, to: number): string =>
    `must be a whole number from ${from} to ${to}`;
  const limit = "must be a whole number from 0, or 'unlimited'";

  it.each<[Record<string, unknown>, string, string]>([
    [{ umask: -1 }, 'umask', whole(0, 511)],
    [{ umask: 0o1000 }, 'umask', whole(0, 511)],
    [{ umask: '022' }, 'umask', whole(0, 511)],
    [{ nice: 20 }, 'nice', whole(-20, 19)],
    [{ nice: -21 }, 'nice', whole(-20, 19)],
    [{ nice: 1.5 }, 'nice', whole(-20, 19)],
    [{ nice: NaN }, 'nice', whole(-20, 19)],
    [{ nice: '1' }, 'nice', whole(-20, 19)],
    [{ oomScoreAdjust: 1001 }, 'oomScoreAdjust', whole(-1000, 1000)],
    [{ cpuAffinity: [] }, 'cpuAffinity', 'must be an array of processor numbers'],
    [{ cpuAffinity: 0 }, 'cpuAffinity', 'must be an array of processor numbers'],
    [{ cpuAffinity: [0, 8192] }, 'cpuAffinity[1]', whole(0, 8191)],
    [{ cpuAffinity: [0, null] }, 'cpuAffinity[1]', whole(0, 8191)],
    [{ ioPriority: 'idle' }, 'ioPriority', 'must be an object with class, level, not string'],
    [{ ioPriority: {} }, 'ioPriority.class', "must be 'realtime', 'best-effort' or 'idle'"],
    [
      { ioPriority: { class: 'toString' } },
      'ioPriority.class',
      "must be 'realtime', 'best-effort' or 'idle'",
    ],
    [{ ioPriority: { class: 'best-effort', level: 8 } }, 'ioPriority.level', whole(0, 7)],
    [{ ioPriority: { class: 'idle', level: 1 } }, 'ioPriority.level', whole(0, 0)],
    [{ limits: { core: -1 } }, 'limits.core', limit],
    [{ limits: { core: 1.5 } }, 'limits.core', limit],
    [{ limits: { core: Infinity } }, 'limits.core', limit],
    [{ limits: { core: 2 ** 53 } }, 'limits.core', limit],
    [{ limits: { core: 'infinity' } }, 'limits.core', limit],
    [{ limits: { core: { soft: 1 } } }, 'limits.core.hard', limit],
    [{ limits: { core: { hard: 1 } } }, 'limits.core.soft', limit],
    [
      { limits: { core: { soft: 2, hard: 1 } } },
      'limits.core',
      'has a soft limit above the hard one',
    ],
    [
      { limits: { core: { soft: 'unlimited', hard: 1 } } },
      'limits.core',
      'has a soft limit above the hard one',
    ],
    [{ user: '' }, 'user', 'must be a name or a number, not a string that is no name'],
    [{ user: '1000' }, 'user', 'must be a name or a number, not a string that is no name'],
    [{ user: 'a b' }, 'user', 'must be a name or a number, not a string that is no name'],
    [{ user: 'a:b' }, 'user', 'must be a name or a number, not a string that is no name'],
    [{ user: 'a\0' }, 'user', 'must be a name or a number, not a string that is no name'],
    [{ user: true }, 'user', 'must be a name or a number, not boolean'],
    [{ user: -1 }, 'user', whole(0, 4294967294)],
    [{ user: 4294967295 }, 'user', whole(0, 4294967294)],
    [{ group: 0.5 }, 'group', whole(0, 4294967294)],
    [{ groups: 'all' }, 'groups', "must be an array of gids, or 'init'"],
    [{ groups: 'init' }, 'groups', "'init' needs a user"],
    [{ groups: ['staff'] }, 'groups[0]', whole(0, 4294967294)],
    [
      { groups: Array.from({ length: 65_537 }, (_, gid) => gid) },
      'groups',
      'has more than 65536 entries',
    ],
    [{ dieWithParent: 0 }, 'dieWithParent', 'must be true, false or a signal'],
    [{ terminal: -1 }, 'terminal', whole(0, 2147483647)],
    [{ terminal: 3 }, 'terminal', '3 is not a descriptor of the child; name one of stdio or pass'],
  ])('%j', (options, stagePath, message) => {
    const error = thrown(() => resolve(options));
    expect(error).toMatchObject({
      name: 'SallyportTypeError',
      code: 'ERR_SALLYPORT_INVALID_ARGUMENT',
      stage: 'plan',
      stagePath,
    });
    expect(error.message).toBe(`${stagePath}: ${message}`);
  });

  it.each<[Record<string, unknown>, string, string]>([
    [{ limits: { files: 1 } }, 'ERR_SALLYPORT_UNKNOWN_OPTION', 'limits.files'],
    [{ limits: { core: { min: 0 } } }, 'ERR_SALLYPORT_UNKNOWN_OPTION', 'limits.core.min'],
    [{ ioPriority: { klass: 1 } }, 'ERR_SALLYPORT_UNKNOWN_OPTION', 'ioPriority.klass'],
    [{ dieWithParent: 'SIGFOO' }, 'ERR_SALLYPORT_UNKNOWN_SIGNAL', 'dieWithParent'],
    [{ dieWithParent: 65 }, 'ERR_SALLYPORT_UNKNOWN_SIGNAL', 'dieWithParent'],
    [{ uid: 1 }, 'ERR_SALLYPORT_UNKNOWN_OPTION', 'options.uid'],
    [{ gid: 1 }, 'ERR_SALLYPORT_UNKNOWN_OPTION', 'options.gid'],
    [{ rlimits: {} }, 'ERR_SALLYPORT_UNKNOWN_OPTION', 'options.rlimits'],
  ])('%j: %s', (options, code, stagePath) => {
    expect(thrown(() => resolve(options))).toMatchObject({ code, stage: 'plan', stagePath });
  });

  it.each(['group', 'inherit'])('a terminal with session %s', (session) => {
    const { message } = thrown(() => resolve({ terminal: 0 }, session));
    expect(message).toBe("terminal: needs session: 'new'");
  });
});

it('a polluted Object.prototype adds nothing', () => {
  const polluted = Object.prototype as Record<string, unknown>;
  const names = ['core', 'soft', 'level', 'user', 'umask'];
  // vitest itself must not see it.
  const seen = (() => {
    for (const name of names) polluted[name] = 1;
    try {
      return {
        none: Object.entries(resolve({})),
        some: JSON.stringify(resolve({ limits: { cpu: 5 }, ioPriority: { class: 'best-effort' } })),
        soft: thrown(() => resolve({ limits: { cpu: { hard: 5 } } })).stagePath,
      };
    } finally {
      for (const name of names) delete polluted[name];
    }
  })();
  expect(seen.none).toEqual([]);
  expect(JSON.parse(seen.some)).toEqual({
    limits: { cpu: { soft: 5, hard: 5 } },
    ioPriority: { class: 'best-effort', level: 4 },
  });
  expect(seen.soft).toBe('limits.cpu.soft');
});

it.each<[Parameters<typeof encodeIoPriority>[0], number]>([
  [{ class: 'realtime', level: 7 }, 0x2007],
  [{ class: 'best-effort', level: 0 }, 0x4000],
  [{ class: 'idle', level: 0 }, 0x6000],
])('ioprio_set takes %j as %i', (priority, number) => {
  expect(encodeIoPriority(priority)).toBe(number);
});
