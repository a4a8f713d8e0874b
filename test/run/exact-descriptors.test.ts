// What the program of a run holds, whatever we have open and whoever stands between; and what its init has.
import { describe, expect, it } from 'vitest';

import { fixture } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { methods } from './support.js';

/** The exit codes of exact_fds, which is 0 where it holds these numbers, and the control's. */
const look = (containment: 'init' | 'group') =>
  inNode(async ({ sallyport, storm, fixture: compiled }, containment) => {
    const { port, fd } = storm.listenInheritable(40);
    storm.openInheritable('/etc/hosts', 900);
    storm.makeInheritable('socketpair', 60);
    const program = compiled('exact_fds');
    const control = storm.plainSpawn(program, ['0', '1', '2']);
    const codes: Record<string, number | null> = {};
    for (const [name, options, numbers] of [
      ['plain', {}, []],
      ['by the launcher', { umask: 0o22 }, []],
      [
        'with what is passed',
        {
          pass: [
            { fd, as: 3 },
            { fd, as: 11 },
          ],
        },
        [3, 11],
      ],
      ['with input and files', { input: 'x', output: { stdout: { via: 'memfd' } } }, []],
      ['merged', { output: { merge: true } }, []],
    ] as const) {
      const args = [0, 1, 2, ...numbers].map(String);
      const wish = { ...options, containment };
      codes[name] = (await sallyport.run(program, args, wish)).outcome.code;
      codes[`${name}, runSync`] = sallyport.runSync(program, args, wish).outcome.code;
      // What it starts has no more: nothing that was kept from it comes back.
      const below = ['-c', '"$0" "$@"; exit $?', program, ...args];
      codes[`${name}, below a shell`] = (await sallyport.run('sh', below, wish)).outcome.code;
    }
    const { stages } = await sallyport.runPipeline(
      [
        [program, ['0', '1', '2']],
        [program, ['0', '1', '2']],
      ],
      { containment },
    );
    stages.forEach(({ outcome }, index) => (codes[`stage ${String(index)}`] = outcome.code));
    return { port, control, codes };
  }, containment);

describe.each(methods.map((method) => [method] as ['init' | 'group']))(
  'containment %s',
  (containment) => {
    it('0, 1, 2 and what is passed, in every form of a run', async () => {
      const { control, codes } = await look(containment);
      expect(control).toBeGreaterThanOrEqual(4);
      expect(Object.keys(codes)).toHaveLength(17);
      expect(Object.entries(codes).filter(([, code]) => code !== 0)).toEqual([]);
    });
  },
);

const refused = [fixture('seccomp_deny'), 'EPERM', 'close_range', '--'];

it.each<[string, string[]]>([
  ['', []],
  [', where close_range is refused', refused],
])(
  'an init holds its link and what it waits by: no channel, nothing that is passed%s',
  async (_, wrap) => {
    const seen = await inNode(
      async ({ sallyport, storm, processes, require }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const { fd } = storm.listenInheritable(40);
        const running = sallyport.run('sleep', ['60'], { pass: [{ fd, as: 7 }], umask: 0o22 });
        const pid = (await running.started) ?? 0;
        const init = processes.readStat(pid)?.ppid ?? 0;
        const list = () =>
          processes
            .listDescriptors(init)
            .map((number) => fs.readlinkSync(`/proc/${String(init)}/fd/${String(number)}`))
            .map((link) => link.replace(/\d+/g, 'N'))
            .sort();
        const held = processes.listDescriptors(pid);
        // The program may run while its init closes the last of them.
        await processes.waitFor(`four in ${String(init)}`, () => list().length <= 4);
        const ofInit = list();
        running.abort();
        await running;
        return { program: held, init: ofInit, isOurs: init !== process.pid };
      },
      null,
      { wrap },
    );
    expect(seen).toEqual({
      isOurs: true,
      program: [0, 1, 2, 7],
      init: [
        '/proc/N/task/N/children',
        'anon_inode:[eventpoll]',
        'anon_inode:[signalfd]',
        'socket:[N]',
      ],
    });
  },
);
