// The refusal of a launch by each call that there is, which is the same one.
import { expect } from 'vitest';

import { launch, spawn, type SallyportError, type SpawnOptions } from '../../src/index.js';
import { thrown } from '../support/errors.js';
import { loadStorm } from '../support/fixtures.js';

const storm = loadStorm();

const rejection = (promise: Promise<unknown>): Promise<SallyportError> =>
  promise.then(
    () => {
      throw new Error('it was started');
    },
    (error: unknown) => error as SallyportError,
  );

/** By a lane that is waited for, by the calling thread, and by a lane; nothing is left of any. */
export async function failEachWay(
  file: string,
  args: string[],
  options: SpawnOptions,
): Promise<SallyportError> {
  const error = thrown(() => spawn(file, args, options));
  const others = [
    thrown(() => spawn(file, args, { ...options, noNewPrivileges: false })),
    await rejection(launch(file, args, options)),
  ];
  const fields = (from: SallyportError) => [from.message, ...Object.entries(from)];
  for (const other of others) expect(fields(other)).toEqual(fields(error));
  expect(storm.hasChildren()).toBe(false);
  return error;
}
