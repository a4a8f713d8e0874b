// 10 000 changes of an approved launch: none that widens it is accepted, each is named by its path.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { LaunchPlan } from '../../src/index.js';
import type { DescriptorObject } from '../../src/index.js';
import type { Gate, GateName } from '../../src/index.js';
import { gatherEvidence, review } from '../../src/review.js';
import { approveRich } from './support.js';

const { plan: approvedPlan, approved } = approveRich();

interface Mutation {
  readonly what: string;
  readonly plan: LaunchPlan;
  readonly gate: GateName;
  /** Of the difference that must be named. */
  readonly path: string;
}

const change = (fields: Partial<LaunchPlan>): LaunchPlan => ({ ...approvedPlan, ...fields });

const changeObject = (target: number, fields: Partial<DescriptorObject>): LaunchPlan =>
  change({
    descriptors: approvedPlan.descriptors.map((each) =>
      each.target === target ? { ...each, object: { ...each.object!, ...fields } } : each,
    ),
  });

const changeEnvironment = (fields: Record<string, string | undefined>): LaunchPlan => {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...approvedPlan.environment, ...fields })) {
    if (value !== undefined) environment[name] = value;
  }
  return change({ environment });
};

const changeArgument = (index: number, value: string): LaunchPlan =>
  change({ argv: approvedPlan.argv.map((each, at) => (at === index + 1 ? value : each)) });

const changeAttributes = (fields: Partial<LaunchPlan['attributes']>): LaunchPlan => {
  const entries = Object.entries({ ...approvedPlan.attributes, ...fields });
  return change({
    attributes: Object.fromEntries(entries.filter(([, each]) => each !== undefined)),
  });
};

const word = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => !text.includes('\0'));
const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,9}$/);
const objectOfOthers = fc.record({
  kind: fc.constantFrom('file', 'socket', 'listener', 'pipe', 'memfd', 'epoll', 'directory'),
  access: fc.constantFrom('read', 'write', 'both', 'none'),
  target: word.map((text) => `/elsewhere/${text}`),
  dev: fc.nat(),
  inode: fc.nat().map(String),
  flags: fc.nat(),
}) as fc.Arbitrary<DescriptorObject>;

