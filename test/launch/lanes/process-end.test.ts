// The end of a process with launches queued and on their way: prompt, and nothing is left of them.
import { describe, expect, it } from 'vitest';

import { fixture, makeScratch, root } from '../../support/fixtures.js';
import { endOf } from '../../support/orphans.js';
import { needs } from '../../support/tools.js';

const preamble = `
  const { launch, spawn } = require(${JSON.stringify(root)});
  const hold = (options) =>
    launch(${JSON.stringify(fixture('witness'))}, ['--quiet', '--hold'], { stdio: 'null', ...options });
  const quick = () => launch(${JSON.stringify(fixture('exit_fast'))}, [], { stdio: 'null' });
  const many = (count, start) => Array.from({ length: count }, start);
`;

const countLines = (text: string) => text.split('\n').length - 1;

const endings: Array<[name: string, end: string, code: number]> = [
  ['process.exit()', 'process.exit(3);', 3],
  ['an uncaught exception', 'throw new Error("made up");', 1],
  ['an unhandled rejection', 'Promise.reject(new Error("made up"));', 1],
  [
    'process.exit() in an exit listener',
    'process.on("exit", () => process.exit(4)); process.exit(3);',
    4,
  ],
];

describe.each(endings)('%s', (_, end, code) => {
  it('with 1 000 launches queued and on their way, of which nobody has heard', async () => {
    const seen = await endOf(`${preamble}
      for (const launched of many(1000, () => hold())) launched.catch(() => {});
      ${end}`);
    expect(seen).toMatchObject({ code, survivors: [] });
  });

  it('in the midst of it: whose launch was fulfilled lives on, as with child_process', async () => {
    const seen = await endOf(
      `${preamble}
      let fulfilled = 0;
      for (const noNewPrivileges of [true, false]) {
        for (const launched of many(300, () => hold({ noNewPrivileges }))) {
          launched.then(({ pid }) => {
            require('node:fs').writeSync(1, pid + '\\n');
            fulfilled += 1;
            // Not from here: others of the same moment are to be told first.
            if (fulfilled === 5) setImmediate(() => { ${end} });
          }, () => {});
        }
      }`,
      countLines,
    );
    expect(seen.code).toBe(code);
    const known = seen.stdout.trim().split('\n').map(Number);
    expect(known.length).toBeGreaterThanOrEqual(5);
    expect(seen.survivors.sort()).toEqual(known.sort());
  });

  it('with programs that end at once: all of them do', async () => {
    const seen = await endOf(`${preamble}
      let fulfilled = 0;
      for (const launched of many(500, quick)) {
        launched.then(() => {
          fulfilled += 1;
          if (fulfilled === 50) setImmediate(() => { ${end} });
        }, () => {});
      }`);
    expect(seen).toMatchObject({ code, survivors: [] });
  });
});

it('process.exit() while Workers launch and spawn', async () => {
  const seen = await endOf(`${preamble}
    const { Worker, isMainThread } = require('node:worker_threads');
    const source = \`
      const { launch, spawn } = require(${JSON.stringify(root)});
      const program = ${JSON.stringify(fixture('exit_fast'))};
      const again = async () => {
        for (;;) {
          await Promise.all(Array.from({ length: 20 }, () => launch(program, [], { stdio: 'pipe' })));
          spawn(program, [], { stdio: 'null' });
          require('node:worker_threads').parentPort.postMessage('round');
        }
      };
      again();\`;
    let rounds = 0;
    for (let count = 0; count < 3; count++) {
      new Worker(source, { eval: true }).on('message', () => {
        rounds += 1;
        if (rounds === 12) process.exit(5);
      });
    }
    for (const launched of many(2000, quick)) launched.catch(() => {});`);
  expect(seen).toMatchObject({ code: 5, survivors: [] });
});

it('process.exit() in a Worker with launches on their way, and a natural end of the process', async () => {
  const seen = await endOf(`${preamble}
    const { Worker } = require('node:worker_threads');
    new Worker(\`${preamble}
      for (const launched of many(300, () => hold())) launched.catch(() => {});
      process.exit(3);\`, { eval: true });`);
  expect(seen).toMatchObject({ code: 0, survivors: [] });
});

it('a launch that nobody awaits keeps the process running until its child has ended', async () => {
  const seen = await endOf(`${preamble}
    process.on('exit', () => require('node:fs').writeSync(1, 'exit ' + ended + '\\n'));
    let ended = 0;
    for (let count = 0; count < 200; count++) quick().then((child) => child.on('exit', () => ended++));`);
  expect(seen).toMatchObject({ code: 0, stdout: 'exit 200\n', survivors: [], orphans: 0 });
});

it('children that are unreferenced do not', async () => {
  const seen = await endOf(
    `${preamble}
    for (let count = 0; count < 10; count++) hold().then((child) => child.unref());`,
    () => 10,
  );
  expect(seen).toMatchObject({ code: 0 });
  expect(seen.survivors).toHaveLength(10);
});

needs('ptrace').describe('while launches hang in exec', () => {
  const traced = (end: string) => `${preamble}
    const storm = require(${JSON.stringify(fixture('storm.node'))});
    const { traceSelf } = require(${JSON.stringify(`${root}/test/support/tracing.cjs`)});
    (async () => {
      const tracer = await traceSelf(storm, ${JSON.stringify(makeScratch())});
      await tracer.hold(5);
      for (const launched of many(5, () => hold())) launched.catch(() => {});
      await tracer.waitForHeld(5);
      for (const launched of many(100, () => hold())) launched.catch(() => {});
      // Before the event loop can tell of any of them.
      process.nextTick(() => { ${end} });
    })();`;

  for (const [name, end, code] of endings) {
    needs('ptrace').it(name, async () => {
      const seen = await endOf(traced(end), () => 0);
      expect(seen.stderr).not.toMatch(/tracer:/);
      expect(seen).toMatchObject({ code, survivors: [] });
      // Those that hung, at least, and the tracer.
      expect(seen.orphans).toBeGreaterThanOrEqual(1);
    });
  }
});
