// What a library added to Object.prototype is nobody's approval, and nobody's evidence.
import { expect, it } from 'vitest';

import { planLaunch } from '../../src/index.js';
import { gatherEvidence, review, strictProfile, type Profile } from '../../src/review.js';
import { takeProfile } from '../../src/run/admission.js';

type Change = (profile: Profile) => void;

const seen = { complete: true, outcome: { kind: 'exited' }, output: { stdout: { end: 'eof' } } };
const places: Change = (profile) => {
  profile.arguments = [{ operand: 'word', rule: { kind: 'text' } }];
};

/** Decision and open gates, while something stands in Object.prototype, which vitest must not see. */
function decide(
  change: Change,
  args: string[],
  options: object,
  added?: [name: string, value: unknown],
  enumerable = false,
): unknown {
  const approved = strictProfile({ executable: '/usr/bin/sort', cwd: '/' });
  change(approved);
  const given = { env: {}, cwd: '/', verify: 'at-exec', ...options } as const;
  const plan = planLaunch('/usr/bin/sort', args, given);
  const evidence = gatherEvidence(plan);
  if (added !== undefined) {
    const [name, value] = added;
    Object.defineProperty(Object.prototype, name, { value, enumerable, configurable: true });
  }
  try {
    const { decision, gates } = review(plan, { approved, evidence });
    return [decision, ...gates.map((gate) => `${gate.name} ${gate.decision}`)];
  } finally {
    if (added !== undefined) delete (Object.prototype as Record<string, unknown>)[added[0]];
  }
}

it.each<[name: string, value: unknown, Change, args: string[], options: object]>([
  ['mayBeOption', true, places, ['-o'], {}],
  ['maxBytes', 1e9, places, ['x'.repeat(5_000)], {}],
  ['argv0', 'other', () => undefined, [], { argv0: 'other' }],
  ['attributes', { umask: 0 }, () => undefined, [], { umask: 0 }],
  ['umask', 0, () => undefined, [], { umask: 0 }],
  ['descriptors', [], (profile) => delete profile.descriptors, [], {}],
  [
    'optional',
    true,
    (profile) => {
      const object = { kind: 'file', access: 'read' } as const;
      profile.descriptors = [{ target: 5, object, role: 'log', reason: 'x' }];
    },
    [],
    {},
  ],
  [
    'nofile',
    { soft: 1, hard: 1 },
    ({ launch }) => {
      launch.attributes = { limits: { nofile: { soft: 10, hard: 10 } } };
    },
    [],
    { limits: { core: 0 } },
  ],
  [
    'containment',
    'init',
    ({ launch }) => {
      launch.containment = ['init'];
    },
    [],
    {},
  ],
  [
    'path',
    '/',
    (profile) => {
      profile.cwd = { within: '/etc' };
    },
    [],
    {},
  ],
  ['sha256', 'a'.repeat(64), () => undefined, [], {}],
  ['report', seen, () => undefined, [], {}],
])('%s there changes no decision', (name, value, change, args, options) => {
  const plain = decide(change, args, options);
  for (const enumerable of [false, true]) {
    expect(decide(change, args, options, [name, value], enumerable)).toEqual(plain);
  }
});

it('a run takes no limit from there', () => {
  const limits = { value: { deadline: 1 }, configurable: true };
  const profile = strictProfile({ executable: '/usr/bin/sort', cwd: '/' });
  Object.defineProperty(Object.prototype, 'limits', limits);
  const taken = takeProfile(profile)?.limits;
  delete (Object.prototype as Record<string, unknown>)['limits'];
  expect(taken).toBeUndefined();
});

it('what is wrong is still said', () => {
  const wrong: Change = (profile) => Object.assign(profile, { chanels: {} });
  for (const enumerable of [false, true]) {
    expect(() => decide(wrong, [], {}, ['added', 1], enumerable)).toThrow('chanels is unknown');
  }
});
