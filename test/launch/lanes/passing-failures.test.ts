// A message that is refused once, for want of memory or for a signal, is no message that is lost.
import { expect } from 'vitest';

import { inNode } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

// Each thread's and each process's n-th: of a lane its first words, its first launch, its first answer;
// of an init and its program what they report.
const cases: ReadonlyArray<readonly [call: string, errno: string, nth: number]> = [
  ['recvmsg', 'EINTR', 1],
  ['recvmsg', 'ENOMEM', 1],
  ['recvmsg', 'ENOMEM', 2],
  ['sendto', 'EINTR', 1],
  ['sendto', 'ENOBUFS', 1],
  ['sendto', 'ENOBUFS', 2],
];
for (const [call, errno, nth] of cases) {
  needs('strace').it(`${call}: ${errno}, at the call number ${String(nth)}`, async () => {
    const inject = `inject=${call}:error=${errno}:when=${String(nth)}`;
    const strace = ['strace', '-f', '-qq', '-o', 'calls', '-e', `trace=${call}`, '-e', inject];
    const seen = await inNode(
      async ({ sallyport, require, scratch }) => {
        const fs = require('node:fs') as typeof import('node:fs');
        const codes: unknown[] = [];
        for (const given of [{}, { verify: 'at-exec' }] as const) {
          const options = { stdio: 'null', ...given } as const;
          for (let round = 0; round < 2; round += 1) {
            codes.push((await (await sallyport.launch('true', [], options)).exited).code);
            const { outcome, complete } = await sallyport.run('true', [], given);
            codes.push(complete ? outcome.code : outcome.kind);
          }
        }
        const calls = fs.readFileSync(`${scratch}/calls`, 'utf8');
        return { codes, injected: calls.includes('(INJECTED)') };
      },
      null,
      { wrap: strace },
    );
    expect(seen).toEqual({ codes: Array.from({ length: 8 }, () => 0), injected: true });
  });
}
