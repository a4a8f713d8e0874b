// What the tests of reviews share: a launch that is approved in every part of it.
import { openSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { planLaunch, type LaunchPlan } from '../../src/index.js';
import { gatherEvidence, type Profile, type ReviewEvidence } from '../../src/review.js';
import { makeScratch } from '../support/fixtures.js';

export interface Approved {
  readonly plan: LaunchPlan;
  readonly approved: Profile;
  readonly evidence: ReviewEvidence;
}

/** Every part of a profile is in use, so that each can be changed. */
export function approveRich(): Approved {
  const scratch = makeScratch();
  const [input, socket, log] = ['input', 'service', 'log'].map((name) => path.join(scratch, name));
  for (const file of [input, socket, log]) writeFileSync(file!, 'text');
  const plan = planLaunch('/usr/bin/sort', ['--reverse', '/srv/data/one', '7', 'fast'], {
    stdio: [openSync(input!, 'r'), 'pipe', 'stdout'],
    pass: [
      { fd: openSync(socket!, 'r+'), as: 5 },
      { fd: openSync(log!, 'a'), as: 6 },
    ],
    env: { PATH: '/usr/bin:/bin', LANG: 'C', CI: '1', API_TOKEN: 'made-up-secret' },
    cwd: '/tmp',
    session: 'group',
    verify: 'at-exec',
    limits: { nofile: 100, cpu: { soft: 10, hard: 20 } },
    umask: 0o27,
    nice: 5,
    user: 65534,
  });
  const approved: Profile = {
    profile: 1,
    executable: { path: '/usr/bin/sort', kind: 'native' },
    arguments: [
      '--reverse',
      { operand: 'data', rule: { kind: 'absolute-path', within: '/srv/data' } },
      { operand: 'column', rule: { kind: 'integer', min: 1, max: 9 } },
      { operand: 'mode', rule: { kind: 'one-of', values: ['fast', 'exact'] } },
    ],
    environment: {
      fixed: { PATH: '/usr/bin:/bin', CI: '1' },
      passed: [{ name: 'LANG', reason: 'says how to print' }],
      granted: [{ name: 'API_TOKEN', credential: 'service', reason: 'asks the service' }],
    },
    cwd: { path: '/tmp' },
    channels: {
      stdin: { channel: 'descriptor', object: { kind: 'file', access: 'read', path: input! } },
      stdout: { channel: 'pipe' },
      stderr: { channel: 'stdout' },
    },
    descriptors: [
      {
        target: 5,
        object: { kind: 'file', access: 'both', path: socket! },
        role: 'service-socket',
        reason: 'the service',
      },
      {
        target: 6,
        object: { kind: 'file', access: 'write', path: log! },
        role: 'log',
        reason: 'its log',
        optional: true,
      },
    ],
    launch: {
      platform: 'linux',
      api: 1,
      session: 'group',
      noNewPrivileges: true,
      verify: 'at-exec',
      attributes: structuredClone(plan.attributes) as Record<string, unknown>,
    },
    credentials: [{ name: 'service', reason: 'asks the service' }],
  };
  return { plan, approved, evidence: gatherEvidence(plan) };
}
