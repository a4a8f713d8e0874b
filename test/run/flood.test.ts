// A child that floods: everything is counted and hashed, and our memory stays as it was.
import { expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';

interface Flood {
  bytes: number;
  keep: 'head' | 'tail' | 'head-and-tail';
}

// SHA-256 of so many zeros, by sha256sum. The larger one takes a minute.
const floods = [
  [2, 'head-and-tail', 'a7c744c13cc101ed66c29f672f92455547889cc586ce6d44fe76ae824958ea51'],
  [20, 'tail', '6cb118a8f8b3c19385874297e291dcbcdf3a9837ba1ca7b00ace2491adbff551'],
] as const;
const isThorough = process.env['SALLYPORT_MUST_RUN'] === '1';

it.each(floods.slice(0, isThorough ? 2 : 1))(
  '%i GiB, keeping the %s of it',
  async (size, keep, sha256) => {
    const bytes = size * 2 ** 30;
    const seen = await inNode(
      async ({ sallyport }, flood: Flood) => {
        const options = {
          output: { maxBytes: 1 << 20, keep: flood.keep, onExceed: 'truncate-and-continue' },
        } as const;
        // What the first flood loads, its thread's share of node among it, is not growth.
        await sallyport.run('head', ['-c', '3000000', '/dev/zero'], options);
        const before = process.memoryUsage.rss();
        let highest = 0;
        const timer = setInterval(() => {
          highest = Math.max(highest, process.memoryUsage.rss());
        }, 20);
        const args = ['-c', String(flood.bytes), '/dev/zero'];
        const { outcome, output } = await sallyport.run('head', args, options);
        clearInterval(timer);
        const { bytesSeen, bytesKept, end, sha256: hash } = output.stdout;
        const grown = highest - before;
        return { kind: outcome.kind, bytesSeen, bytesKept, end, hash, grown };
      },
      { bytes, keep },
      { deadline: size * 25_000 },
    );
    expect(seen).toMatchObject({
      kind: 'exited',
      bytesSeen: bytes,
      bytesKept: 1_048_576,
      end: 'truncated',
      hash: sha256,
    });
    expect(seen.grown).toBeLessThan(20 * 2 ** 20);
  },
  600_000,
);
