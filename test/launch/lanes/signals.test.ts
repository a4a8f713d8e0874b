// Signals reach JavaScript while lanes launch: no native thread takes one away.
import { expect, it } from 'vitest';

import { inNode } from '../../support/node-script.js';

it('1 000 signals during 1 000 launches, each answered before the next is sent', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, fixture, require }) => {
      const childProcess = require('node:child_process') as typeof import('node:child_process');
      // Standard signals do not queue: one that comes while the last is pending is the same one.
      const source = `
        const target = ${String(process.pid)};
        let sent = 0;
        const next = () => {
          if (sent === 1000) process.exit(0);
          sent += 1;
          process.kill(target, 'SIGUSR2');
        };
        process.stdin.on('data', (answers) => { for (const _ of answers) next(); });
        process.stdin.on('end', () => process.exit(1));
        next();`;
      let received = 0;
      let launches = 0;
      process.on('SIGUSR2', () => {
        received += 1;
        sender.stdin.write('.');
      });
      const sender = childProcess.spawn(process.execPath, ['-e', source], {
        stdio: ['pipe', 'ignore', 'inherit'],
      });
      sender.stdin.on('error', () => undefined);
      let ended: number | null = null;
      sender.once('exit', (code) => (ended = code));

      const codes = new Set<number | null>();
      const turn = async () => {
        for (let count = 0; ended === null || launches < 1000; count++) {
          const options = { stdio: 'null', noNewPrivileges: count % 2 === 0 } as const;
          const child =
            count % 5 === 0
              ? sallyport.spawn(fixture('exit_fast'), [], options)
              : await sallyport.launch(fixture('exit_fast'), [], options);
          codes.add((await child.exited).code);
          launches += 1;
        }
      };
      const turns = Promise.all(Array.from({ length: 8 }, turn));
      // A signal that is lost is never answered.
      await processes
        .waitFor('the sender', () => ended !== null)
        .catch((error: unknown) => {
          throw new Error(`received ${String(received)}: ${String(error)}`);
        });
      await turns;
      return {
        received,
        ended,
        enough: launches >= 1000,
        codes: [...codes],
        left: storm.hasChildren(),
      };
    },
    null,
    { deadline: 40_000 },
  );
  expect(seen).toEqual({ received: 1000, ended: 0, enough: true, codes: [0], left: false });
}, 50_000);

it('our threads block all signals, and their children none', async () => {
  const seen = await inNode(async ({ sallyport, processes, root, fixture, require }) => {
    const { readThreadStatus, startLanes } = require(
      `${root}/test/support/lanes.cjs`,
    ) as typeof import('../../support/lanes.cjs');
    await startLanes(sallyport.launch, fixture('exit_fast'));
    const child = await sallyport.launch(fixture('witness'), ['--quiet', '--hold'], {
      stdio: 'null',
    });
    const { SigBlk, SigIgn } = processes.readStatus(child.pid);
    child.kill('SIGKILL');
    await child.exited;
    const blocked = readThreadStatus('SigBlk').filter(([name]) => name.startsWith('sallyport-'));
    const reaches = (mask = '0') => {
      // 32 and 33 are the C library's own; SIGKILL and SIGSTOP cannot be blocked.
      const free = [9, 19, 32, 33];
      const bits = BigInt(`0x${mask}`);
      return Array.from({ length: 64 }, (_, index) => index + 1).filter(
        (signal) => ((bits >> BigInt(signal - 1)) & 1n) === 0n && !free.includes(signal),
      );
    };
    return {
      names: [...new Set(blocked.map(([name]) => name))].sort(),
      reached: blocked.flatMap(([, mask]) => reaches(mask)),
      ofChild: [reaches(SigBlk).length, reaches(SigIgn).length],
    };
  }, null);
  expect(seen).toEqual({
    names: ['sallyport-lane', 'sallyport-react'],
    reached: [],
    ofChild: [60, 60],
  });
});
