// install() and uninstall(): what is replaced, and that Node's own functions come back exactly.
import { cpSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { inNode } from '../support/node-script.js';
import { register, runNode } from '../support/programs.js';
import { onEachNode } from '../support/runtimes.js';
import { makeScratch, root } from '../support/fixtures.js';

const library = JSON.stringify(`${root}/dist/register.js`);

/** Prints what lies below child_process: the property's whole descriptor and its owner's other keys. */
const LOOK = `
const child_process = require('node:child_process');
const handle = Object.getPrototypeOf(new child_process.ChildProcess()._handle);
const sync = process.binding('spawn_sync');
const look = () => [handle, sync].map((owner) => [
  Object.getOwnPropertyDescriptor(owner, 'spawn'), Reflect.ownKeys(owner),
]);
const functions = () => Object.entries(child_process).concat(
  Reflect.ownKeys(child_process.ChildProcess.prototype)
    .map((key) => [key, child_process.ChildProcess.prototype[key]]));
const isSame = (a, b) => {
  try { require('node:assert').deepStrictEqual(a, b); return true; } catch { return false; }
};`;

onEachNode((node) => {
  it('uninstall() restores the original functions exactly', async () => {
    const script = `${LOOK}
      process.env.SALLYPORT_REGISTER = 'no such option';
      const before = [look(), functions()];
      let refused;
      try { require(${library}); } catch (error) { refused = error.code; }
      const afterRefusal = isSame(before, [look(), functions()]);
      delete process.env.SALLYPORT_REGISTER;
      const { install, uninstall } = require(${library});
      const installed = look().map(([{ value }]) => value);
      const changed = installed.every((value, i) => value !== before[0][i][0].value);
      const others = isSame(before[1], functions());
      install({ noNewPrivileges: false });
      uninstall();
      uninstall();
      const after = isSame(before, [look(), functions()]);
      const identical = look().every(([{ value }], i) => value === before[0][i][0].value);
      const { status } = child_process.spawnSync('true');
      install();
      uninstall();
      console.log(JSON.stringify([refused, afterRefusal, changed, others, after, identical, status,
        isSame(before, [look(), functions()])]));`;
    const { stdout, stderr } = await runNode(node, ['-e', script]);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual([
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      ...[true, true, true, true, true, 0, true],
    ]);
  });

  it('serves where coverage is collected, which Node adds to every environment', async () => {
    const env = { NODE_V8_COVERAGE: makeScratch() };
    const script = `
      const child_process = require('node:child_process');
      const see = (text) => console.log(String(text).slice(0, 5));
      see(child_process.execFileSync('readlink', ['/proc/self/fd/1'], { env: {} }));
      child_process.execFile('readlink', ['/proc/self/fd/1'], { env: {} }, (error, text) => see(text));`;
    const { stdout, stderr } = await runNode(node, ['--require', register, '-e', script], { env });
    expect([stderr, stdout]).toEqual(['', 'pipe:\npipe:\n']);
  });

  it('children that run when it is uninstalled go on', async () => {
    const script = `
      const { uninstall } = require(${library});
      const child = require('node:child_process').spawn('cat');
      uninstall();
      child.stdout.on('data', (data) => { console.log(String(data)); console.log(child.kill()); });
      child.on('close', (...ending) => console.log(...ending));
      child.stdin.write('through');`;
    const { stdout } = await runNode(node, ['-e', script]);
    expect(stdout).toBe('through\ntrue\nnull SIGTERM\n');
  });

  it('sallyport/child_process serves its importers and changes nothing', async () => {
    const script = `${LOOK}
      const before = [look(), functions()];
      const own = require(${JSON.stringify(`${root}/dist/child_process.js`)});
      const during = [];
      require('node:diagnostics_channel').subscribe('child_process', () => during.push(look()));
      const { stdout } = own.spawnSync('readlink', ['/proc/self/fd/1'], { encoding: 'utf8' });
      own.exec('readlink /proc/self/fd/1', (error, text) => {
        const plain = child_process.spawn('readlink', ['/proc/self/fd/1']);
        plain.stdout.on('data', (data) => console.log(JSON.stringify([
          stdout.slice(0, 5), text.slice(0, 5), String(data).slice(0, 7),
          during.length > 0 && isSame(before, [look(), functions()]),
          plain instanceof own.ChildProcess,
          Object.keys(own).sort().join() === Object.keys(child_process).filter((n) => n[0] !== '_').sort().join(),
          own.exec.name, own.exec.length,
        ])));
      });`;
    const { stdout, stderr } = await runNode(node, ['-e', script]);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual([
      ...['pipe:', 'pipe:', 'socket:', true, true, true, 'exec'],
      expect.any(Number),
    ]);
  });
});

it('sallyport/child_process puts back what was there: in a call within a call, and of others', async () => {
  const script = `${LOOK}
    const own = require(${JSON.stringify(`${root}/dist/child_process.js`)});
    own.spawnSync('true');
    const theirs = (...words) => original.apply(sync, words);
    const original = sync.spawn;
    const options = { encoding: 'utf8', get cwd() { own.spawnSync('true'); return '/'; } };
    const { stdout } = own.spawnSync('readlink', ['/proc/self/fd/1'], options);
    sync.spawn = theirs;
    own.spawnSync('true');
    console.log(stdout.slice(0, 5), sync.spawn === theirs);`;
  const { stdout, stderr } = await runNode(process.execPath, ['-e', script]);
  expect([stderr, stdout]).toEqual(['', 'pipe: true\n']);
});

it('two copies of the package with one addon both hear of their children', async () => {
  const copy = makeScratch();
  cpSync(path.join(root, 'dist'), path.join(copy, 'dist'), { recursive: true });
  for (const name of ['build', 'node_modules', 'package.json']) {
    symlinkSync(path.join(root, name), path.join(copy, name));
  }
  const script = `
    require(${library});
    const { spawn } = require(${JSON.stringify(`${copy}/dist/index.js`)});
    const heard = [];
    const end = (name) => (code) => heard.push(name + code) === 2 && console.log(heard.sort().join());
    spawn('sh', ['-c', 'exit 3']).on('close', end('copy'));
    require('node:child_process').spawn('sh', ['-c', 'exit 4']).on('close', end('registered'));`;
  const { stdout, stderr } = await runNode(process.execPath, ['-e', script]);
  expect([stderr, stdout]).toEqual(['', 'copy3,registered4\n']);
});

describe('install()', () => {
  it.each([
    ['handle', 'somebody else has replaced'],
    ['sync', 'somebody else has replaced'],
  ])('refuses where something else stands in the place: %s', async (which, message) => {
    const refusals = await inNode(({ require, root }, name) => {
      const { ChildProcess } = require('node:child_process') as typeof import('child_process');
      const child = new ChildProcess() as unknown as { _handle: object };
      const owners: Record<string, { spawn?: unknown }> = {
        handle: Object.getPrototypeOf(child._handle) as object,
        sync: (process as unknown as { binding(name: string): object }).binding('spawn_sync'),
      };
      const owner = owners[name]!;
      const { install, uninstall } = require(
        `${root}/dist/register.js`,
      ) as typeof import('../../src/register.js');
      const ours = owner.spawn;
      const theirs = (): void => undefined;
      owner.spawn = theirs;
      const seen: string[] = [];
      for (const call of [uninstall, install]) {
        try {
          call();
        } catch (error) {
          seen.push(`${(error as { code: string }).code}: ${(error as Error).message}`);
        }
      }
      seen.push(String(owner.spawn === theirs));
      owner.spawn = ours;
      uninstall();
      return seen;
    }, which);
    expect(refusals).toEqual([
      expect.stringContaining(message),
      expect.stringContaining(message),
      'true',
    ]);
    expect(refusals[0]).toMatch(/^ERR_SALLYPORT_CANNOT_INSTALL: /);
  });

  it.each([
    [
      'a handle that is called otherwise',
      'prototype.spawn = function () { this._handle.spawn(1); }',
    ],
    ['no handle', 'delete prototype.spawn'],
  ])('refuses a Node that is built otherwise: %s', async (_, change) => {
    const script = `${LOOK}
      const prototype = child_process.ChildProcess.prototype;
      const original = prototype.spawn;
      ${change};
      const before = look();
      try { require(${library}); } catch (error) { console.log(error.code, error.message); }
      console.log(isSame(before, look()));`;
    const { stdout } = await runNode(process.execPath, ['-e', script]);
    expect(stdout).toMatch(
      /^ERR_SALLYPORT_CANNOT_INSTALL child_process cannot be replaced in Node /,
    );
    expect(stdout).toMatch(/nothing was changed\ntrue\n$/);
  });

  it('refuses a spawnSync that calls its binding otherwise', async () => {
    const script = `${LOOK}
      child_process.spawnSync = () => sync.spawn({ file: 'x' });
      const before = look();
      try { require(${library}); } catch (error) { console.log(error.code); }
      console.log(isSame(before, look()));`;
    const { stdout } = await runNode(process.execPath, ['-e', script]);
    expect(stdout).toBe('ERR_SALLYPORT_CANNOT_INSTALL\ntrue\n');
  });
});
