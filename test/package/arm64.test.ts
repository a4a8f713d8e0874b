// The binaries for arm64, emulated. Under qemu-user a vfork is a fork, so that a failed exec is not
// told to the parent, and a program for arm64 cannot be started by one: neither is judged here.
import { spawnSync } from 'node:child_process';
import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import { makeScratch, root } from '../support/fixtures.js';
import { runNode } from '../support/programs.js';
import { ARM64_ROOT, needs } from '../support/tools.js';

const EMULATOR: [string, ...string[]] = ['qemu-aarch64-static', '-L', ARM64_ROOT];
const node = path.join(import.meta.dirname, 'node_modules/node-arm64/bin/node');
const binaries = path.join(root, 'prebuilds/linux-arm64');

/** Of the package only what is published, so that no addon of this machine is found. */
function copyPackage(): string {
  const folder = path.join(makeScratch(), 'node_modules/sallyport');
  const dependencies = ['node-gyp-build', 'zod', 'commander'].map((name) => `node_modules/${name}`);
  for (const part of ['package.json', 'dist', 'prebuilds', ...dependencies]) {
    cpSync(path.join(root, part), path.join(folder, part), { recursive: true, dereference: true });
  }
  return folder;
}

needs(
  'qemu-aarch64-static',
  'aarch64-linux-gnu-g++',
  'npm run prebuilds',
  'npm run test:managers',
).describe('on arm64', () => {
  let copy: string;
  beforeAll(() => {
    copy = copyPackage();
  });

  it('loads, plans, audits and starts a program', async () => {
    const script = `
      const { auditSelf, planLaunch, spawn } = require(${JSON.stringify(copy)});
      const { text } = require('node:stream/consumers');
      const plan = planLaunch('ls', ['/proc/self/fd'], { env: { COLOUR: 'blue' } });
      const child = spawn('ls', ['/proc/self/fd'], { stdio: ['null', 'pipe', 'pipe'] });
      Promise.all([text(child.stdout), child.exited]).then(([held, { code, signal }]) =>
        console.log(JSON.stringify({
          arch: process.arch,
          route: plan.route.kind,
          environment: plan.environment.COLOUR,
          audited: auditSelf().pid === process.pid,
          held: held.trim().split('\\n'),
          code,
          signal,
        })));`;
    const printed = await runNode(node, ['-e', script], { wrap: EMULATOR, cwd: copy });
    expect(printed).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(printed.stdout)).toEqual({
      arch: 'arm64',
      route: 'lane',
      environment: 'blue',
      audited: true,
      held: ['0', '1', '2', '3'],
      code: 0,
      signal: null,
    });
  }, 120_000);

  // A Node of this machine, whose launcher is the other's: emulated, it does what it is told.
  describe('the launcher', () => {
    let library: string;
    beforeAll(() => {
      library = copyPackage();
      const folder = path.join(library, 'prebuilds/linux-x64');
      const program = path.join(binaries, 'sallyport-launcher');
      const script = `#!/bin/sh\nexec ${EMULATOR.join(' ')} ${program} "$@"\n`;
      writeFileSync(path.join(folder, 'sallyport-launcher'), script);
    });

    async function launch(options: object, args: string[]): Promise<unknown> {
      const script = `
        const { launch } = require(${JSON.stringify(library)});
        const { text } = require('node:stream/consumers');
        const options = { stdio: ['null', 'pipe', 'pipe'], ...${JSON.stringify(options)} };
        launch(${JSON.stringify(args[0])}, ${JSON.stringify(args.slice(1))}, options).then(
          async (child) => {
            const [stdout, { code }] = await Promise.all([text(child.stdout), child.exited]);
            console.log(JSON.stringify({ stdout, code, launcher: child.plan.route.launcher }));
          },
          ({ code, stage }) => console.log(JSON.stringify({ code, stage })));`;
      const { stdout, stderr } = await runNode(process.execPath, ['-e', script], { cwd: library });
      expect(stderr).toBe('');
      return JSON.parse(stdout);
    }

    it('takes its steps and becomes the program', async () => {
      const options = { umask: 0o27, limits: { nofile: { soft: 64, hard: 128 } } };
      const script = 'umask; ulimit -S -n; ulimit -H -n; ls /proc/self/fd';
      expect(await launch(options, ['sh', '-c', script])).toEqual({
        stdout: '0027\n64\n128\n0\n1\n2\n3\n',
        code: 0,
        launcher: true,
      });
    });

    it('says which step was refused', async () => {
      const options = { cwd: '/', umask: 0o27, limits: { nofile: { soft: 1, hard: 2 ** 40 } } };
      expect(await launch(options, ['true'])).toEqual({ code: 'EPERM', stage: 'limits' });
    });
  });

  it('has a probe that answers as that of this machine does', () => {
    const folder = makeScratch();
    const link = path.join(folder, 'link');
    symlinkSync('target', link);
    // Reads, looks at write access, follows a link, connects, lists its descriptors, tells its ids.
    const attempts = [
      'r:/etc/passwd',
      'r:/no/such',
      `w:${folder}`,
      `l:${link}`,
      'u:/no/such',
      'f:',
      'i:',
    ];
    const ask = (...command: [string, ...string[]]) => {
      const [program, ...args] = command;
      return spawnSync(program, [...args, ...attempts], { encoding: 'utf8', input: '' }).stdout;
    };
    const here = ask(path.join(root, 'prebuilds/linux-x64/sallyport-probe'));
    expect(here.split('\n')).toHaveLength(attempts.length + 1);
    // ENOENT among them: it does not say the same of everything.
    expect(here.split('\n')).toEqual(expect.arrayContaining(['0 0', '2 0']));
    expect(ask(...EMULATOR, path.join(binaries, 'sallyport-probe'))).toBe(here);
  });
});
