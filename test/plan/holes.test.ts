// A hole in a list that a caller gives is refused at its place, as undefined is: nothing passes it over.
import { expect, it } from 'vitest';

import {
  auditProcess,
  createEnvironment,
  planLaunch,
  receiveListeners,
  run,
  runPipeline,
  sealDescriptors,
} from '../../src/index.js';
import { createCredentialBroker } from '../../src/credentials.js';
import { install } from '../../src/compat/install.js';

/** As `[, rest…]`, which linters take for a slip. */
function holed(...rest: unknown[]): never {
  const list: unknown[] = [];
  rest.forEach((value, index) => {
    list[index + 1] = value;
  });
  return list as never;
}

const source = { name: 'a', reason: 'a test', mint: () => ({ values: {} }) };
const file = { by: 'file', path: 'a', render: () => '' };
const broker = (given: object): unknown =>
  createCredentialBroker({ runId: 'r', sources: [{ ...source, ...given } as never] });

it.each<[string, () => unknown]>([
  ['args[0]', () => planLaunch('true', holed('a'))],
  // It was taken for 0, which is the group of root.
  ['groups[0]', () => planLaunch('true', [], { groups: holed(5) })],
  ['cpuAffinity[0]', () => planLaunch('true', [], { cpuAffinity: holed(0) })],
  ['listeners[0]', () => planLaunch('true', [], { listeners: holed(3) })],
  ['pass[0]', () => planLaunch('true', [], { pass: holed(3) })],
  ['allow[0]', () => createEnvironment({ allow: holed('CI') })],
  ['containment', () => run('true', [], { containment: { prefer: holed('init') } })],
  ['stages[0]', () => runPipeline(holed(['true']))],
  // It was taken for 0, which would have been left unsealed.
  ['except', () => sealDescriptors({ except: holed(5) })],
  ['expect[0]', () => receiveListeners({ expect: holed({ kind: 'socket' }) })],
  [
    'against.descriptors[0]',
    () => auditProcess(process.pid, { against: { descriptors: holed(0) } }),
  ],
  ['sources[0]', () => createCredentialBroker({ runId: 'r', sources: holed(source) })],
  ['sources[0].plain', () => broker({ delivery: file, plain: holed('a') })],
  ['sources[0].delivery[0]', () => broker({ delivery: holed(file) })],
  ['sources[0].delivery.needs', () => broker({ delivery: { ...file, needs: holed('a') } })],
  ['pass[0]', () => install({ pass: holed(3) })],
  ['except', () => install({ except: holed('A') })],
])('%s', async (place, take) => {
  const refused = await new Promise((resolve) => resolve(take())).then(
    () => null,
    (error: unknown) => error,
  );
  expect(refused).toMatchObject({ name: 'SallyportTypeError' });
  expect((refused as Error).message).toContain(place);
});
