// Catching what a call throws, and proving that a value is in none of it.
import { inspect } from 'node:util';
import { expect } from 'vitest';

import type { SallyportError } from '../../src/index.js';

/** What `call` throws, with the fields of our errors. */
export function thrown(call: () => unknown): SallyportError {
  try {
    call();
  } catch (error) {
    return error as SallyportError;
  }
  throw new Error('nothing was thrown');
}

/** In no form in which an error gets into a log. */
export function expectWithout(error: Error, secret: string): void {
  const forms = [
    error.message,
    error.stack ?? '',
    String(error),
    inspect(error, { depth: 10, showHidden: true }),
    JSON.stringify(error),
    JSON.stringify(Object.entries(error)),
  ];
  for (const form of forms) expect(form).not.toContain(secret);
}
