// The package as others get it: required, imported, and on a platform where it cannot run.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { beforeAll, describe, expect, it } from 'vitest';

import * as source from '../../src/index.js';
import { makeScratch, root } from '../support/fixtures.js';
import { needs } from '../support/tools.js';

const scratch = makeScratch();

function run(
  file: string,
  content: string,
  flags: string[] = [],
  env: Record<string, string> = {},
): unknown {
  const script = path.join(scratch, file);
  writeFileSync(script, content);
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, script], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  });
  if (status !== 0) throw new Error(`${file} ended with ${String(status)}: ${stderr}`);
  return JSON.parse(stdout);
}

beforeAll(() => {
  mkdirSync(path.join(scratch, 'node_modules'));
  symlinkSync(root, path.join(scratch, 'node_modules/sallyport'));
});

const names = Object.keys(source).sort();

describe('a user of the package', () => {
  it('requires it', () => {
    const seen = run(
      'use.cjs',
      `const sallyport = require('sallyport');
       sallyport.spawn('true').exited.then(({ code }) =>
         console.log(JSON.stringify({ code, names: Object.keys(sallyport).sort() })));`,
    );
    expect(seen).toEqual({ code: 0, names });
  });

  it('imports it, by name and as a whole', () => {
    const seen = run(
      'use.mjs',
      `import { spawn } from 'sallyport';
       import * as sallyport from 'sallyport';
       const { code } = await spawn('true').exited;
       const marks = ['default', '__esModule', 'module.exports'];
       const names = Object.keys(sallyport).filter((name) => !marks.includes(name)).sort();
       console.log(JSON.stringify({ code, same: spawn === sallyport.spawn, names }));`,
    );
    expect(seen).toEqual({ code: 0, same: true, names });
  });

  it('does both in one process and has one implementation', () => {
    const seen = run(
      'both.mjs',
      `import { createRequire } from 'node:module';
       import * as imported from 'sallyport';
       const required = createRequire(import.meta.url)('sallyport');
       const names = Object.keys(required);
       console.log(JSON.stringify(names.filter((name) => required[name] !== imported[name])));`,
    );
    expect(seen).toEqual([]);
  });

  it.each([
    ['sallyport', ['plan', 'launch', 'audit', 'review', 'library']],
    ['sallyport/review', ['plan', 'review']],
    ['sallyport/register', ['plan', 'launch', 'audit', 'compat']],
    ['sallyport/credentials', ['plan', 'launch', 'audit', 'review', 'library', 'credentials']],
  ])('loads for %s what that needs, and no body is read twice', (entry, rooms) => {
    const seen = run(
      'loaded.cjs',
      `const { readFileSync } = require('node:fs');
       require(${JSON.stringify(entry)});
       const files = Object.keys(require.cache).filter((file) => file !== __filename);
       console.log(JSON.stringify({
         rooms: files.flatMap((file) => /room-([a-z]+)-/.exec(file)?.[1] ?? []).sort(),
         others: files.filter((file) => /commander|zod|aws-sdk|dist.cli/.test(file)),
         // How the bundler puts off a module that something requires.
         wrapped: files.filter((file) => readFileSync(file, 'latin1').includes('__esm')),
       }));`,
    );
    expect(seen).toEqual({ rooms: rooms.sort(), others: [], wrapped: [] });
  });

  it('finds types of each entry by a resolution that knows no exports', () => {
    const { exports, typesVersions } = JSON.parse(
      readFileSync(path.join(root, 'package.json'), 'utf8'),
    ) as {
      exports: Record<string, string | { require: { types: string } }>;
      typesVersions: Record<'*', Record<string, string[]>>;
    };
    const entries = Object.entries(exports).flatMap(([name, target]) =>
      name === '.' || typeof target === 'string'
        ? []
        : [[name.replace('./', ''), [target.require.types]] as const],
    );
    expect(entries.length).toBeGreaterThan(4);
    expect(typesVersions).toEqual({ '*': Object.fromEntries(entries) });
  });

  it('loads no addon by importing it', () => {
    const seen = run(
      'lazy.cjs',
      `require('sallyport');
       console.log(JSON.stringify(require('node:fs').readFileSync('/proc/self/maps', 'latin1').includes('sallyport.node')));`,
    );
    expect(seen).toBe(false);
  });

  it('finds no global and no listener of the process changed', () => {
    const seen = run(
      'globals.cjs',
      `const before = Reflect.ownKeys(globalThis).length;
       const exit = process.listenerCount('exit');
       const { spawn } = require('sallyport');
       spawn('true').exited.then(() => console.log(JSON.stringify({
         globals: Reflect.ownKeys(globalThis).length - before,
         listeners: ['SIGCHLD', 'SIGINT', 'SIGTERM', 'uncaughtException', 'unhandledRejection']
           .map((name) => process.listenerCount(name)),
         exit: process.listenerCount('exit') - exit,
       })));`,
    );
    expect(seen).toEqual({ globals: 0, listeners: [0, 0, 0, 0, 0], exit: 0 });
  });
});

