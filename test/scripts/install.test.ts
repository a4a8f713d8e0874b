// The install step: on a laptop without Linux it must neither build nor fail.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';

import { root } from '../support/fixtures.js';

const install = path.join(root, 'scripts/install.js');

it('builds nothing and succeeds on another platform', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [install], {
    encoding: 'utf8',
    // An empty PATH: whatever it tried to run would fail.
    env: { PATH: '', SALLYPORT_FORCE_PLATFORM: 'darwin' },
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^sallyport: nothing to build on darwin[^\n]*\n$/);
});
