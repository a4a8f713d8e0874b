// A plan that goes through the launcher says so, and why; the attributes are part of its digest.
import { expect, it } from 'vitest';

import {
  describePlan,
  launch,
  planDigest,
  planLaunch,
  spawn,
  type SpawnOptions,
} from '../../../src/index.js';
import { loadStorm } from '../../support/fixtures.js';

const storm = loadStorm();

it.each<[string, SpawnOptions]>([
  ['limits', { limits: { core: 0 } }],
  ['umask', { umask: 0 }],
  ['nice', { nice: 0 }],
  ['ioPriority', { ioPriority: { class: 'idle' } }],
  ['oomScoreAdjust', { oomScoreAdjust: 0 }],
  ['cpuAffinity', { cpuAffinity: [0] }],
  ['user, groups', { user: 1 }],
  ['group', { group: 1 }],
  ['groups', { groups: [] }],
  ['dieWithParent', { dieWithParent: true }],
  ['terminal', { terminal: 1 }],
  ['umask, nice, dieWithParent', { dieWithParent: 'SIGHUP', nice: 1, umask: 0o22 }],
])('for %s', (names, options) => {
  const { route } = planLaunch('true', [], options);
  expect(route).toMatchObject({ kind: 'lane', launcher: true });
  expect(route.reasons.at(-1)).toBe(`through the launcher, for ${names}`);
});

it('for listeners', () => {
  const { fd } = storm.listenInheritable(40);
  const plan = planLaunch('true', [], { listeners: [{ fd, name: 'web' }], nice: 1 });
  storm.closeFd(fd);
  expect(plan.route.reasons.at(-1)).toBe('through the launcher, for nice, listeners');
  expect(plan.descriptors.map(({ target, channel }) => [target, channel])).toEqual([
    [0, 'null'],
    [1, 'pipe'],
    [2, 'pipe'],
    [3, 'listener'],
  ]);
  expect(plan.descriptors[3]).toMatchObject({ source: fd, object: { kind: 'listener' } });
});

it('for nothing: no launcher, no attributes', () => {
  const plan = planLaunch('true', [], {
    limits: undefined,
    umask: null,
    dieWithParent: false,
    listeners: [],
  } as unknown as SpawnOptions);
  expect(plan.route.launcher).toBe(false);
  expect(plan.attributes).toEqual({});
});

it('without noNewPrivileges spawn goes through it from the calling thread, but for dieWithParent', () => {
  const plan = (options: SpawnOptions) =>
    planLaunch('true', [], { noNewPrivileges: false, ...options }).route;
  expect(plan({ umask: 0 })).toMatchObject({ kind: 'direct', launcher: true });
  expect(plan({ umask: 0, dieWithParent: true })).toMatchObject({ kind: 'lane', launcher: true });
});

it('the child that is started has the plan that was shown', async () => {
  const options: SpawnOptions = { stdio: 'null', umask: 0o27, nice: 1 };
  const plan = planLaunch('true', [], options);
  expect(spawn('true', [], options).plan).toEqual(plan);
  expect((await launch('true', [], options)).plan).toEqual(plan);
});

it('is frozen and plain: JSON keeps all of it', () => {
  const plan = planLaunch('true', [], {
    limits: { core: { soft: 0, hard: 'unlimited' } },
    cpuAffinity: [0],
    ioPriority: { class: 'idle' },
    user: 'root',
  });
  expect(JSON.parse(JSON.stringify(plan.attributes))).toEqual({
    limits: { core: { soft: 0, hard: 'unlimited' } },
    ioPriority: { class: 'idle', level: 0 },
    cpuAffinity: [0],
    user: 'root',
    groups: [],
  });
  const parts = [plan, plan.attributes, plan.route, plan.route.reasons];
  for (const part of [...parts, ...Object.values(plan.attributes)]) {
    expect(Object.isFrozen(part)).toBe(true);
  }
  expect(Object.isFrozen(plan.attributes.limits?.core)).toBe(true);
  expect(describePlan(plan).attributes).toEqual(plan.attributes);
});

it('two plans that give different children have different digests', () => {
  const variants: SpawnOptions[] = [
    {},
    { umask: 0o22 },
    { umask: 0o27 },
    { limits: { core: 0 } },
    { limits: { core: { soft: 0, hard: 'unlimited' } } },
    { user: 1 },
    { user: 1, groups: [2] },
    { dieWithParent: true },
    { dieWithParent: 'SIGTERM' },
  ];
  const digests = variants.map((options) => planDigest(planLaunch('true', [], options)));
  expect(new Set(digests).size).toBe(variants.length);
  // How the caller wrote it does not count.
  const one = planLaunch('true', [], {
    ...{ nice: 1, umask: 2, limits: { core: 0, cpu: 5 } },
    ...{ groups: [4, 2, 4], cpuAffinity: [1, 0] },
  });
  const other = planLaunch('true', [], {
    limits: { cpu: { hard: 5, soft: 5 }, core: 0 },
    ...{ umask: 2, cpuAffinity: [0, 1, 0], groups: [2, 4], nice: 1 },
  });
  expect(planDigest(one)).toBe(planDigest(other));
});
