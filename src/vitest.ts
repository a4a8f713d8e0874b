// `require('sallyport/vitest')`: the matchers, for `expect.extend(matchers)`. Vitest itself cannot be
// required; `import 'sallyport/vitest'` registers them.
import { toHaveOnlyDescriptors, toHaveOnlyEnvironment } from './matchers.js';

export type { MatcherResult, ProcessLike } from './matchers.js';

/** Matchers for `expect.extend`: what a process has open, and the variables it was started with. */
export const matchers = { toHaveOnlyDescriptors, toHaveOnlyEnvironment };
