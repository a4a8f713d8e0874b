// How the TypeScript tests run: each file in a process of its own, since they count descriptors.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/before-tests.ts'],
    pool: 'forks',
    // Tests that a collected object loses no child need global.gc().
    execArgv: ['--expose-gc'],
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
