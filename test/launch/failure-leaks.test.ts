// Failures of each stage: launch() rejects with what spawn() throws, and hundreds of both leave no
// descriptor, no zombie, no thread.
import { describe, expect, it } from 'vitest';

import { FAILURES, UNPRIVILEGED, type FailingCall } from '../support/failing-calls.cjs';
import { inNode, type ScriptOptions } from '../support/node-script.js';
import { needs } from '../support/tools.js';

const fail = (stage: FailingCall, times: number, options: ScriptOptions = {}) =>
  inNode(
    async ({ sallyport, storm, processes, root, fixture, scratch, require }, { stage, times }) => {
      const { prepareFailure } = require(
        `${root}/test/support/failing-calls.cjs`,
      ) as typeof import('../support/failing-calls.cjs');
      const { listLanes, startLanes } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../support/lanes.cjs');
      const source = storm.openInheritable('/etc/hosts', 30);
      // Pipes and copies at once: whatever a failure could leave behind.
      const all: import('../../src/index.js').SpawnOptions = {
        stdio: 'pipe',
        pass: [{ fd: source, as: 5 }],
        env: { A: '1' },
      };
      const unhandled: string[] = [];
      process.on('unhandledRejection', (reason) => unhandled.push(String(reason)));
      // Lanes, reactor and all else is there before the count.
      await startLanes(sallyport.launch, fixture('exit_fast'));
      const call = prepareFailure(stage, { storm, scratch, source, all });

      const describe = (thrown: unknown) => {
        const error = thrown as Error;
        return {
          ...(thrown as object),
          name: error.name,
          kind: error.constructor.name,
          message: error.message,
        };
      };
      const attemptSpawn = () => {
        try {
          sallyport.spawn(...call);
          return {};
        } catch (error) {
          return describe(error);
        }
      };
      const attemptLaunch = () => {
        // A rejection, whatever is wrong: nothing is thrown at the call.
        const launched = sallyport.launch(...call);
        return launched.then(
          () => ({}),
          (error: unknown) => describe(error),
        );
      };
      // Lanes apart: they come when they are needed, each with our end of its socket.
      const look = () => ({
        descriptors: processes.listDescriptors().length - listLanes().length,
        lanes: [...new Set(listLanes().map(({ descriptors }) => descriptors.length))],
        threads: processes.countThreads() - listLanes().length,
        children: storm.hasChildren(),
        zombies: processes.listZombies().length,
      });
      const spawned = attemptSpawn();
      const launched = await attemptLaunch();
      const before = look();
      const rest = [];
      for (let count = 0; count < times; count++) rest.push(attemptSpawn());
      const launches = Array.from({ length: Math.min(times, 100) }, attemptLaunch);
      rest.push(...(await Promise.all(launches)));
      const same = [spawned, launched].map((error) => JSON.stringify(error));
      const other = rest.filter((error) => !same.includes(JSON.stringify(error)));
      const after = look();
      // The control: the same look sees one more.
      storm.openInheritable('/dev/null');
      const control = look().descriptors;
      return { spawned, launched, other: other.slice(0, 1), before, after, control, unhandled };
    },
    { stage, times },
    options,
  );

function expectNothingLeft(
  seen: Awaited<ReturnType<typeof fail>>,
  name: FailingCall,
  stage: string,
): void {
  expect(seen.launched).toMatchObject({ stage });
  // A launch leaves a path to the exec, which may have to wait for it.
  const isPath = stage === 'lookup' && name !== 'lookup: missing';
  const source = isPath ? { stageSource: 'inferred' } : {};
  expect(seen.launched).toEqual({ ...seen.spawned, ...source });
  expect(seen.other).toEqual([]);
  expect(seen.after).toEqual(seen.before);
  expect(seen.before).toMatchObject({ children: false, zombies: 0 });
  expect(seen.control).toBe(seen.before.descriptors + 1);
  expect(seen.unhandled).toEqual([]);
}

describe('launch fails as spawn does, and leaves nothing: many times', () => {
  for (const [name, stage] of Object.entries(FAILURES)) {
    // Each of these is tried again for 100 ms.
    const times = name === 'exec: busy' ? 20 : 500;
    it(name, async () => {
      expectNothingLeft(await fail(name as FailingCall, times), name as FailingCall, stage);
    });
  }

  for (const [name, stage] of Object.entries(UNPRIVILEGED)) {
    needs('another uid').it(name, async () => {
      const seen = await fail(name as FailingCall, 500, { unprivileged: true });
      expectNothingLeft(seen, name as FailingCall, stage);
    });
  }
});
