// Once, before the first test file (vitest's globalSetup): compiles the fixtures, and keeps what the
// test run itself was handed away from every process of a test.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';

import { listDescriptors } from './processes.js';
import type { Storm } from './storm.js';

export default function setup(): void {
  const fixtures = path.join(import.meta.dirname, '../fixtures');
  execFileSync('make', ['--silent', '-C', fixtures], { stdio: ['ignore', 'inherit', 'inherit'] });

  // Node seals what it inherits up to the first gap only. A CI runner may hand over hundreds of
  // descriptors beyond it: the leak tests' controls would count them, and their numbers be taken.
  const storm = createRequire(import.meta.url)(path.join(fixtures, 'build/storm.node')) as Storm;
  for (const fd of listDescriptors()) if (fd > 2) storm.setCloexec(fd, true);
}
