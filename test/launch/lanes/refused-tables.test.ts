// Where the system refuses private descriptor tables: another way to one, or the plan says so.
import { describe, expect, it } from 'vitest';

import { fixture } from '../../support/fixtures.js';
import { inNode } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

const deny = (errno: string, calls: string) => [fixture('seccomp_deny'), errno, calls, '--'];

const profiles: Array<[name: string, route: 'lane' | 'thread', wrap: string[]]> = [
  ['nothing refused', 'lane', []],
  ['close_range: EPERM', 'lane', deny('EPERM', 'close_range')],
  ['close_range: ENOSYS', 'lane', deny('ENOSYS', 'close_range')],
  ['unshare: EPERM', 'lane', deny('EPERM', 'unshare')],
  ['close_range, unshare: EPERM', 'thread', deny('EPERM', 'close_range,unshare')],
  ['close_range, unshare: ENOSYS', 'thread', deny('ENOSYS', 'close_range,unshare')],
  ['pidfds and close_range: EPERM', 'lane', deny('EPERM', 'close_range,pidfd_open,waitid:3')],
  [
    'pidfds, close_range, unshare: EPERM',
    'thread',
    deny('EPERM', 'close_range,unshare,pidfd_open,pidfd_send_signal,waitid:3'),
  ],
];

describe.each(profiles)('%s', (_, route, wrap) => {
  it('the plan tells the route; exact descriptors, codes, no privileges, nothing left', async () => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, root, fixture, require }) => {
        const { listLanes, startLanes, watchDescriptors } = require(
          `${root}/test/support/lanes.cjs`,
        ) as typeof import('../../support/lanes.cjs');
        storm.openInheritable('/etc/hosts', 30);
        const kept = storm.openInheritable('/etc/hosts', 900);
        const control = storm.plainSpawn(fixture('exact_fds'), ['0', '1', '2']);
        const options = {
          pass: [
            { fd: kept, as: 7 },
            { fd: kept, as: 3 },
          ],
          stdio: 'null',
        } as const;
        const args = ['0', '1', '2', '3', '7'];
        const exact = [
          await sallyport.launch(fixture('exact_fds'), args, options),
          sallyport.spawn(fixture('exact_fds'), args, options),
          await sallyport.launch(fixture('exact_fds'), args, {
            ...options,
            noNewPrivileges: false,
          }),
        ];
        const codes = await Promise.all(exact.map(async (child) => (await child.exited).code));
        const [planned, spawned, optedOut] = exact.map(({ plan }) => plan.route.kind);
        const asked = sallyport.planLaunch('true').route;

        await startLanes(sallyport.launch, fixture('exit_fast'), { stdio: 'pipe' });
        const lanes = listLanes();
        const watch = watchDescriptors();
        // Without pidfds, the end of a child may be seen before its launch is.
        const crowd = await Promise.all(
          Array.from({ length: 500 }, () =>
            sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' }),
          ),
        );
        const ends = await Promise.all(crowd.map((child) => child.exited));
        const held = await sallyport.launch(fixture('witness'), ['--quiet', '--hold'], {
          stdio: 'null',
        });
        const privileges = processes.readStatus(held.pid)['NoNewPrivs'];
        held.kill('SIGUSR1');
        const { signal } = await held.exited;
        await watch.settle();
        return {
          control,
          codes,
          routes: [planned, spawned, optedOut, asked.kind],
          says: asked.reasons.some((reason) => reason.includes('private descriptor table')),
          // A lane that shares our table has what we have.
          tables: [
            ...new Set(
              lanes.map(({ descriptors }) =>
                descriptors.some(([fd]) => fd === kept)
                  ? 'ours'
                  : descriptors
                      .map(([fd, link]) => `${String(fd)} ${link.replace(/:\[\d+\]$/, '')}`)
                      .join(),
              ),
            ),
          ],
          wrong: ends.filter(({ code, lost }) => code !== 0 || lost).length,
          privileges,
          signal,
          children: storm.hasChildren(),
        };
      },
      null,
      { wrap },
    );
    // The control: without us, what is open arrives.
    expect(seen.control).toBeGreaterThanOrEqual(2);
    expect(seen).toMatchObject({
      codes: [0, 0, 0],
      routes: [route, route, route, route],
      says: route === 'thread',
      tables: route === 'thread' ? ['ours'] : ['0 /dev/null,1 /dev/null,2 /dev/null,3 socket'],
      wrong: 0,
      privileges: '1',
      signal: 'SIGUSR1',
      children: false,
    });
  });
});

needs('ptrace').it(
  'before its exec, a child of a thread has what we have: the plan is right',
  async () => {
    const seen = await inNode(
      async ({ sallyport, storm, scratch, root, fixture, require }) => {
        const { traceSelf } = require(
          `${root}/test/support/tracing.cjs`,
        ) as typeof import('../../support/tracing.cjs');
        storm.openInheritable('/etc/hosts', 30);
        const tracer = await traceSelf(storm, scratch);
        await tracer.seeExec(1);
        const child = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
        await child.exited;
        await tracer.stop();
        return {
          route: child.plan.route.kind,
          looks: tracer
            .looks()
            .map(({ at, descriptors }) => [
              at,
              descriptors.filter(({ closeOnExec }) => !closeOnExec).some(({ fd }) => fd === 30),
            ]),
        };
      },
      null,
      { wrap: deny('EPERM', 'close_range,unshare') },
    );
    expect(seen).toEqual({
      route: 'thread',
      looks: [
        ['clone', true],
        ['exec', false],
      ],
    });
  },
);