const widened: fc.Arbitrary<Mutation> = fc.oneof(
  fc
    .record({ target: fc.integer({ min: 7, max: 9999 }), object: objectOfOthers })
    .map(({ target, object }): Mutation => ({
      what: 'one descriptor more',
      plan: change({
        descriptors: [
          ...approvedPlan.descriptors,
          { target, channel: 'descriptor', source: target, object },
        ],
      }),
      gate: 'extra-descriptors',
      path: `descriptors.${target}`,
    })),
  objectOfOthers.map((object): Mutation => ({
    what: 'another object in the place of the service',
    plan: changeObject(5, object),
    gate: 'extra-descriptors',
    path: 'descriptors.5',
  })),
  objectOfOthers.map((object): Mutation => ({
    what: 'another object in the place of the input',
    plan: changeObject(0, object),
    gate: 'standard-channels',
    path: 'channels.stdin',
  })),
  fc.constantFrom('read', 'both', 'none').map((access): Mutation => ({
    what: 'more access to the log',
    plan: changeObject(6, { access }),
    gate: 'extra-descriptors',
    path: 'descriptors.6.access',
  })),
  fc.constantFrom('write', 'both', 'none').map((access): Mutation => ({
    what: 'more access to the input',
    plan: changeObject(0, { access }),
    gate: 'standard-channels',
    path: 'channels.stdin.access',
  })),
  fc
    .record({ target: fc.constantFrom(1, 2), object: objectOfOthers })
    .map(({ target, object }): Mutation => ({
      what: 'output to an object of the parent',
      plan: change({
        descriptors: approvedPlan.descriptors.map((each) =>
          each.target === target ? { ...each, channel: 'inherit', source: target, object } : each,
        ),
      }),
      gate: 'standard-channels',
      path: `channels.${target === 1 ? 'stdout' : 'stderr'}`,
    })),
  fc
    .tuple(name, word)
    .filter(([each]) => !['PATH', 'LANG', 'CI', 'API_TOKEN'].includes(each))
    .map(([each, value]): Mutation => ({
      what: 'one variable more',
      plan: changeEnvironment({ [each]: value }),
      gate: 'environment',
      path: `environment.${each}`,
    })),
  fc
    .tuple(fc.constantFrom('PATH', 'CI'), word)
    .filter(([each, value]) => approvedPlan.environment[each] !== value)
    .map(([each, value]): Mutation => ({
      what: 'another value of a fixed variable',
      plan: changeEnvironment({ [each]: value }),
      gate: 'environment',
      path: `environment.${each}`,
    })),
  word.map((text): Mutation => ({
    what: 'another directory',
    plan: change({ cwd: `/tmp/${text}` }),
    gate: 'environment',
    path: 'cwd',
  })),
  word.map((text): Mutation => ({
    what: 'one argument more',
    plan: change({ argv: [...approvedPlan.argv, text] }),
    gate: 'arguments',
    path: 'arguments.4',
  })),
  fc.nat({ max: 3 }).map((left): Mutation => ({
    what: 'fewer arguments',
    plan: change({ argv: approvedPlan.argv.slice(0, left + 1) }),
    gate: 'arguments',
    path: `arguments.${left}`,
  })),
  word
    .filter((text) => text !== '--reverse')
    .map((text): Mutation => ({
      what: 'another fixed argument',
      plan: changeArgument(0, text),
      gate: 'arguments',
      path: 'arguments.0',
    })),
  fc
    .oneof(
      word.map((text) => `/srv/data/../${text}`),
      word.map((text) => `/srv/other/${text}`),
      fc.constantFrom('-o', '--output=/etc/x', 'relative', '/srv/data2/x', '/srv/data//x', ''),
    )
    .map((value): Mutation => ({
      what: 'a path that breaks its rule',
      plan: changeArgument(1, value),
      gate: 'arguments',
      path: 'arguments.1',
    })),
  fc
    .oneof(fc.integer({ min: 10 }), fc.integer({ max: 0 }), fc.constantFrom('7.5', '0x7', '', '7 '))
    .map((value): Mutation => ({
      what: 'a number that breaks its rule',
      plan: changeArgument(2, String(value)),
      gate: 'arguments',
      path: 'arguments.2',
    })),
  word
    .filter((text) => text !== 'fast' && text !== 'exact')
    .map((text): Mutation => ({
      what: 'a word that breaks its rule',
      plan: changeArgument(3, text),
      gate: 'arguments',
      path: 'arguments.3',
    })),
  word
    .filter((text) => text !== 'sort' && text !== '/usr/bin/sort')
    .map((text): Mutation => ({
      what: 'another argv[0]',
      plan: change({ argv: [text, ...approvedPlan.argv.slice(1)] }),
      gate: 'arguments',
      path: 'argv0',
    })),
  word
    .filter((text) => text !== 'sort')
    .map((text): Mutation => ({
      what: 'another program',
      plan: change({ executable: `/usr/bin/${text}` }),
      gate: 'executable',
      path: 'executable.path',
    })),
  fc.constantFrom('inherit' as const).map((session): Mutation => ({
    what: 'a wider session',
    plan: change({ session }),
    gate: 'launcher',
    path: 'launch.session',
  })),
  fc.constant<Mutation>({
    what: 'new privileges',
    plan: change({ noNewPrivileges: false }),
    gate: 'launcher',
    path: 'launch.noNewPrivileges',
  }),
  fc.nat({ max: 2 }).map((foreground): Mutation => ({
    what: 'the terminal',
    plan: change({ foreground }),
    gate: 'launcher',
    path: 'launch.foreground',
  })),
  fc
    .constantFrom('limits' as const, 'umask' as const, 'nice' as const, 'user' as const)
    .map((each): Mutation => ({
      what: 'an attribute less',
      plan: changeAttributes({ [each]: undefined }),
      gate: 'launcher',
      path: `launch.attributes.${each}`,
    })),
  fc.tuple(fc.integer({ min: 101 }), fc.boolean()).map(([more, none]): Mutation => ({
    what: 'a higher limit, or none',
    plan: changeAttributes({
      limits: {
        ...approvedPlan.attributes.limits,
        nofile: none ? { soft: 'unlimited', hard: 'unlimited' } : { soft: 100, hard: more },
      },
    }),
    gate: 'launcher',
    path: 'launch.attributes.limits.nofile',
  })),
  fc.integer({ min: 0, max: 65533 }).map((user): Mutation => ({
    what: 'another user',
    plan: changeAttributes({ user }),
    gate: 'launcher',
    path: 'launch.attributes.user',
  })),
  fc.integer({ min: -20, max: 4 }).map((nice): Mutation => ({
    what: 'served earlier',
    plan: changeAttributes({ nice }),
    gate: 'launcher',
    path: 'launch.attributes.nice',
  })),
  fc
    .integer({ min: 0, max: 0o777 })
    .filter((umask) => (0o27 & ~umask) !== 0)
    .map((umask): Mutation => ({
      what: 'a wider umask',
      plan: changeAttributes({ umask }),
      gate: 'launcher',
      path: 'launch.attributes.umask',
    })),
  fc.constant<Mutation>({
    what: 'a terminal among its descriptors as its own',
    plan: changeAttributes({ terminal: 0 }),
    gate: 'launcher',
    path: 'launch.attributes.terminal',
  }),
  fc.constantFrom(null, 'after-exec' as const).map((verify): Mutation => ({
    what: 'nobody compares it at its exec',
    plan: change({ verify }),
    gate: 'descriptor-evidence',
    path: 'verify',
  })),
);

