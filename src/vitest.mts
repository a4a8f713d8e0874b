// `import 'sallyport/vitest'`: registers the matchers with vitest, and types them.
import { expect } from 'vitest';

import { matchers } from './vitest.js';

export { matchers, type MatcherResult, type ProcessLike } from './vitest.js';

declare module 'vitest' {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- vitest's own declaration, repeated
  interface Matchers<T = any> {
    /** The process has these descriptors open, all of them, and no other. */
    toHaveOnlyDescriptors(expected: readonly number[]): T;
    /** The process was started with these variables, all of them, and no other. */
    toHaveOnlyEnvironment(expected: readonly string[]): T;
  }
}

expect.extend(matchers);
