// The eight cards on the example that is shipped: each by itself, and every two together.
import { openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { planLaunch, run, type RunReport } from '../../src/index.js';
import { CARDS, playCards, playEach, type Card, type CardCase } from '../../src/review/cards.js';
import { gatherEvidence, readProfile, review, strictProfile } from '../../src/review.js';
import { root } from '../support/fixtures.js';
import { approveRich } from './support.js';

const example = path.join(root, 'examples/text-summary');

function approveExample(): CardCase {
  const approved = readProfile(path.join(example, 'profile.json'));
  const plan = planLaunch(approved.executable.path, approved.arguments as string[], {
    stdio: [openSync(path.join(example, 'notes.txt'), 'r'), 'pipe', 'pipe'],
    env: approved.environment.fixed,
    cwd: '/',
    verify: 'at-exec',
  });
  return { plan, approved, evidence: { ...gatherEvidence(plan), containment: 'init' } };
}

const cases: Record<string, CardCase> = {
  'the example': approveExample(),
  'a launch that uses every part': approveRich(),
};

describe.each(Object.entries(cases))('%s', (_name, given) => {
  it.each(CARDS.map((card) => [card.id, card] as const))('%s', (_id, card) => {
    const played = playEach(given).find((each) => each.card === card);
    expect(played?.review.decision).toBe(card.decision);
    expect(played?.gate).toMatchObject({ name: card.gate, decision: card.gateDecision });
    expect(played?.gate.sentence).not.toBe('');
    expect(played?.asExpected).toBe(true);
  });

  it('S37 alone lets every gate accept that can; rights and completion stay apart', () => {
    const { gates, notTested } = playCards([], given);
    const open = gates.filter(({ decision }) => decision !== 'accept');
    expect(open.map(({ name, decision }) => [name, decision])).toEqual([
      ['os-rights', 'not-assessed'],
      ['completion', 'not-assessed'],
    ]);
    expect(notTested.join()).toContain('rights of its user');
  });

  const pairs = CARDS.flatMap((one, index) =>
    CARDS.slice(index + 1).map((two) => [`${one.id} and ${two.id}`, one, two] as const),
  );
  it.each(pairs)('%s', (_ids, one, two) => {
    const forth = playCards([one, two], given);
    const back = playCards([two, one], given);
    expect(forth.decision).toBe(expected(one, two));
    expect(back.decision).toBe(forth.decision);
    for (const card of [one, two]) {
      const gate = forth.gates.find(({ name }) => name === card.gate);
      if (hides(one, two, card)) expect(gate?.decision).toBe('hold');
      else if (card.decision !== 'accept') expect(gate?.decision).toBe(card.gateDecision);
    }
  });
});

/** Where nobody has stated what descriptors are approved, nothing can be beyond it: it is not known. */
function hides(one: Card, two: Card, card: Card): boolean {
  return [one, two].some(({ id }) => id === 'S38') && (card.id === 'S39' || card.id === 'S40');
}

function expected(one: Card, two: Card): Card['decision'] {
  const decisions = [one, two].map((card) => (hides(one, two, card) ? 'hold' : card.decision));
  const order = ['accept', 'hold', 'reject'] as const;
  return order[Math.max(...decisions.map((each) => order.indexOf(each)))] ?? 'reject';
}

it('the example is what the documents say: it reads one input and nothing else', () => {
  const profile = readProfile(path.join(example, 'profile.json'));
  expect(profile.descriptors).toEqual([]);
  expect(profile.channels?.stdin.object).toEqual({ kind: 'file', access: 'read' });
  expect(readFileSync(path.join(example, 'notes.txt'), 'utf8')).not.toBe('');
});

it('an age, another plan and another interface are recognised', () => {
  const given = cases['the example']!;
  const decide = (evidence: object, now?: number) =>
    playCards([], { ...given, evidence: { ...given.evidence, ...evidence } }, now);
  const held = given.evidence.descriptors!;
  const gate = (review: ReturnType<typeof decide>, name: string) =>
    review.gates.find((each) => each.name === name)?.decision;
  expect(gate(decide({ descriptors: undefined }), 'descriptor-evidence')).toBe('hold');
  expect(gate(decide({}, Date.parse(held.takenAt) + 61_000), 'descriptor-evidence')).toBe('hold');
  expect(gate(decide({}, Date.parse(held.takenAt) - 61_000), 'descriptor-evidence')).toBe('hold');
  expect(
    gate(decide({ descriptors: { ...held, planDigest: 'sha256:0' } }), 'descriptor-evidence'),
  ).toBe('hold');
  for (const launcher of [
    { platform: 'darwin', arch: 'x64', api: 1 },
    { platform: 'linux', arch: 'x64', api: 2 },
    undefined,
  ]) {
    expect(gate(decide({ launcher }), 'launcher')).toBe('hold');
  }
  for (const report of [
    { complete: true, outcome: { kind: 'exited' } },
    { complete: false, outcome: { kind: 'stalled' } },
  ]) {
    const ends = { output: { stdout: { end: 'eof' }, stderr: { end: 'held' } } };
    expect(gate(decide({ report: { ...report, ...ends } }), 'completion')).toBe(
      report.complete ? 'accept' : 'hold',
    );
  }
});

it('the report of another run says nothing about the completion of this one', async () => {
  const launch = ['/usr/bin/sort', [], { env: {}, cwd: '/', verify: 'at-exec' }] as const;
  const approved = strictProfile({ executable: '/usr/bin/sort', cwd: '/' });
  const plan = planLaunch(...launch);
  const decide = (report: RunReport): unknown => {
    const { decision, gates } = review(plan, {
      approved,
      // As it comes from a record.
      evidence: { ...gatherEvidence(plan), report: JSON.parse(JSON.stringify(report)) },
    });
    return [decision, gates.find(({ name }) => name === 'completion')?.differences[0]?.path];
  };
  expect(decide(await run(...launch))).toEqual(['accept', undefined]);
  const others = await run('/bin/true', [], { env: {}, cwd: '/', verify: 'at-exec' });
  expect(decide(others)).toEqual(['hold', 'report.admission.planDigest']);
});
