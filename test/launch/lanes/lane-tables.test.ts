// The lanes' own descriptor tables: /dev/null three times and the control socket, whatever passed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';

import { fixture, root } from '../../support/fixtures.js';
import { inNode } from '../../support/node-script.js';
import { readAll } from '../../support/processes.js';

it('are as they were after launches of every kind, and failures', async () => {
  const seen = await inNode(
    async ({ sallyport, storm, processes, scratch, root, fixture, require }) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const { listLanes, startLanes, watchDescriptors } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../../support/lanes.cjs');
      type Options = import('../../../src/index.js').SpawnOptions;
      fs.writeFileSync(`${scratch}/broken`, '#!/no/such/interpreter\n', { mode: 0o755 });
      const kept = storm.openInheritable('/etc/hosts', 30);
      const many = Array.from({ length: 600 }, (_, index) => ({ fd: kept, as: 3 + index }));
      const kinds: Array<[file: string, options: Options]> = [
        [fixture('exit_fast'), { stdio: 'null' }],
        [fixture('exit_fast'), { stdio: 'pipe' }],
        [fixture('exit_fast'), { stdio: ['null', 'inherit', 'inherit'] }],
        [fixture('exit_fast'), { stdio: 'null', pass: [kept, { fd: kept, as: 3 }] }],
        [fixture('exit_fast'), { stdio: 'pipe', pass: many }],
        [fixture('exit_fast'), { stdio: 'null', session: 'group', cwd: '/' }],
        [`${scratch}/broken`, { stdio: 'pipe', pass: [kept] }],
        ['true', { stdio: 'pipe', cwd: '/no/such/directory' }],
        ['true', { stdio: 'null', env: { BIG: 'x'.repeat(200_000) }, pass: many }],
      ];
      const run = async (file: string, options: Options, how: 'launch' | 'spawn') => {
        try {
          const child =
            how === 'launch'
              ? await sallyport.launch(file, [], options)
              : sallyport.spawn(file, [], options);
          const closed = new Promise((resolve) => child.once('close', resolve));
          for (const stream of child.stdio) stream?.destroy();
          await closed;
          return 'ran';
        } catch (error) {
          return (error as { code: string }).code;
        }
      };
      const outcomes = new Set<string>();
      await startLanes(sallyport.launch, fixture('exit_fast'), { stdio: 'pipe' });
      await startLanes(sallyport.launch, fixture('exit_fast'), {
        stdio: 'null',
        noNewPrivileges: false,
      });
      const watch = watchDescriptors();
      for (let round = 0; round < 20; round++) {
        const runs: Array<Promise<string>> = [];
        for (const [file, options] of kinds) {
          for (const noNewPrivileges of [true, false]) {
            const all = { ...options, noNewPrivileges };
            runs.push(run(file, all, 'launch'), run(file, all, 'launch'), run(file, all, 'spawn'));
          }
        }
        for (const outcome of await Promise.all(runs)) outcomes.add(outcome);
      }
      const tables = listLanes().map(({ descriptors }) =>
        descriptors.map(([fd, link]) => `${String(fd)} ${link.replace(/:\[\d+\]$/, '')}`).join(),
      );
      const own = new Set(
        processes.listDescriptors().map((fd) => fs.readlinkSync(`/proc/self/fd/${String(fd)}`)),
      );
      // What the lanes have belongs to them alone.
      const shared = listLanes().filter(({ descriptors }) => own.has(descriptors[3]?.[1] ?? ''));
      // The control: the same look sees what a thread has that shares our table.
      const here = processes.listDescriptors('self', process.pid);
      return {
        outcomes: [...outcomes].sort(),
        lanes: tables.length,
        tables: [...new Set(tables)],
        shared: shared.length,
        seesOurs: here.includes(kept),
        more: watch.more(),
        zombies: processes.listZombies().length,
      };
    },
    null,
    { deadline: 60_000 },
  );
  expect(seen).toMatchObject({
    outcomes: ['E2BIG', 'ENOENT', 'ran'],
    tables: ['0 /dev/null,1 /dev/null,2 /dev/null,3 socket'],
    shared: 0,
    seesOurs: true,
    more: 0,
    zombies: 0,
  });
  expect(seen.lanes).toBeGreaterThanOrEqual(2);
}, 70_000);

it('1 000 descriptors of one pass list arrive, each at its number', async () => {
  const seen = await inNode(async ({ sallyport, storm, fixture }) => {
    const kept = storm.openInheritable('/etc/hosts', 30);
    const targets = Array.from({ length: 1000 }, (_, index) => 3 + index * 2);
    const pass = targets.map((as) => ({ fd: kept, as }));
    const args = ['0', '1', '2', ...targets.map(String)];
    const launched = await Promise.all(
      Array.from({ length: 20 }, () =>
        sallyport.launch(fixture('exact_fds'), args, { stdio: 'null', pass }),
      ),
    );
    const spawned = sallyport.spawn(fixture('exact_fds'), args, { stdio: 'null', pass });
    const statuses = await Promise.all([...launched, spawned].map((child) => child.exited));
    // The control: one more than named is seen.
    const short = await sallyport.launch(fixture('exact_fds'), args.slice(0, -1), {
      stdio: 'null',
      pass,
    });
    return {
      codes: [...new Set(statuses.map(({ code }) => code))],
      short: (await short.exited).code,
    };
  }, null);
  expect(seen).toEqual({ codes: [0], short: 1 });
});

