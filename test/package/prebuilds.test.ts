// What is shipped: which files, in which modes, and what the binaries ask of a system.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

import {
  ADDON,
  ARCHITECTURES,
  checkPrebuilds,
  highestGlibc,
  judgeAddon,
  OLDEST_GLIBC,
  PROGRAMS,
} from '../../scripts/prebuild/check.mjs';
import { readElf } from '../../scripts/prebuild/elf.mjs';
import { toolchain } from '../../scripts/prebuild/toolchain.mjs';
import { makeScratch, root } from '../support/fixtures.js';
import { needs } from '../support/tools.js';
import { pack } from './bare-machine.js';

const prebuilds = path.join(root, 'prebuilds');
const readAddon = (architecture: string) =>
  readElf(readFileSync(path.join(prebuilds, `linux-${architecture}`, ADDON)));

/** Functions of Node may be absent until they are called: the addon is opened, and not used. */
const OPENER = `
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* const addon = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : NULL;
  if (addon == NULL) return 1;
  void* const entry = dlsym(addon, "napi_register_module_v1");
  printf("%s: %s\\n", gnu_get_libc_version(), entry == NULL ? "no module" : "a module");
  return 0;
}`;

/** A library made here, and so with the C library of this system. */
function compile(source: string, ...flags: string[]): ReturnType<typeof readElf> {
  const file = path.join(makeScratch(), 'made.so');
  execFileSync('cc', ['-shared', '-fPIC', '-x', 'c', '-', ...flags, '-o', file], { input: source });
  return readElf(readFileSync(file));
}

describe('the check of a binary', () => {
  // By its name, so that it does not matter how new the C library here is.
  const NEWER = `__asm__(".symver tomorrow, tomorrow@GLIBC_2.99");
    void tomorrow(void); void today(void) { tomorrow(); }`;

  it('sees that a newer C library is needed', () => {
    const folder = makeScratch();
    const map = path.join(folder, 'map');
    writeFileSync(map, 'GLIBC_2.99 { global: tomorrow; local: *; };');
    const library = path.join(folder, 'libtomorrow.so');
    const flags = [
      '-shared',
      '-fPIC',
      `-Wl,--version-script=${map}`,
      '-x',
      'c',
      '-',
      '-o',
      library,
    ];
    execFileSync('cc', flags, { input: 'void tomorrow(void) {}' });
    const elf = compile(NEWER, '-x', 'none', library);
    expect(highestGlibc(elf)).toBe('2.99');
    expect(judgeAddon(elf)).toContain('it needs glibc 2.99');
  });

  it('sees a function that no library is known to have', () => {
    const elf = compile('void novel(void); void use(void) { novel(); }');
    expect(elf.unversioned).toEqual(['novel']);
    expect(judgeAddon(elf)).toContain('nothing is known to have novel');
  });

  it('sees that a shared C++ library is needed', () => {
    const elf = compile('extern int _ZSt4cout; void* use(void) { return &_ZSt4cout; }', '-lstdc++');
    expect(judgeAddon(elf).join()).toContain('GLIBCXX_3.4');
  });

  it('compares versions by their numbers', () => {
    const versions = ['GLIBC_2.9', 'GLIBC_2.17', 'GLIBC_2.2.5', 'GLIBC_PRIVATE', 'GLIBCXX_3.4'];
    expect(highestGlibc({ versions, machine: 'x64', isDynamic: true, unversioned: [] })).toBe(
      '2.17',
    );
  });

  it('sees what is missing, for another machine, or of another mode', () => {
    const folder = makeScratch();
    for (const architecture of ARCHITECTURES) {
      mkdirSync(path.join(folder, `linux-${architecture}`));
      for (const name of [ADDON, ...PROGRAMS]) {
        const file = path.join(folder, `linux-${architecture}`, name);
        cpSync('/bin/sh', file, { dereference: true });
        chmodSync(file, 0o644);
      }
    }
    const problems = checkPrebuilds(folder).join('\n');
    expect(problems).toContain('linux-x64/sallyport-launcher: it needs a loader');
    expect(problems).toContain('linux-x64/sallyport-probe: its mode is not 755');
    expect(problems).toMatch(/linux-(x64|arm64)\/.*: it is for (x64|arm64)/);
    expect(checkPrebuilds(makeScratch()).join()).toContain('ENOENT');
  });
});

