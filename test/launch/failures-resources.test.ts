// Failures for want of descriptors and processes: what is said, and that nothing was started.
import { describe, expect, it } from 'vitest';

import { fixture } from '../support/fixtures.js';
import { inNode } from '../support/node-script.js';
import { needs } from '../support/tools.js';

const deny = (errno: string, calls: string) => [fixture('seccomp_deny'), errno, calls, '--'];

/** clone(2) as posix_spawn calls it where there is no clone3: CLONE_VM | CLONE_VFORK | SIGCHLD. */
const VFORK = 0x100 | 0x4000 | 17;

/** What each way of starting a program says under `wrap`, and whether anything is left of it. */
const refusals = (wrap: string[], only: 'all' | 'launcher') =>
  inNode(
    async ({ sallyport, storm, processes, root, require }, only) => {
      const { watchDescriptors } = require(
        `${root}/test/support/lanes.cjs`,
      ) as typeof import('../support/lanes.cjs');
      // Lanes and all that stays are there before the count. No pipes: those would close during it.
      for (const noNewPrivileges of [true, false]) {
        const options = { noNewPrivileges, stdio: 'null' } as const;
        const first = await sallyport.launch('true', [], options).catch(() => undefined);
        await first?.exited;
      }
      const watch = watchDescriptors();
      const start: Record<string, () => unknown> = {
        spawn: () => sallyport.spawn('true', [], { stdio: 'pipe' }),
        direct: () => sallyport.spawn('true', [], { stdio: 'pipe', noNewPrivileges: false }),
        launch: () => sallyport.launch('true', [], { stdio: 'pipe' }),
        run: async () => (await sallyport.run('true')).outcome.error,
        launcher: () => sallyport.spawn('true', [], { stdio: 'pipe', umask: 0o22 }),
      };
      const seen: Record<string, object> = {};
      for (const [name, call] of Object.entries(start)) {
        if (only === 'launcher' && name !== 'launcher') continue;
        try {
          seen[name] = { ...((await call()) as object) };
        } catch (error) {
          seen[name] = { ...(error as object), message: (error as Error).message };
        }
      }
      await watch.settle();
      const zombies = processes.listZombies().length;
      return { seen, more: watch.more(), children: storm.hasChildren(), zombies };
    },
    only,
    { wrap },
  );

