// A process is released, and not its number: whoever comes to that later is of the run.
import { expect } from 'vitest';

import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';

// The kernel gives the number after this one to the next process, proc(5).
const AGAIN = `sleep 60 & first=$!; echo $first; read _
  kill -KILL $first; wait $first
  echo $((first - 1)) > /proc/sys/kernel/ns_last_pid; sleep 60 & echo $!; wait`;

needs('root', 'unshare').it(
  'is ended with the run, having the number of one that left',
  async () => {
    const seen = await inNode(
      async ({ sallyport, processes, require }, script) => {
        const { PassThrough } = require('node:stream') as typeof import('node:stream');
        const input = new PassThrough();
        const pids: number[] = [];
        const to = (line: string): void => void pids.push(Number(line));
        const running = sallyport.run('sh', ['-c', script], {
          input,
          grace: 50,
          output: { stdout: { to } },
        });
        const init = processes.readStat((await running.started) ?? 0)?.ppid ?? 0;
        await processes.waitFor('the first', () => pids.length === 1);
        const held = processes.listDescriptors(init).length;
        running.release(pids[0] ?? 0);
        await processes.waitFor('its release', () => processes.listDescriptors(init).length > held);
        input.write('\n');
        await processes.waitFor('the second', () => pids.length === 2);
        running.abort();
        const { cleanup } = await running;
        const { released, survivors } = cleanup;
        const [first, second] = pids;
        return {
          isSame: first === second,
          released: released.map((pid) => pid === first),
          survivors,
          hasEnded: processes.hasEnded(second ?? 0),
        };
      },
      AGAIN,
      { wrap: ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'] },
    );
    expect(seen).toEqual({ isSame: true, released: [true], survivors: [], hasEnded: true });
  },
);