needs('npm run prebuilds').describe('prebuilds/', () => {
  it('is whole, and needs nothing that Node does not have', () => {
    expect(checkPrebuilds(prebuilds)).toEqual([]);
  });

  it.each(ARCHITECTURES)(`asks for no glibc after ${OLDEST_GLIBC} on %s`, (architecture) => {
    const elf = readAddon(architecture);
    // As binutils read it, of which nothing is ours.
    const file = path.join(prebuilds, `linux-${architecture}`, ADDON);
    const { stdout } = spawnSync('objdump', ['-p', file], { encoding: 'utf8' });
    const versions = stdout.match(/GLIBC_[\d.]+/g) ?? [];
    expect([...new Set(versions)].sort()).toEqual(elf.versions.sort());
    expect(highestGlibc(elf)).toBe('2.17');
  });

  it('is loaded by glibc 2.17, older than any that is promised', () => {
    const { env, sysroot } = toolchain('x64');
    const folder = makeScratch();
    const source = path.join(folder, 'open.c');
    writeFileSync(source, OPENER);
    const opener = path.join(folder, 'open');
    execFileSync('sh', ['-c', `${env['CC'] ?? ''} ${source} -o ${opener} -ldl -lpthread`]);
    const loader = path.join(sysroot, 'lib64/ld-linux-x86-64.so.2');
    const open = (file: string) =>
      spawnSync(loader, ['--library-path', path.join(sysroot, 'lib64'), opener, file], {
        encoding: 'utf8',
      });
    expect(open(path.join(prebuilds, 'linux-x64', ADDON)).stdout).toBe('2.17: a module\n');
    // What was linked with the C library of this machine is refused.
    expect(open(path.join(root, 'build/Release/sallyport.node')).status).not.toBe(0);
  });

  it.each(ARCHITECTURES)('exports only what Node looks for on %s', (architecture) => {
    const file = path.join(prebuilds, `linux-${architecture}`, ADDON);
    const { stdout } = spawnSync('readelf', ['-W', '--dyn-syms', file], { encoding: 'utf8' });
    const exported = stdout
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , , binding, , section]) => binding === 'GLOBAL' && section !== 'UND')
      .map((columns) => columns.at(-1));
    expect(exported.sort()).toEqual([
      'napi_register_module_v1',
      'node_api_module_get_api_version_v1',
    ]);
  });
});

needs('npm', 'npm run prebuilds').describe('the tarball', () => {
  let lines: string[][];

  beforeAll(async () => {
    const tarball = await pack(root, makeScratch());
    const { stdout } = spawnSync('tar', ['-tvzf', tarball], { encoding: 'utf8' });
    lines = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/));
  }, 60_000);

  it('has the programs with their modes', () => {
    const executable = lines
      .filter(([mode]) => mode?.includes('x'))
      .map(([mode, , , , , name]) => `${mode ?? ''} ${name ?? ''}`);
    const folder = (architecture: string) => `package/prebuilds/linux-${architecture}`;
    expect(executable.sort()).toEqual(
      [
        'package/dist/cli/main.js',
        ...ARCHITECTURES.flatMap((architecture) =>
          [ADDON, ...PROGRAMS].map((name) => `${folder(architecture)}/${name}`),
        ),
      ]
        .map((name) => `-rwxr-xr-x ${name}`)
        .sort(),
    );
  });

  it('has what is needed and nothing else', () => {
    const wanted = [
      /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md|binding\.gyp)$/,
      /^dist\/[^.]+(\.d)?\.[cm]?[jt]s$/,
      /^native\/[a-z_]*sources\.txt$/,
      /^native\/(binding|core|launcher|probe)\/\w+\.(c|cc|h)$/,
      /^scripts\/(install|node-headers)\.js$/,
      /^prebuilds\/linux-(x64|arm64)\/(node\.napi\.glibc\.node|sallyport-(launcher|probe))$/,
      /^schema\/[\w.-]+\.json$/,
      /^man\/sallyport\.1$/,
      /^docs\/[\w/.-]+$/,
      /^examples\//,
    ];
    const names = lines.map((columns) => columns.at(-1)?.replace('package/', '') ?? '');
    expect(names.filter((name) => !wanted.some((pattern) => pattern.test(name)))).toEqual([]);
    // Each has its use: what no file matches any more has to leave the list.
    expect(wanted.filter((pattern) => !names.some((name) => pattern.test(name)))).toEqual([]);
    expect(names.filter((name) => /\.(d\.)?[cm]?ts$/.test(name) && !/\.d\./.test(name))).toEqual(
      [],
    );
  });
});
