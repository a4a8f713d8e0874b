// The ledger: five categories, each entry with its object and its operation, never a value.
import { openSync } from 'node:fs';
import { expect, it } from 'vitest';

import { describePlan, planLaunch } from '../../src/index.js';
import { formatLedger, ledger, markdownLedger } from '../../src/review.js';
import { loadStorm } from '../support/fixtures.js';
import { approveRich } from './support.js';

it('puts everything that crosses into one of five categories', () => {
  const { plan, approved } = approveRich();
  approved.descriptors![0]!.role = 'job-input';
  const { entries, notTested } = ledger(plan, { approved });
  expect(entries.map(({ category, target, operation }) => [category, target, operation])).toEqual([
    ['job-input', null, 'argv'],
    ['job-input', 5, 'both'],
    ['parent-objects', 6, 'write'],
    ['stdin', 0, 'read'],
    ['stdout-stderr', 1, 'write'],
    ['stdout-stderr', 2, 'write'],
    ['cwd-environment', null, 'start in it'],
    ['cwd-environment', null, 'explicit'],
    // The one of its variables whose name is known for more than a value.
    ['cwd-environment', null, 'given'],
  ]);
  const input = plan.descriptors[3]?.object;
  expect(entries[1]).toMatchObject({ identity: `${input?.dev ?? ''}:${input?.inode ?? ''}` });
  expect(notTested.length).toBeGreaterThan(0);
  expect(JSON.stringify(ledger(plan))).not.toContain('made-up-secret');
});

it('without a profile nobody has spoken for a descriptor; a listener is one to listen on', () => {
  const storm = loadStorm();
  const { fd } = storm.listenInheritable();
  const plan = planLaunch('/bin/true', [], { pass: [{ fd, as: 3 }] });
  const entry = ledger(plan).entries.find(({ target }) => target === 3);
  expect(entry).toMatchObject({ category: 'parent-objects', operation: 'listen' });
  expect(entry?.note).toContain('nobody says what it is for');
  storm.closeFd(fd);
});

it('says the same of a plan and of its description', () => {
  const { plan } = approveRich();
  expect(ledger(describePlan(plan))).toEqual(ledger(plan));
});

it('as text it stands in columns, as Markdown in a table; no name acts on a terminal or on a table', () => {
  const plan = planLaunch('/bin/true', [], {
    pass: [{ fd: openSync('/etc/hosts', 'r'), as: 9 }],
    env: { 'A|B\u001b[31m': '1' },
  });
  const text = formatLedger(ledger(plan));
  expect(text).toMatch(/^ {2}9 {2}read +file \/etc\/hosts +\d+:\d+ +nobody/m);
  expect(text).toMatch(/^other objects of the parent$/m);
  // eslint-disable-next-line no-control-regex -- that is what must not be there
  expect(text).not.toMatch(/\u001b/);
  const table = markdownLedger(ledger(plan)).trimEnd().split('\n');
  expect(table).toHaveLength(2 + ledger(plan).entries.length);
  for (const row of table) expect(row.split(/(?<!\\)\|/)).toHaveLength(8);
});