describe('resources', () => {
  it('EMFILE tells how many are open and how many may be; nothing was started', async () => {
    const seen = await inNode(async ({ sallyport, storm, processes, fixture }) => {
      const child = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null' });
      await child.exited;
      storm.setSoftLimit('nofile', 64);
      const opened: number[] = [];
      for (;;) {
        try {
          opened.push(storm.openInheritable('/etc/hosts'));
        } catch {
          break;
        }
      }
      const attempt = () => {
        try {
          sallyport.spawn(fixture('exit_fast'), [], { stdio: 'pipe', env: {} });
          return {};
        } catch (error) {
          return { ...(error as object), message: (error as Error).message };
        }
      };
      const close = () => {
        const fd = opened.pop();
        if (fd !== undefined) storm.closeFd(fd);
      };
      const full = attempt();
      close();
      // Counted and not computed: whoever started us may have left something above the limit.
      const oneFree = { ...attempt(), open: processes.listDescriptors().length };
      for (let more = 0; more < 3; more++) close();
      const fourFree = { ...attempt(), open: processes.listDescriptors().length };
      const children = storm.hasChildren();
      for (let more = 0; more < 10; more++) close();
      const enough = sallyport.spawn(fixture('exit_fast'), [], { stdio: 'pipe' });
      return {
        full,
        oneFree,
        fourFree,
        children,
        code: (await enough.exited).code,
      };
    }, null);
    const expected = { code: 'EMFILE', errno: -24, stage: 'descriptor' };
    expect(seen.full).toMatchObject(expected);
    expect(seen.oneFree).toMatchObject(expected);
    expect(seen.fourFree).toMatchObject(expected);
    expect((seen.full as { message: string }).message).toContain('all of 64');
    for (const { open, ...error } of [seen.oneFree, seen.fourFree]) {
      expect((error as { message: string }).message).toContain(`${String(open)} of 64`);
    }
    expect(seen.fourFree.open).toBe(seen.oneFree.open - 3);
    expect(seen.children).toBe(false);
    expect(seen.code).toBe(0);
  });

  it('EMFILE when copying a descriptor of the pass list', async () => {
    const seen = await inNode(({ sallyport, storm, fixture }) => {
      // Loads the addon while there is room for it.
      sallyport.planLaunch('true');
      storm.setSoftLimit('nofile', 64);
      const source = storm.openInheritable('/etc/hosts');
      let last = source;
      try {
        for (;;) last = storm.openInheritable('/etc/hosts');
      } catch {
        // Full.
      }
      try {
        sallyport.spawn(fixture('exit_fast'), [], { stdio: 'null', pass: [{ fd: source, as: 3 }] });
        return {};
      } catch (error) {
        return { ...(error as object), message: (error as Error).message };
      } finally {
        // Room for the report.
        storm.closeFd(last);
      }
    }, null);
    expect(seen).toMatchObject({ code: 'EMFILE', stage: 'descriptor' });
    expect((seen as { message: string }).message).toContain('of 64');
  });

  it('not one descriptor free: a launch that needs none works and is reaped', async () => {
    const seen = await inNode(async ({ sallyport, storm, fixture }) => {
      sallyport.planLaunch('true');
      storm.setSoftLimit('nofile', 64);
      let last = -1;
      try {
        for (;;) last = storm.openInheritable('/etc/hosts');
      } catch {
        // Full: neither a pidfd nor an epoll descriptor can be had.
      }
      const args = ['--quiet', '--exit', '6'];
      const children = Array.from({ length: 3 }, () =>
        sallyport.spawn(fixture('witness'), args, { stdio: 'null' }),
      );
      const codes = [];
      for (const child of children) codes.push((await child.exited).code);
      storm.closeFd(last);
      return { codes, children: storm.hasChildren() };
    }, null);
    expect(seen).toEqual({ codes: [6, 6, 6], children: false });
  });

  it('ENFILE tells of the system, not of this process; nothing is left', async () => {
    const { seen, ...left } = await refusals(deny('ENFILE', 'memfd_create'), 'launcher');
    expect(seen['launcher']).toMatchObject({ code: 'ENFILE', errno: -23, stage: 'descriptor' });
    const { message } = seen['launcher'] as { message: string };
    expect(message).toMatch(/this system has \d+ of \d+ files open \(fs\.file-max\)/);
    expect(message).not.toContain('RLIMIT_NOFILE');
    expect(left).toEqual({ more: 0, children: false, zombies: 0 });
  });

  it('ENOMEM of the kernel tells how much this process holds; nothing is left', async () => {
    const wrap = [...deny('ENOSYS', 'clone3'), ...deny('ENOMEM', `clone:${String(VFORK)}`)];
    const { seen, ...left } = await refusals(wrap, 'all');
    expect(Object.keys(seen)).toEqual(['spawn', 'direct', 'launch', 'run', 'launcher']);
    for (const [name, error] of Object.entries(seen)) {
      expect(error, name).toMatchObject({ code: 'ENOMEM', stage: 'process' });
      const { message } = error as { message: string };
      const held = Number(/this process holds (\d+) MiB/.exec(message)?.[1]);
      expect(held, message).toBeGreaterThan(20);
    }
    expect(left).toEqual({ more: 0, children: false, zombies: 0 });
  });

  needs('another uid').it('EAGAIN at the limit of processes', async () => {
    const seen = await inNode(
      ({ sallyport, storm, fixture }) => {
        storm.setSoftLimit('nproc', 1);
        try {
          sallyport.spawn(fixture('exit_fast'), [], { stdio: 'pipe' });
          return {};
        } catch (error) {
          return {
            ...(error as object),
            message: (error as Error).message,
            children: storm.hasChildren(),
          };
        }
      },
      null,
      { unprivileged: true },
    );
    expect(seen).toMatchObject({ code: 'EAGAIN', errno: -11, stage: 'process', children: false });
    expect((seen as { message: string }).message).toContain('RLIMIT_NPROC');
  });
});