const narrowed: fc.Arbitrary<Mutation> = fc.oneof(
  fc.constantFrom(5, 6).map((target): Mutation => ({
    what: 'a descriptor less',
    plan: change({
      descriptors: approvedPlan.descriptors.filter((each) => each.target !== target),
    }),
    gate: 'extra-descriptors',
    path: `descriptors.${target}`,
  })),
  fc.constantFrom('read' as const, 'write' as const).map((access): Mutation => ({
    what: 'less access',
    plan: changeObject(5, { access }),
    gate: 'extra-descriptors',
    path: 'descriptors.5.access',
  })),
  fc.constantFrom(0, 1, 2).map((target): Mutation => ({
    what: 'a standard channel less',
    plan: change({
      descriptors: approvedPlan.descriptors.map((each) =>
        each.target === target ? { target, channel: 'null', source: null, object: null } : each,
      ),
    }),
    gate: 'standard-channels',
    path: `channels.${['stdin', 'stdout', 'stderr'][target] ?? ''}`,
  })),
  fc.constantFrom('PATH', 'LANG', 'CI', 'API_TOKEN').map((each): Mutation => ({
    what: 'a variable less',
    plan: changeEnvironment({ [each]: undefined }),
    gate: 'environment',
    path: `environment.${each}`,
  })),
  fc.constant<Mutation>({
    what: 'a session of its own',
    plan: change({ session: 'new' }),
    gate: 'launcher',
    path: 'launch.session',
  }),
  fc.integer({ min: 0, max: 100 }).map((hard): Mutation => ({
    what: 'a lower limit',
    plan: changeAttributes({
      limits: {
        ...approvedPlan.attributes.limits,
        nofile: { soft: hard, hard },
        core: { soft: 0, hard: 0 },
      },
    }),
    gate: 'launcher',
    path: '',
  })),
  fc.integer({ min: 5, max: 19 }).map((nice): Mutation => ({
    what: 'served later',
    plan: changeAttributes({ nice, umask: 0o77, dieWithParent: 9 }),
    gate: 'launcher',
    path: '',
  })),
);

function judge({ plan }: Mutation): { gates: readonly Gate[]; decision: string } {
  return review(plan, { approved, evidence: { ...gatherEvidence(approvedPlan), ...heldBy(plan) } });
}

/** Whoever launches this plan holds its descriptors: only the plan itself is changed. */
function heldBy(plan: LaunchPlan) {
  return { descriptors: gatherEvidence(plan).descriptors! };
}

const isOpen = ({ decision }: Gate): boolean => decision === 'hold' || decision === 'reject';

describe('changes of an approved launch', () => {
  it('itself is accepted', () => {
    expect(judge({ what: '', plan: approvedPlan, gate: 'executable', path: '' }).decision).toBe(
      'accept',
    );
  });

  it.each(['/usr/bin/true/x', '/no/such', '/' + 'x'.repeat(300), '/proc/1/root/x'])(
    'a program that cannot be looked at is another one: %s',
    (path) => {
      const { kind, inode } =
        gatherEvidence({ ...approvedPlan, executable: path }).executable ?? {};
      expect({ kind, inode }).toEqual({ kind: 'unknown', inode: '0' });
    },
  );

  it('10 000 that widen it: none is accepted, each is named by its path at its gate', () => {
    const kinds = new Map<string, number>();
    fc.assert(
      fc.property(widened, (mutation) => {
        kinds.set(mutation.what, (kinds.get(mutation.what) ?? 0) + 1);
        const { gates, decision } = judge(mutation);
        expect(decision).not.toBe('accept');
        const gate = gates.find(({ name: each }) => each === mutation.gate)!;
        expect(gate.differences.some(({ path }) => path.startsWith(mutation.path))).toBe(true);
        expect(gates.filter(isOpen).map(({ name: each }) => each)).toEqual([mutation.gate]);
        expect(JSON.stringify(gates)).not.toContain('made-up-secret');
      }),
      { numRuns: 10_000 },
    );
    // Each kind of change was tried.
    expect([...kinds.values()].every((count) => count > 50)).toBe(true);
    expect(kinds.size).toBe(27);
  }, 120_000);

  it('2 000 that narrow it: none is rejected, and no other gate speaks', () => {
    fc.assert(
      fc.property(narrowed, (mutation) => {
        const { gates, decision } = judge(mutation);
        expect(decision).not.toBe('reject');
        const others = gates.filter(isOpen).filter(({ name: each }) => each !== mutation.gate);
        expect(others).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  }, 60_000);
});
