// What does not belong beside --profile is refused, and never dropped in silence.
import path from 'node:path';
import { expect, it } from 'vitest';

import { runByProfile } from '../../src/cli/run-profile.js';
import { root } from '../support/fixtures.js';

const profile = path.join(root, 'examples/text-summary/profile.json');

it.each([
  ['--deadline', { deadline: '1m' }],
  ['--max-output', { maxOutput: '5' }],
  ['--user', { user: 'nobody' }],
  ['--limit', { limit: ['nofile=5'] }],
])('%s', async (option, flags) => {
  const running = runByProfile(profile, undefined, [], flags);
  await expect(running).rejects.toThrow(`${option}: not with --profile`);
});
