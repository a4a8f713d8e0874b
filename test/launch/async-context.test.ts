// What is heard of a child is heard in the context of whoever started it, beside others that start theirs.
import { AsyncLocalStorage } from 'node:async_hooks';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

import { launch, run, spawn, type Child } from '../../src/index.js';
import { makeScratch, root } from '../support/fixtures.js';

const storage = new AsyncLocalStorage<string>();
const names = ['first', 'second', 'third'];

/** Each name in a context of its own, all at once: what `hear` was called with, and in which context. */
async function inContexts(
  task: (hear: (event: string) => void) => Promise<unknown>,
): Promise<Record<string, string[]>> {
  const heard = names.map(async (name) => {
    const events: string[] = [];
    const hear = (event: string): void => {
      events.push(`${event} in ${String(storage.getStore())}`);
    };
    await storage.run(name, () => task(hear));
    return [name, [...new Set(events)].sort()] as const;
  });
  return Object.fromEntries(await Promise.all(heard));
}

const each = (...events: string[]): Record<string, string[]> =>
  Object.fromEntries(names.map((name) => [name, events.map((event) => `${event} in ${name}`)]));

async function hearAll(child: Child, hear: (event: string) => void): Promise<void> {
  const closed = once(child, 'close');
  for (const event of ['spawn', 'exit', 'close'] as const) {
    child.on(event, () => {
      hear(event);
    });
  }
  child.stdout?.on('data', () => {
    hear('data');
  });
  child.stdin?.end('text', () => {
    hear('written');
  });
  await closed;
}

it.each([
  ['spawn', spawn],
  ['launch', launch],
])('%s: events of the child and of its streams', async (_, start) => {
  const seen = await inContexts(async (hear) => {
    await hearAll(await start('cat', [], { stdio: 'pipe' }), hear);
  });
  expect(seen).toEqual(each('close', 'data', 'exit', 'spawn', 'written'));
});

it.each(['init', 'group'] as const)('run, held together by %s: its lines', async (containment) => {
  const seen = await inContexts((hear) =>
    run('sh', ['-c', 'echo out; echo err >&2'], {
      containment,
      output: {
        stdout: {
          to: () => {
            hear('line of stdout');
          },
        },
        stderr: {
          to: () => {
            hear('line of stderr');
          },
        },
      },
    }),
  );
  expect(seen).toEqual(each('line of stderr', 'line of stdout'));
});

it('the context of the first launch is not kept for ever', () => {
  const script = path.join(makeScratch(), 'kept.cjs');
  writeFileSync(
    script,
    `const { AsyncLocalStorage } = require('node:async_hooks');
     const { launch, run } = require(${JSON.stringify(root)});
     const storage = new AsyncLocalStorage();
     async function serve() {
       const request = { of: 'somebody' };
       await storage.run(request, async () => {
         await (await launch('true', [], { stdio: 'null' })).exited;
         await run('true');
       });
       return new WeakRef(request);
     }
     async function main() {
       const request = await serve();
       // What a handle or a timer holds is let go of in later turns.
       for (let turn = 0; turn < 200 && request.deref() !== undefined; turn++) {
         await new Promise((resolve) => setImmediate(resolve));
         gc();
       }
       console.log(request.deref() === undefined ? 'collected' : 'kept');
     }
     main();`,
  );
  const { stdout } = spawnSync(process.execPath, ['--expose-gc', script], {
    encoding: 'utf8',
    // The first socket that closes makes Node open process.stderr: a pipe would keep the context there.
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  expect(stdout).toBe('collected\n');
});
