// The package as it is published: installed by each package manager where nothing can be compiled.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type BareMachine, type Manager, makeBareMachine, managers, pack } from './bare-machine.js';
import { startRegistry, type Registry } from './registry.js';
import { makeScratch, root } from '../support/fixtures.js';
import type { Printed } from '../support/programs.js';
import { onEachRuntime } from '../support/runtimes.js';
import { needs } from '../support/tools.js';

const COMPILERS = ['python3', 'python', 'make', 'g++', 'c++', 'gcc', 'cc', 'clang', 'clang++'];

/** What a user writes, to install and to start the command. */
const words: Record<Manager, { install: string[]; command: string[]; node: string[] }> = {
  npm: { install: ['install', 'sallyport'], command: ['exec', '--', 'sallyport'], node: [] },
  pnpm: {
    install: ['add', '--allow-build=sallyport', 'sallyport'],
    command: ['exec', 'sallyport'],
    node: [],
  },
  'yarn 1': { install: ['add', 'sallyport'], command: ['run', '--silent', 'sallyport'], node: [] },
  // Plug'n'Play: packages stay in their archives, but for those with native parts.
  'yarn 4': { install: ['add', 'sallyport'], command: ['sallyport'], node: ['node'] },
};

needs('npm', 'npm run prebuilds', 'npm run test:managers').describe('the tarball', () => {
  let registry: Registry;
  let machine: BareMachine;
  let withNpm: string;

  beforeAll(async () => {
    const tarball = await pack(root, makeScratch());
    registry = await startRegistry(tarball);
    machine = makeBareMachine(registry.url);
    withNpm = await install('npm');
  }, 120_000);

  afterAll(() => {
    registry.close();
  });

  async function install(manager: Manager, ...flags: string[]): Promise<string> {
    const folder = machine.emptyFolder();
    writeFileSync(path.join(folder, 'package.json'), '{ "name": "user", "private": true }');
    copyFileSync(path.join(import.meta.dirname, 'use.cjs'), path.join(folder, 'use.cjs'));
    writeFileSync(path.join(folder, 'version.cjs'), 'console.log(process.version);');
    const command = [managers[manager](), ...words[manager].install, ...flags];
    const printed = await machine.run(command, folder);
    expect(printed, JSON.stringify(printed)).toMatchObject({ code: 0, signal: null });
    return folder;
  }

  function expectUsed({ code, stdout, stderr }: Printed, version = process.version): void {
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      node: version,
      // 3 is ls's own: the directory that it lists.
      held: ['0', '1', '2', '3'],
      code: 0,
      limit: '64',
      verdict: 'clean',
      signal: 'SIGKILL',
      outcome: 'exited',
      method: 'init',
      survivors: [],
      text: 'begun\n',
      descriptors: 'closed',
      addon: expect.stringMatching(/prebuilds\/linux-x64\/node\.napi\.glibc\.node$/),
    });
  }

  it('is installed where nothing that compiles is found', () => {
    const find = (PATH: string) =>
      COMPILERS.filter(
        (name) =>
          spawnSync('/bin/sh', ['-c', `command -v ${name}`], { env: { PATH } }).status === 0,
      );
    // The check can fail: here they are found.
    expect(find(process.env['PATH'] ?? '')).toEqual(expect.arrayContaining(['make', 'g++']));
    expect(find(machine.path)).toEqual([]);
  });

  it('could not be installed there without what was built before', async () => {
    const folder = makeScratch();
    const unpacked = path.join(withNpm, 'node_modules/sallyport');
    cpSync(unpacked, folder, { recursive: true });
    rmSync(path.join(folder, 'prebuilds'), { recursive: true });
    const user = machine.emptyFolder();
    const tarball = await pack(folder, user);
    const { code, stderr } = await machine.run([managers.npm(), 'install', tarball], user);
    expect(code).not.toBe(0);
    expect(stderr).toContain('needs python3, make');
  });

  describe.each(Object.keys(managers) as Manager[])('by %s', (manager) => {
    let folder = 'what is not installed';
    const start = (more: string[]) => machine.run([managers[manager](), ...more], folder);

    it('is installed', async () => {
      folder = manager === 'npm' ? withNpm : await install(manager);
    }, 120_000);

    it('works as a library', async () => {
      const { node } = words[manager];
      expectUsed(
        await (node.length > 0 ? start([...node, 'use.cjs']) : machine.run(['use.cjs'], folder)),
      );
    });

    it('works as a command', async () => {
      const { command } = words[manager];
      const script = 'ulimit -n; echo $COLOUR';
      // Without --: Yarn 1 takes what stands before it for its own.
      const options = ['--limit', 'nofile=64', '--env', 'COLOUR=blue'];
      const ran = await start([...command, 'run', ...options, 'sh', '-c', script]);
      expect(ran).toMatchObject({ code: 0, stdout: '64\nblue\n' });
      const audited = await start([...command, 'audit', '--json', String(process.pid)]);
      expect(JSON.parse(audited.stdout)).toMatchObject({ processes: [{ pid: process.pid }] });
    });
  });

  describe.each(['npm', 'pnpm', 'yarn 1'] as const)('by %s, without its scripts', (manager) => {
    it('works all the same', async () => {
      const folder = await install(manager, '--ignore-scripts');
      expectUsed(await machine.run(['use.cjs'], folder));
    }, 120_000);
  });

  describe('where the modes were lost', () => {
    const folder = (): string => path.join(withNpm, 'node_modules/sallyport/prebuilds/linux-x64');
    const programs = ['sallyport-launcher', 'sallyport-probe'];
    const lose = (): void => {
      for (const name of programs) chmodSync(path.join(folder(), name), 0o644);
    };
    const modes = () => programs.map((name) => statSync(path.join(folder(), name)).mode & 0o777);

    it('sets them when it is loaded', async () => {
      lose();
      expectUsed(await machine.run(['use.cjs'], withNpm));
      expect(modes()).toEqual([0o755, 0o755]);
    });

    it('sets them when it is built again', async () => {
      lose();
      expect((await machine.run([managers.npm(), 'rebuild'], withNpm)).code).toBe(0);
      expect(modes()).toEqual([0o755, 0o755]);
    });

    needs('root').it('says so to who may not set them', async () => {
      lose();
      chmodSync(withNpm, 0o755);
      chmodSync(path.dirname(machine.path), 0o755);
      const script = `process.setgid(65534); process.setuid(65534);
        const { launch, spawn } = require('sallyport');
        spawn('true').exited.then(({ code }) => launch('true', [], { umask: 0o77 })
          .catch(({ code: errno, stage, message }) =>
            console.log(JSON.stringify({ code, errno, stage, message }))));`;
      const { stdout } = await machine.run(['-e', script], withNpm);
      expect(JSON.parse(stdout)).toEqual({
        code: 0,
        errno: 'EACCES',
        stage: 'launcher',
        message: expect.stringContaining('npm rebuild sallyport'),
      });
      await machine.run([managers.npm(), 'rebuild'], withNpm);
    });
  });

  onEachRuntime(({ command: [file, ...args] }) => {
    it('works in the same folder', async () => {
      // That of Node which it is, or says it is like.
      const version = await machine.run([...args, 'version.cjs'], withNpm, file);
      const printed = await machine.run([...args, 'use.cjs'], withNpm, file);
      expectUsed(printed, version.stdout.trim());
      expect(existsSync(path.join(withNpm, 'node_modules/sallyport/build'))).toBe(false);
    });
  });
});
