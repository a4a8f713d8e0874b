// Through the launcher too a program holds what the plan names; the launcher's own two never reach it.
import { copyFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { launch } from '../../../src/index.js';
import { fixture, makeScratch } from '../../support/fixtures.js';
import { holdExecutable } from '../../support/lease.js';
import { inNode, type ScriptOptions } from '../../support/node-script.js';
import { listChildren, listDescriptors } from '../../support/processes.js';

/** Numbers in the child, beside 0, 1 and 2. */
const tables: number[][] = [
  [],
  [3],
  [4],
  [3, 4],
  [3, 5, 7],
  [5, 6],
  [510, 511], // the highest that RLIMIT_NOFILE allows
  [3, 4, 5, 6, 509, 510, 511],
  Array.from({ length: 300 }, (_, index) => index + 3), // more than one message to a lane
];

const unshare = process.arch === 'arm64' ? 97 : 272;
const noPrivateTables = [fixture('seccomp_deny'), 'EPERM', `close_range,${unshare}`, '--'];

interface Way {
  call: 'spawn' | 'launch';
  noNewPrivileges: boolean;
  route: string;
}

/** Starts exact_fds with each table and gives the exit codes: 0 is exactly those. */
const tryTables = (way: Way, options?: ScriptOptions) =>
  inNode(
    async ({ sallyport, storm, processes, fixture: find }, { call, noNewPrivileges, all }) => {
      storm.setSoftLimit('nofile', 512);
      // Inheritable, and where the launcher's two might stand.
      const leaks = [30, 31, 100, 400].map((fd) => storm.openInheritable('/etc/hosts', fd));
      const source = storm.openInheritable('/dev/null', 200);
      const control = storm.plainSpawn(find('exact_fds'), ['0', '1', '2', `${source}`]);
      const seen = [];
      const routes = new Set<string>();
      for (const targets of all) {
        const child = await sallyport[call](find('exact_fds'), [0, 1, 2, ...targets].map(String), {
          pass: targets.map((as) => ({ fd: source, as })),
          umask: 0o22,
          noNewPrivileges,
        });
        routes.add(`${child.plan.route.kind} ${child.plan.route.launcher}`);
        seen.push((await child.exited).code);
      }
      return {
        seen,
        control: control - leaks.length,
        routes: [...routes],
        left: processes.listZombies(),
      };
    },
    { ...way, all: tables },
    options,
  );

describe('a program started through the launcher holds exactly what is named', () => {
  it.each<[Way, ScriptOptions | undefined]>([
    [{ call: 'spawn', noNewPrivileges: true, route: 'lane' }, undefined],
    [{ call: 'launch', noNewPrivileges: true, route: 'lane' }, undefined],
    [{ call: 'launch', noNewPrivileges: false, route: 'lane' }, undefined],
    [{ call: 'spawn', noNewPrivileges: false, route: 'direct' }, undefined],
    [{ call: 'spawn', noNewPrivileges: true, route: 'thread' }, { wrap: noPrivateTables }],
    [{ call: 'launch', noNewPrivileges: true, route: 'thread' }, { wrap: noPrivateTables }],
  ])('%j', async (way, options) => {
    const { seen, control, routes, left } = await tryTables(way, options);
    expect(routes).toEqual([`${way.route} true`]);
    expect(control).toBeGreaterThanOrEqual(0);
    expect(seen).toEqual(tables.map(() => 0));
    expect(left).toEqual([]);
  });

  it('descriptors that swap, by every route', async () => {
    const seen = await inNode(async ({ sallyport, storm, processes, fixture: find }) => {
      const one = storm.openInheritable('/etc/hosts', 40);
      const two = storm.openInheritable('/etc/passwd', 41);
      const options = {
        umask: 0o22,
        pass: [
          { fd: one, as: two },
          { fd: two, as: one },
          { fd: one, as: 3 },
          { fd: two, as: 4 },
        ],
      };
      const links = [];
      for (const noNewPrivileges of [true, false]) {
        const child = sallyport.spawn(find('witness'), [], { ...options, noNewPrivileges });
        const report = JSON.parse((await processes.readAll(child.stdout)).toString());
        links.push(
          report.descriptors
            .slice(3)
            .map(({ fd, link }: { fd: number; link: string }) => [fd, link]),
        );
      }
      return links as unknown;
    }, null);
    const expected = [
      [3, '/etc/hosts'],
      [4, '/etc/passwd'],
      [40, '/etc/passwd'],
      [41, '/etc/hosts'],
    ];
    expect(seen).toEqual([expected, expected]);
  });

  it('0, 1 and 2 closed in the parent', async () => {
    const seen = await inNode(async ({ sallyport, storm, fixture: find }) => {
      for (const fd of [0, 1, 2]) storm.closeFd(fd);
      const codes = [];
      for (const noNewPrivileges of [true, false]) {
        const child = sallyport.spawn(find('exact_fds'), ['0', '1', '2'], {
          stdio: 'null',
          umask: 0o22,
          noNewPrivileges,
        });
        codes.push((await child.exited).code);
      }
      return codes;
    }, null);
    expect(seen).toEqual([0, 0]);
  });
});

it('the launcher on its way to the program: its status is the only one more, and close-on-exec', async () => {
  const program = path.join(makeScratch(), 'held');
  copyFileSync(fixture('exact_fds'), program);
  const lease = await holdExecutable(program);
  const launching = launch(program, ['0', '1', '2', '4'], {
    pass: [{ fd: 0, as: 4 }],
    umask: 0o22,
  });
  await lease.waitedFor();
  const hanging = listChildren().find(({ pid }) => pid !== lease.pid);
  const descriptors = listDescriptors(hanging!.pid).map((fd) => {
    const flags = /^flags:\s+(\d+)/m.exec(
      readFileSync(`/proc/${hanging!.pid}/fdinfo/${fd}`, 'latin1'),
    )?.[1];
    return [fd, (parseInt(flags!, 8) & 0o2000000) !== 0];
  });
  await lease.letGo();
  // 3 was that of the instructions, 5 is that of the status.
  expect(descriptors).toEqual([
    [0, false],
    [1, false],
    [2, false],
    [4, false],
    [5, true],
  ]);
  expect((await (await launching).exited).code).toBe(0);
});

it('a table without two free numbers below the limit is refused, and nothing is kept', async () => {
  const seen = await inNode(async ({ sallyport, storm, processes }) => {
    storm.setSoftLimit('nofile', 64);
    const targets = Array.from({ length: 60 }, (_, index) => index + 3);
    const options = {
      stdio: 'null' as const,
      pass: targets.map((as) => ({ fd: 0, as })),
      noNewPrivileges: false,
    };
    // The control: without the launcher it fits.
    const { code } = await sallyport.spawn('true', [], options).exited;
    const before = processes.countDescriptors();
    try {
      sallyport.spawn('true', [], { ...options, umask: 0o22 });
    } catch (error) {
      const kept = processes.countDescriptors().length - before.length;
      return { plain: code, ...(error as object), kept };
    }
    return undefined;
  }, null);
  expect(seen).toMatchObject({
    plain: 0,
    code: 'EBADF',
    stage: 'descriptor',
    stageSource: 'reported',
    kept: 0,
  });
});