describe('where it cannot run', () => {
  const attempt = `
    const outcome = {};
    for (const [name, call] of Object.entries({
      spawn: () => sallyport.spawn('true'),
      plan: () => sallyport.planLaunch('true'),
      seal: () => sallyport.sealDescriptors(),
    })) {
      try {
        call();
        outcome[name] = 'no error';
      } catch (error) {
        outcome[name] = error.code + ': ' + error.message;
      }
    }
    console.log(JSON.stringify(outcome));`;

  it.each(['darwin', 'win32', 'freebsd'])(
    'on %s: importing works, using it says why not',
    (platform) => {
      const seen = run(
        'elsewhere.cjs',
        `Object.defineProperty(process, 'platform', { value: '${platform}' });
       const sallyport = require('sallyport');
       ${attempt}`,
      );
      for (const message of Object.values(seen as Record<string, string>)) {
        expect(message).toMatch(/^ERR_SALLYPORT_UNSUPPORTED_PLATFORM: /);
        expect(message).toContain(platform);
      }
    },
  );

  it('without a built addon: the error says how to build it', () => {
    const copy = path.join(scratch, 'bare/node_modules/sallyport');
    for (const part of ['package.json', 'dist', 'node_modules/node-gyp-build']) {
      cpSync(path.join(root, part), path.join(copy, part), { recursive: true });
    }
    const seen = run('bare/use.cjs', `const sallyport = require('sallyport'); ${attempt}`);
    for (const message of Object.values(seen as Record<string, string>)) {
      expect(message).toMatch(/^ERR_SALLYPORT_UNSUPPORTED_PLATFORM: /);
      expect(message).toContain('npm rebuild sallyport');
      // Without it, npm 12 rebuilds nothing and reports success.
      expect(message).toContain('npm install-scripts approve sallyport');
      expect(message).toContain('pnpm approve-builds');
    }
  });

  needs('user namespaces').it('on a mount with noexec: the error says so', () => {
    const folder = path.join(scratch, 'noexec');
    const copy = path.join(folder, 'node_modules/sallyport');
    for (const part of ['package.json', 'dist', 'build/Release', 'node_modules/node-gyp-build']) {
      cpSync(path.join(root, part), path.join(copy, part), { recursive: true });
    }
    writeFileSync(
      path.join(folder, 'use.cjs'),
      `const sallyport = require('sallyport'); ${attempt}`,
    );
    const script =
      'mount --bind . . && mount -o remount,bind,noexec . && cd "$PWD" && exec "$0" use.cjs';
    const { stdout, stderr } = spawnSync(
      'unshare',
      ['--user', '--map-root-user', '--mount', 'sh', '-c', script, process.execPath],
      { cwd: folder, encoding: 'utf8' },
    );
    expect(stderr).toBe('');
    for (const message of Object.values(JSON.parse(stdout) as Record<string, string>)) {
      expect(message).toMatch(/^ERR_SALLYPORT_UNSUPPORTED_PLATFORM: /);
      expect(message).toContain('on a mount without noexec');
      expect(message).not.toContain('npm rebuild');
    }
  });

  it('in a bundle: the error says to leave it out', () => {
    const folder = path.join(scratch, 'bundled');
    cpSync(path.join(root, 'dist'), path.join(folder, 'out'), { recursive: true });
    const finder = 'node_modules/node-gyp-build';
    cpSync(path.join(root, finder), path.join(folder, finder), { recursive: true });
    writeFileSync(path.join(folder, 'package.json'), '{"name":"an-application"}');
    const seen = run('bundled/use.cjs', `const sallyport = require('./out/index.js'); ${attempt}`);
    for (const message of Object.values(seen as Record<string, string>)) {
      expect(message).toMatch(/^ERR_SALLYPORT_UNSUPPORTED_PLATFORM: /);
      expect(message).toContain('leave sallyport out of the bundle');
      expect(message).not.toContain('npm rebuild');
    }
  });

  it('in a bundle of ES modules: the same', async () => {
    const file = path.join(scratch, 'bundled-modules.mjs');
    const entry = path.join(scratch, 'to-bundle.mjs');
    writeFileSync(entry, `import * as sallyport from 'sallyport'; ${attempt}`);
    const bundle = await rolldown({ input: entry, platform: 'node', logLevel: 'silent' });
    await bundle.write({ file, format: 'esm', codeSplitting: false });
    await bundle.close();
    const seen = run('use-bundled.mjs', `import './bundled-modules.mjs';`);
    for (const message of Object.values(seen as Record<string, string>)) {
      expect(message).toMatch(/^ERR_SALLYPORT_UNSUPPORTED_PLATFORM: /);
      expect(message).toContain('leave sallyport out of the bundle');
    }
  });

  it('installing on another platform builds nothing and succeeds', () => {
    const { status, stdout } = spawnSync(
      process.execPath,
      [path.join(root, 'scripts/install.js')],
      {
        encoding: 'utf8',
        env: { ...process.env, SALLYPORT_FORCE_PLATFORM: 'darwin' },
      },
    );
    expect(status).toBe(0);
    expect(stdout).toContain('darwin');
  });

  it('package.json has no os field, which would stop an install elsewhere', () => {
    const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    expect('os' in manifest).toBe(false);
    expect('cpu' in manifest).toBe(false);
    expect(existsSync(path.join(root, 'dist/index.mjs'))).toBe(true);
  });
});
