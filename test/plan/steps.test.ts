// The steps of the launcher: their order, their codes, and what is left for the addon to look up.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import type { LaunchAttributes } from '../../src/plan/attributes.js';
import { orderSteps } from '../../src/plan/steps.js';
import { root } from '../support/fixtures.js';

/** Codes by the names of the launcher's own header. */
const header = readFileSync(path.join(root, 'native/launcher/instructions.h'), 'utf8');
const CODES = new Map(
  [...header.matchAll(/\bSTEP_(\w+) = (\d+)/g)].map(([, name, code]) => [Number(code), name]),
);

type Step = [name: string | undefined, ...values: number[]];

function steps(attributes: LaunchAttributes, parent = 1): Step[] {
  const { numbers } = orderSteps(attributes, parent);
  const result: Step[] = [];
  for (let at = 0; at < numbers.length;) {
    const count = numbers[at + 1]!;
    result.push([CODES.get(numbers[at]!), ...numbers.slice(at + 2, at + 2 + count)]);
    at += 2 + count;
  }
  return result;
}

it('nothing asked for, nothing done', () => {
  expect(orderSteps({}, 1)).toEqual({ numbers: [], user: '', group: '' });
});

it('privileges before they go, groups before the group before the user, the signal last', () => {
  const attributes: LaunchAttributes = {
    dieWithParent: 9,
    user: 1,
    group: 2,
    groups: [3, 4],
    limits: {
      core: { soft: 0, hard: 'unlimited' },
      nofile: { soft: 10, hard: 20 },
    },
    umask: 0o22,
    terminal: 0,
    cpuAffinity: [0, 5],
    ioPriority: { class: 'idle', level: 0 },
    nice: -20,
    oomScoreAdjust: -1000,
  };
  expect(steps(attributes, 4711)).toEqual([
    ['OOM_SCORE_ADJUST', -1000],
    ['NICE', -20],
    ['IO_PRIORITY', 0x6000],
    ['CPU_AFFINITY', 0, 5],
    ['TERMINAL', 0],
    ['UMASK', 0o22],
    ['LIMIT', 4, 0, Infinity],
    ['LIMIT', 7, 10, 20],
    ['GROUPS', 3, 4],
    ['GROUP', 2],
    ['USER', 1],
    ['DIE_WITH_PARENT', 9, 4711],
  ]);
});

const LOOK_UP = -1;

describe('ids', () => {
  it.each<[LaunchAttributes, Step[], string, string]>([
    [{ user: 1, group: 2, groups: [] }, [['GROUPS'], ['GROUP', 2], ['USER', 1]], '', ''],
    // Its own group is not known without the database.
    [{ user: 1, groups: [] }, [['GROUPS'], ['GROUP', LOOK_UP], ['USER', 1]], '1', ''],
    [{ user: 'a', groups: [] }, [['GROUPS'], ['GROUP', LOOK_UP], ['USER', LOOK_UP]], 'a', ''],
    [
      { user: 'a', group: 'b', groups: [7] },
      [
        ['GROUPS', 7],
        ['GROUP', LOOK_UP],
        ['USER', LOOK_UP],
      ],
      'a',
      'b',
    ],
    [{ user: 1, group: 'b', groups: [] }, [['GROUPS'], ['GROUP', LOOK_UP], ['USER', 1]], '', 'b'],
    [
      { user: 1, group: 2, groups: 'init' },
      [
        ['GROUPS', LOOK_UP],
        ['GROUP', 2],
        ['USER', 1],
      ],
      '1',
      '',
    ],
    [{ group: 2 }, [['GROUP', 2]], '', ''],
    [{ group: 'b' }, [['GROUP', LOOK_UP]], '', 'b'],
    [{ groups: [1, 2] }, [['GROUPS', 1, 2]], '', ''],
  ])('%j', (attributes, expected, user, group) => {
    expect(steps(attributes)).toEqual(expected);
    expect(orderSteps(attributes, 1)).toMatchObject({ user, group });
  });
});

it('thousands of groups', () => {
  const groups = Array.from({ length: 65_536 }, (_, gid) => gid);
  expect(steps({ groups })).toEqual([['GROUPS', ...groups]]);
});

it('no two steps have one code', () => {
  const codes = [...header.matchAll(/\bSTEP_\w+ = (\d+)/g)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(10);
  expect(new Set(codes).size).toBe(codes.length);
});