// The call's descriptors come in several messages: what is left of one call must not be taken for
// the next one's.
it('more descriptors than may be open: EMFILE, and the next child has exactly its own', async () => {
  const seen = await inNode(async ({ sallyport, storm, processes, root, fixture, require }) => {
    const { listLanes } = require(
      `${root}/test/support/lanes.cjs`,
    ) as typeof import('../../support/lanes.cjs');
    const kept = storm.openInheritable('/etc/hosts', 30);
    const other = storm.openInheritable('/etc/passwd', 31);
    const first = await sallyport.launch(fixture('exit_fast'), [], { stdio: 'null' });
    await first.exited;
    storm.setSoftLimit('nofile', 256);
    const all = Array.from({ length: 253 }, (_, index) => ({ fd: kept, as: 3 + index }));
    const codes: unknown[] = [];
    for (let count = 0; count < 6; count++) {
      try {
        await sallyport.launch(fixture('exit_fast'), [], { stdio: kept, pass: all });
      } catch (error) {
        const { code, stage } = error as { code: string; stage: string };
        codes.push(`${code} ${stage}`);
      }
      const next = await sallyport.launch(fixture('exact_fds'), ['0', '1', '2', '5'], {
        stdio: 'null',
        pass: [{ fd: other, as: 5 }],
      });
      codes.push((await next.exited).code);
      const named = await sallyport.launch('readlink', ['/proc/self/fd/5'], {
        stdio: ['null', 'pipe', 'null'],
        pass: [{ fd: other, as: 5 }],
      });
      if (named.stdout === null) throw new Error('no stdout');
      codes.push((await processes.readAll(named.stdout)).toString().trim());
    }
    return {
      codes,
      tables: [...new Set(listLanes().map(({ descriptors }) => descriptors.length))],
    };
  }, null);
  expect(seen.codes).toEqual(
    Array.from({ length: 6 }, () => ['EMFILE descriptor', 0, '/etc/passwd']).flat(),
  );
  expect(seen.tables).toEqual([4]);
});

const parents: ChildProcess[] = [];

afterEach(() => {
  for (const parent of parents.splice(0)) parent.kill('SIGKILL');
});

/** A node process with lanes of both kinds that closes its own stdout when told, and waits. */
function startParent(stdio: 'null' | 'inherit') {
  const script = `
    const { launch, spawn } = require(${JSON.stringify(root)});
    const fs = require('node:fs');
    (async () => {
      for (const noNewPrivileges of [true, false]) {
        for (const stdio of ['null', 'pipe', 'inherit']) {
          const options = { stdio, noNewPrivileges };
          await (await launch(${JSON.stringify(fixture('exit_fast'))}, [], options)).exited;
          await spawn(${JSON.stringify(fixture('exit_fast'))}, [], options).exited;
        }
      }
      const holder = await launch('cat', [], { stdio: ['pipe', ${JSON.stringify(stdio)}, 'null'] });
      fs.closeSync(1);
      fs.writeSync(2, 'closed\\n');
      process.stdin.once('data', (word) => holder.stdin.write(word));
      process.stdin.once('end', () => holder.stdin.end());
      await holder.exited;
      fs.writeSync(2, 'holder has ended\\n');
      setInterval(() => {}, 1000);
    })();`;
  const parent = spawn(process.execPath, ['-e', script], { stdio: 'pipe' });
  parents.push(parent);
  const seen: string[] = [];
  parent.stderr.on('data', (text: Buffer) => seen.push(...text.toString().trim().split('\n')));
  parent.stdout.on('data', (text: Buffer) => seen.push(`got ${text.toString()}`));
  parent.stdout.once('end', () => seen.push('end'));
  return { parent, seen };
}

it('a parent closes its own stdout: whoever reads it sees the end', async () => {
  const { parent, seen } = startParent('null');
  await once(parent.stdout, 'end');
  expect([parent.exitCode, parent.signalCode]).toEqual([null, null]);
  expect(seen).not.toContain('holder has ended');
  parent.kill('SIGKILL');
  await once(parent, 'close');
});

it('the control: a child that has it keeps it open, and can write to it', async () => {
  const { parent, seen } = startParent('inherit');
  parent.stdin.write('still open');
  await once(parent.stdout, 'data');
  expect(seen).not.toContain('end');
  parent.stdin.end();
  await once(parent.stdout, 'end');
  expect([parent.exitCode, parent.signalCode]).toEqual([null, null]);
  expect(seen).toContain('got still open');
  parent.kill('SIGKILL');
  await once(parent, 'close');
  expect((await readAll(parent.stdout)).length).toBe(0);
});
