// no_new_privs: children have it unless they opt out, and nobody else is touched.
import { chmodSync, copyFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { fixture, makeScratch } from '../../support/fixtures.js';
import { inNode } from '../../support/node-script.js';
import { needs } from '../../support/tools.js';

function makeSetuidWitness(): string {
  const directory = makeScratch();
  chmodSync(directory, 0o755);
  const program = path.join(directory, 'setuid-witness');
  copyFileSync(fixture('witness'), program);
  chmodSync(program, 0o4755);
  return program;
}

describe('NoNewPrivs in /proc/<pid>/status', () => {
  it('1 of launched and spawned children, 0 of those that opted out and of everybody else', async () => {
    const seen = await inNode(async ({ sallyport, processes, root, fixture, require }) => {
      const childProcess = require('node:child_process') as typeof import('node:child_process');
      const { readThreadStatus } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../../support/lanes.cjs');
      const hold = ['--quiet', '--hold'];
      const outOf = { stdio: 'null', noNewPrivileges: false } as const;
      const children = {
        launched: await sallyport.launch(fixture('witness'), hold, { stdio: 'null' }),
        spawned: sallyport.spawn(fixture('witness'), hold, { stdio: 'null' }),
        'launched, opted out': await sallyport.launch(fixture('witness'), hold, outOf),
        'spawned, opted out': sallyport.spawn(fixture('witness'), hold, outOf),
        'launched, asked for': await sallyport.launch(fixture('witness'), hold, {
          stdio: 'null',
          noNewPrivileges: true,
        }),
      };
      const plain = childProcess.spawn(fixture('witness'), hold, { stdio: 'ignore' });
      await new Promise((resolve) => plain.once('spawn', resolve));
      const privileges = (pid: number) => processes.readStatus(pid)['NoNewPrivs'];
      const found = Object.fromEntries(
        Object.entries(children).map(([name, { pid, plan }]) => [
          name,
          `${String(privileges(pid))}, plan ${String(plan.noNewPrivileges)}`,
        ]),
      );
      const others = privileges(plain.pid ?? 0);
      const own = privileges(process.pid);
      const threads = new Map<string, string[]>();
      for (const [name, value = ''] of readThreadStatus('NoNewPrivs')) {
        const group = name === 'sallyport-lane' ? 'lanes' : 'others';
        threads.set(group, [...(threads.get(group) ?? []), value]);
      }
      plain.kill('SIGKILL');
      for (const child of Object.values(children)) child.kill('SIGKILL');
      await Promise.all(Object.values(children).map((child) => child.exited));
      return {
        found,
        others,
        own,
        lanes: [...new Set(threads.get('lanes'))].sort(),
        otherThreads: [...new Set(threads.get('others'))],
      };
    }, null);
    expect(seen).toEqual({
      found: {
        launched: '1, plan true',
        spawned: '1, plan true',
        'launched, opted out': '0, plan false',
        'spawned, opted out': '0, plan false',
        'launched, asked for': '1, plan true',
      },
      others: '0',
      own: '0',
      // Of both kinds.
      lanes: ['0', '1'],
      otherThreads: ['0'],
    });
  });

  it('goes down to every descendant', async () => {
    const seen = await inNode(async ({ sallyport, processes }) => {
      const script =
        'grep NoNewPrivs /proc/self/status; sh -c "(grep NoNewPrivs /proc/self/status)"';
      const read = async (noNewPrivileges: boolean) => {
        const child = await sallyport.launch('sh', ['-c', script], { noNewPrivileges });
        if (child.stdout === null) throw new Error('no stdout');
        return (await processes.readAll(child.stdout)).toString().match(/\d/g);
      };
      return { kept: await read(true), opted: await read(false) };
    }, null);
    expect(seen).toEqual({ kept: ['1', '1'], opted: ['0', '0'] });
  });

  it('a Worker has children of both kinds by the same lanes', async () => {
    const seen = await inNode(async ({ root, fixture, require }) => {
      const { Worker } = require('node:worker_threads') as typeof import('node:worker_threads');
      const worker = new Worker(
        `const { parentPort, workerData: { root, witness } } = require('node:worker_threads');
         const { launch, spawn } = require(root);
         (async () => {
           const read = async (child) => {
             let text = '';
             for await (const piece of child.stdout) text += piece;
             return JSON.parse(text).status.NoNewPrivs;
           };
           const out = { noNewPrivileges: false };
           parentPort.postMessage([
             await read(await launch(witness)), await read(spawn(witness)),
             await read(await launch(witness, [], out)), await read(spawn(witness, [], out)),
           ]);
         })();`,
        { eval: true, workerData: { root, witness: fixture('witness') } },
      );
      return new Promise((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
    }, null);
    expect(seen).toEqual(['1', '1', '0', '0']);
  });
});

needs('setuid programs').it('a setuid program gives nothing, unless it was opted out', async () => {
  const seen = await inNode(
    async ({ sallyport, processes, require }, program) => {
      const fs = require('node:fs') as typeof import('node:fs');
      const read = async (child: import('../../../src/index.js').Child) => {
        if (child.stdout === null) throw new Error('no stdout');
        const text = (await processes.readAll(child.stdout)).toString();
        return (JSON.parse(text) as { uid: number[] }).uid;
      };
      const out = { noNewPrivileges: false };
      return {
        mode: (fs.statSync(program).mode & 0o7777).toString(8),
        launched: await read(await sallyport.launch(program)),
        spawned: await read(sallyport.spawn(program)),
        launchedOut: await read(await sallyport.launch(program, [], out)),
        spawnedOut: await read(sallyport.spawn(program, [], out)),
      };
    },
    makeSetuidWitness(),
    { unprivileged: true },
  );
  const kept = [65534, 65534, 65534];
  const granted = [65534, 0, 0];
  expect(seen).toEqual({
    mode: '4755',
    launched: kept,
    spawned: kept,
    launchedOut: granted,
    spawnedOut: granted,
  });
});
