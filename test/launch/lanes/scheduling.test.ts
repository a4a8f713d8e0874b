// What a lane asks of the scheduler for itself is not seen in any child.
import { expect, it } from 'vitest';

import { inNode, type ScriptOptions } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

/** Policy, nice value, slice and processors: of this thread, and of children by every way. */
const readScheduling = (options: ScriptOptions) =>
  inNode(
    async ({ sallyport, processes, fixture, require }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const read = (pid: number | 'self') => {
        const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
        const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const facts = fs.readFileSync(`/proc/${pid}/sched`, 'latin1');
        return {
          nice: words[16],
          policy: words[38],
          slice: /^se\.slice +: +(\d+)/m.exec(facts)?.[1],
          processors: processes.readStatus(pid)['Cpus_allowed_list'],
        };
      };
      const hold = ['--quiet', '--hold'];
      const seen = [];
      for (let round = 0; round < 40; round++) {
        const child =
          round % 2 === 0
            ? await sallyport.launch(fixture('witness'), hold, { stdio: 'null' })
            : sallyport.spawn(fixture('witness'), hold, { stdio: 'null' });
        seen.push(JSON.stringify(read(child.pid)));
        child.kill('SIGKILL');
        await child.exited;
      }
      const lanes = fs
        .readdirSync('/proc/self/task')
        .filter((task) =>
          /^sallyport-lane/.test(fs.readFileSync(`/proc/self/task/${task}/comm`, 'latin1')),
        )
        .map((task) => fs.readFileSync(`/proc/self/task/${task}/status`, 'latin1'))
        .map((status) => /^Cpus_allowed_list:\s*(.*)$/m.exec(status)?.[1]);
      return { own: JSON.stringify(read('self')), children: [...new Set(seen)], lanes };
    },
    null,
    options,
  );

it('children have what the process has', async () => {
  const { own, children, lanes } = await readScheduling({});
  expect(children).toEqual([own]);
  expect(new Set(lanes)).toEqual(new Set([(JSON.parse(own) as { processors: string }).processors]));
});

async function expectNice(nice: string): Promise<void> {
  const { own, children } = await readScheduling({ wrap: ['nice', '-n', nice] });
  expect(own).toContain(`"nice":"${nice}"`);
  expect(children).toEqual([own]);
}

it('with a nice value too', () => expectNice('5'));

needs('raised priority').it('with a nice value below zero too', () => expectNice('-5'));

needs('taskset').it('with one processor only too', async () => {
  const { own, children } = await readScheduling({ wrap: ['taskset', '-c', '0'] });
  expect(own).toContain('"processors":"0"');
  expect(children).toEqual([own]);
});
