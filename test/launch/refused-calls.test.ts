// Old container profiles refuse new system calls: the same guarantees by other ways.
import { describe, expect, it } from 'vitest';

import { fixture } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';

const deny = (errno: string, calls: string) => [fixture('seccomp_deny'), errno, calls, '--'];

// clone3 only with ENOSYS: with EPERM glibc itself cannot start a thread, nor Node then.
const profiles: Array<[string, string[]]> = [
  ['pidfd_open answers EPERM', deny('EPERM', 'pidfd_open')],
  ['pidfd_open answers ENOSYS', deny('ENOSYS', 'pidfd_open')],
  ['pidfd_open answers EMFILE', deny('EMFILE', 'pidfd_open')],
  ['pidfd_send_signal answers EPERM', deny('EPERM', 'pidfd_send_signal')],
  ['waitid refuses pidfds', deny('EPERM', 'waitid:3')],
  ['close_range answers EPERM', deny('EPERM', 'close_range')],
  ['close_range answers ENOSYS', deny('ENOSYS', 'close_range')],
  ['all of them answer EPERM', deny('EPERM', 'pidfd_open,pidfd_send_signal,close_range,waitid:3')],
  [
    'all of them and clone3 answer ENOSYS',
    deny('ENOSYS', 'pidfd_open,pidfd_send_signal,close_range,clone3'),
  ],
];

describe.each(profiles)('%s', (name, wrap) => {
  it('exact descriptors, right exit codes, kill works, nothing is left', async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, fixture }) => {
        storm.openInheritable('/etc/hosts', 30);
        storm.openInheritable('/etc/hosts', 900);
        const refused = storm.tryPidfdOpen();
        const control = storm.plainSpawn(fixture('exact_fds'), ['0', '1', '2']);
        const exact = sallyport.spawn(fixture('exact_fds'), ['0', '1', '2', '7'], {
          pass: [{ fd: 900, as: 7 }],
          stdio: 'null',
        });
        const exactCode = (await exact.exited).code;

        const before = processes.countDescriptors();
        const children = Array.from({ length: 40 }, (_, index) =>
          sallyport.spawn(fixture('witness'), ['--quiet', '--exit', String(index)], {
            stdio: 'null',
          }),
        );
        const statuses = await Promise.all(children.map((child) => child.exited));
        const wrong = statuses.filter(({ code, lost }, index) => code !== index || lost).length;

        const held = sallyport.spawn(fixture('witness'), ['--quiet', '--hold'], { stdio: 'null' });
        const sent = held.kill('SIGUSR1');
        const { signal } = await held.exited;
        const sentAfterwards = held.kill();

        const late = sallyport.spawn(fixture('witness'), ['--quiet', '--hold'], {
          stdio: 'null',
          timeout: 1,
          killSignal: 'SIGKILL',
        });
        const usage = (await late.exited).resourceUsage;
        // Threads that waited for one child each end with it.
        await processes.waitFor('the threads', () => processes.countThreads() <= before.length);
        // And what they had open, a moment later: that of the first child may be counted before.
        await processes.waitFor(
          'the descriptors',
          () => Math.max(...processes.countDescriptors()) <= Math.max(...before),
        );
        return {
          refused,
          control,
          exactCode,
          wrong,
          sent,
          signal,
          sentAfterwards,
          late: late.signalCode,
          usage: usage.maxRSS > 0,
          children: storm.hasChildren(),
        };
      },
      null,
      { wrap },
    );
    // The control: the filter is really there, and without us the descriptors arrive.
    const isRefused = /^(pidfd_open|all)/.test(name);
    expect(seen.refused !== 0).toBe(isRefused);
    expect(seen.control).toBeGreaterThanOrEqual(2);
    expect(seen).toMatchObject({
      exactCode: 0,
      wrong: 0,
      sent: true,
      signal: 'SIGUSR1',
      sentAfterwards: false,
      late: 'SIGKILL',
      usage: true,
      children: false,
    });
  });
});

it('a Worker that is terminated while its children are watched by threads', async () => {
  const seen = await inNode(
    async ({ storm, processes, root, fixture, require }) => {
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      const [readEnd = -1, writeEnd = -1] = storm.makeInheritable('pipe', 100);
      const worker = new Worker(
        `const { parentPort, workerData: { root, witness, readEnd } } = require('node:worker_threads');
         for (let count = 0; count < 10; count++)
           require(root).spawn(witness, ['--quiet', '--hold-fd', '3'], {
             stdio: 'null', pass: [{ fd: readEnd, as: 3 }] });
         parentPort.postMessage('started');`,
        { eval: true, workerData: { root, witness: fixture('witness'), readEnd } },
      );
      await new Promise((resolve) => worker.once('message', resolve));
      await worker.terminate();
      storm.closeFd(readEnd);
      storm.closeFd(writeEnd);
      await processes.waitFor('the reaping', () => !storm.hasChildren());
      return true;
    },
    null,
    { wrap: deny('EPERM', 'pidfd_open') },
  );
  expect(seen).toBe(true);
});
