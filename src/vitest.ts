// `require('sallyport/vitest')`: the matchers, for `expect.extend(matchers)`. Vitest itself cannot be
// required; `import 'sallyport/vitest'` registers them.
import { toHaveOnlyDescriptors, toHaveOnlyEnvironment } from './matchers.js';

export type { MatcherResult, ProcessLike } from './matchers.js';

export const matchers = { toHaveOnlyDescriptors, toHaveOnlyEnvironment };
