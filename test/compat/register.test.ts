// How a program is registered, and what SALLYPORT_REGISTER says.
import { openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { makeScratch, root } from '../support/fixtures.js';
import { runNode, type ProgramOptions } from '../support/programs.js';
import { onEachNode } from '../support/runtimes.js';

const hosts = openSync('/etc/hosts', 'r');
const withLeak: ProgramOptions = { pass: [{ fd: hosts, as: 30 }] };

/** Whether a child has 30. */
const LOOK = "require('node:child_process').spawnSync('test', ['-e', '/proc/self/fd/30']).status";
const has = (status: string): boolean => status.trim() === '0';

onEachNode((node) => {
  const register = path.join(root, 'dist/register.js');

  it.each([
    ['--require', ['--require', 'sallyport/register'], {}],
    ['--import', ['--import', 'sallyport/register'], {}],
    ['both', ['--require', 'sallyport/register', '--import', 'sallyport/register'], {}],
    ['NODE_OPTIONS', [], { NODE_OPTIONS: `--require "${register}"` }],
  ])('by %s', async (_, flags, env) => {
    const script = `console.log(${LOOK})`;
    expect(has((await runNode(node, ['-e', script], withLeak)).stdout)).toBe(true);
    const { stdout, stderr } = await runNode(node, ['-e', script], { ...withLeak, flags, env });
    expect([stderr, has(stdout)]).toEqual(['', false]);
  });

  it('in a Worker, and in one of a Worker', async () => {
    const file = path.join(root, 'test/compat/scripts/nested-workers.cjs');
    expect((await runNode(node, [file], withLeak)).stdout).toBe('0\n0\n');
    for (const flag of ['--require', '--import']) {
      const flags = [flag, 'sallyport/register'];
      const { stdout, stderr } = await runNode(node, [file], { ...withLeak, flags });
      expect([stderr, stdout]).toEqual(['', '1\n1\n']);
    }
  });

  it('in a Worker of a text by --require, where Node itself leaves out --import', async () => {
    const text = JSON.stringify(`console.log(${LOOK})`);
    const script = `new (require('node:worker_threads').Worker)(${text}, { eval: true })`;
    const found = [];
    for (const flag of ['--require', '--import']) {
      const flags = [flag, 'sallyport/register'];
      found.push(has((await runNode(node, ['-e', script], { ...withLeak, flags })).stdout));
    }
    expect(found).toEqual([false, true]);
  });

  it('in ES modules, by the names that they have imported', async () => {
    const scratch = makeScratch();
    const script = `
      import { spawnSync } from 'node:child_process';
      import { install, uninstall } from ${JSON.stringify(path.join(root, 'dist/register.mjs'))};
      const look = () => spawnSync('test', ['-e', '/proc/self/fd/30']).status;
      const first = look();
      uninstall();
      const second = look();
      install();
      console.log([first, second, look()].join());`;
    const words = ['--input-type=module', '-e', script];
    const { stdout } = await runNode(node, words, { ...withLeak, cwd: scratch });
    expect(stdout).toBe('1,0,1\n');
  });

  it('forks are registered too, and start in any directory', async () => {
    const file = path.join(root, 'test/compat/scripts/fork-elsewhere.cjs');
    const flags = ['--import', 'sallyport/register'];
    const { stdout, stderr } = await runNode(node, [file], { ...withLeak, flags });
    expect([stderr, stdout]).toEqual(['', '1\n']);
  });
});

describe('SALLYPORT_REGISTER', () => {
  const run = (SALLYPORT_REGISTER: string, script: string, more: ProgramOptions = {}) =>
    runNode(process.execPath, ['-e', script], {
      flags: ['--require', 'sallyport/register'],
      ...more,
      env: { SALLYPORT_REGISTER, ...more.env },
    });
  const names = (text: string): string[] => text.split('\n').filter((name) => name !== '');

  it('environment=allowlist keeps back what is merely inherited', async () => {
    const script = `
      const { spawnSync } = require('node:child_process');
      const print = (env) => spawnSync('env', { env, encoding: 'utf8' }).stdout;
      console.log(print() + '--\\n' + print({ ...process.env, GIVEN: '1', SECRET: 'changed' }));`;
    const env = { SECRET: 's', HOME: '/h', LANG: 'C', CI: '1', PATH: process.env['PATH'] ?? '' };
    const { stdout } = await run('environment=allowlist;variables=HOME, CI', script, { env });
    const [inherited = '', given = ''] = stdout.split('--\n');
    const kept = ['CI=1', 'HOME=/h', 'LANG=C', `PATH=${env.PATH}`];
    const own = 'SALLYPORT_REGISTER=environment=allowlist;variables=HOME, CI';
    expect(names(inherited).sort()).toEqual([...kept, own].sort());
    expect(names(given).sort()).toEqual([...kept, own, 'GIVEN=1', 'SECRET=changed'].sort());
    const all = await run('environment=inherit', script, { env });
    expect(all.stdout).toContain('SECRET=s\n');
  });

  it('environment=allowlist leaves a fork its channel', async () => {
    const file = path.join(root, 'test/compat/scripts/fork-secret.cjs');
    const { stdout } = await runNode(process.execPath, [file], {
      flags: ['--require', 'sallyport/register'],
      env: { SALLYPORT_REGISTER: 'environment=allowlist', SECRET: 's' },
    });
    expect(stdout).toBe('false\n');
  });

  it('noNewPrivileges=true is what every child has', async () => {
    const script = `
      const { execFileSync, spawn } = require('node:child_process');
      const words = ['NoNewPrivs', '/proc/self/status'];
      console.log(String(execFileSync('grep', words)).trim());
      spawn('grep', words, { stdio: [0, 1, 2] });`;
    expect((await run('', script)).stdout).toBe('NoNewPrivs:\t0\nNoNewPrivs:\t0\n');
    const { stdout } = await run('noNewPrivileges=true', script);
    expect(stdout).toBe('NoNewPrivs:\t1\nNoNewPrivs:\t1\n');
  });

  it('except leaves programs to Node', async () => {
    const script = `
      const { execFileSync, spawn } = require('node:child_process');
      const words = ['/proc/self/fd/1'];
      console.log(String(execFileSync('readlink', words)).replace(/:.*/s, ''));
      console.log(String(execFileSync('/usr/bin/stat', ['-Lc', '%F', ...words])).trim());
      spawn('readlink', words).stdout.on('data', (data) => console.log(String(data).slice(0, 4)));`;
    expect((await run('', script)).stdout).toBe('pipe\nfifo\npipe\n');
    expect((await run('except=readlink,stat', script)).stdout).toBe('socket\nsocket\nsock\n');
    expect((await run('except=/usr/bin/stat', script)).stdout).toBe('pipe\nsocket\npipe\n');
  });

  it('report=stderr tells of children that were spared something, and of no others', async () => {
    const script = `
      const { spawnSync } = require('node:child_process');
      spawnSync('true');
      spawnSync('cat', { stdio: ['ignore', 'ignore', 'ignore', 'ignore'] });`;
    const line = (file: string): RegExp =>
      new RegExp(
        `sallyport: ${file} \\(pid \\d+\\) was spared what a plain spawn hands over: ` +
          '30 file /etc/hosts \\(read\\) \\(inherited at its start\\)\\n',
      );
    const { stderr } = await run('report=stderr', script, withLeak);
    expect(stderr).toMatch(line('true'));
    expect(stderr).toMatch(line('cat'));
    expect((await run('report=stderr', script)).stderr).toBe('');
    expect((await run('report=stderr;pass=30', script, withLeak)).stderr).toBe('');
  });

  it('report=<file> has a line of JSON for each child', async () => {
    const file = path.join(makeScratch(), 'report');
    const script = `require('node:child_process').spawnSync('true')`;
    await run(`report=${file}`, script, withLeak);
    const record = JSON.parse(readFileSync(file, 'utf8')) as object;
    expect(record).toEqual({
      ...{ version: 1, parent: expect.any(Number), program: expect.any(String) },
      ...{ pid: expect.any(Number), file: 'true' },
      leaks: [{ fd: 30, kind: 'file', what: 'file /etc/hosts (read)', from: 'inherited' }],
    });
  });

  it('report=<file> that cannot be written is one warning, and no failure', async () => {
    const script = `
      const { spawnSync } = require('node:child_process');
      for (let i = 0; i < 3; i++) console.log(spawnSync('true').status);`;
    const { stdout, stderr } = await run('report=/no/such/file', script, withLeak);
    expect(stdout).toBe('0\n0\n0\n');
    expect(stderr.match(/SallyportWarning: .*/g)).toEqual([
      "SallyportWarning: no child is reported in /no/such/file: ENOENT: no such file or directory, open '/no/such/file'",
    ]);
  });

  it.each([
    ['nonsense', 'SALLYPORT_REGISTER: nonsense: must be name=value'],
    ['pass=x', 'pass[0]: must be a descriptor number from 3'],
    ['pass=2', 'pass[0]: must be a descriptor number from 3'],
    ['pass=3;pass=4', 'SALLYPORT_REGISTER: pass: is there twice'],
    ['colour=red', 'options.colour: no such option'],
    ['environment=none', "environment: must be 'inherit' or 'allowlist'"],
    ['variables=HOME', "variables: needs environment: 'allowlist'"],
    ['noNewPrivileges=yes', 'SALLYPORT_REGISTER: noNewPrivileges: must be true or false'],
    ['report=here', "report: must be 'stderr' or an absolute path"],
  ])('%s is refused before the program begins', async (text, message) => {
    const { code, stdout, stderr } = await run(text, 'console.log(1)');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(message);
  });
});
