// A toolchain for binaries that run on old systems: this machine's compilers, an old C library.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

const here = import.meta.dirname;

/** By Node's names of architectures, those of compilers. */
const MACHINES = { x64: 'x86_64', arm64: 'aarch64' };

/** Where a sysroot has its libraries. */
const LIBRARIES = ['usr/lib64', 'lib64'];

function call(program, args, input = '') {
  const result = spawnSync(program, args, { encoding: 'utf8', input, maxBuffer: 2 ** 26 });
  if (result.error) {
    throw new Error(`${program}: ${result.error.message} (.ci/run names the Debian packages)`);
  }
  if (result.status !== 0) throw new Error(`${program} ${args.join(' ')}: ${result.stderr}`);
  return result;
}

/** Directory of the kernel's headers, as this compiler finds `header`. */
function findKernelHeaders(compiler, header) {
  const { stdout } = call(compiler, ['-E', '-M', '-x', 'c', '-'], `#include <${header}>\n`);
  const found = stdout.split(/[\s\\]+/).find((file) => file.endsWith(`/${header}`));
  if (found === undefined) throw new Error(`${compiler} finds no <${header}>`);
  return path.dirname(found);
}

/** <bits/syscall.h>: a SYS_ name for each system call that the kernel's headers know. */
function listSystemCalls(compiler) {
  const { stdout } = call(compiler, ['-E', '-dM', '-x', 'c', '-'], '#include <asm/unistd.h>\n');
  const names = [...stdout.matchAll(/^#define __NR_(\w+) /gm)].map(([, name]) => name);
  return names.map((name) => `#define SYS_${name} __NR_${name}\n`).join('');
}

/** What the kernel can do is found out at run time, so that the newest headers serve. */
function replaceKernelHeaders(compiler, include) {
  for (const header of ['linux/version.h', 'asm/unistd.h', 'asm-generic/errno.h']) {
    const folder = path.join(include, path.dirname(header));
    rmSync(folder, { recursive: true, force: true });
    symlinkSync(findKernelHeaders(compiler, header), folder);
  }
  writeFileSync(path.join(include, 'bits/syscall.h'), listSystemCalls(compiler));
}

/** The libraries of GCC 4.8: the linker would take them before the compiler's own. */
function removeOldCompiler(sysroot) {
  for (const folder of LIBRARIES.map((name) => path.join(sysroot, name))) {
    for (const file of readdirSync(folder)) {
      if (/^lib(stdc|sup|gcc_|atomic)/.test(file)) rmSync(path.join(folder, file));
    }
  }
}

/** Into the part of the C library that is linked in, where the linker looks last. */
function addMissing(prefix, sysroot) {
  const object = path.join(sysroot, 'missing.o');
  const flags = ['-c', '-O2', '-fPIC', '-Wall', '-Wextra'];
  call(`${prefix}gcc`, [...flags, path.join(here, 'missing.c'), '-o', object]);
  call(`${prefix}ar`, ['r', path.join(sysroot, 'usr/lib64/libc_nonshared.a'), object]);
}

/** glibc 2.17. The compiler in the same archive, GCC 4.8, knows no C++17 and stays there. */
function unpackSysroot(architecture, prefix) {
  const sysroot = path.join(here, 'sysroots', architecture);
  if (existsSync(sysroot)) return sysroot;
  const machine = MACHINES[architecture];
  const name = `${machine}-unknown-linux-gnu`;
  const folder = `node_modules/@napi-rs/cross-toolchain-x64-target-${machine}`;
  const archive = path.join(here, folder, `${name}.tar.xz`);
  if (!existsSync(archive)) throw new Error('no C library; run npm run prebuilds:tools first');
  // Whole or not at all: an interrupted run leaves nothing that looks finished.
  const unfinished = `${sysroot}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  const part = `./${name}/sysroot`;
  call('tar', ['-xJf', archive, '-C', unfinished, '--strip-components=3', part]);
  replaceKernelHeaders(`${prefix}gcc`, path.join(unfinished, 'usr/include'));
  removeOldCompiler(unfinished);
  addMissing(prefix, unfinished);
  renameSync(unfinished, sysroot);
  return sysroot;
}

/** Where the compiler's own headers are: those of C++, and those of the compiler itself. */
function listOwnHeaders(compiler, language) {
  const { stderr } = call(compiler, ['-E', '-v', '-x', language, '-']);
  const lines = stderr.slice(stderr.indexOf('> search starts here:')).split('\n').slice(1);
  const directories = lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith(' ')),
  );
  return directories
    .map((line) => path.resolve(line.trim()))
    .filter((directory) => /\/c\+\+(\/|$)|\/gcc(-cross)?\//.test(directory));
}

/**
 * @param {'x64' | 'arm64'} architecture
 * @returns {{ env: Record<string, string>, strip: string, sysroot: string }} `env`: what makes node-gyp
 *   use it. `strip`: the program. `sysroot`: the folder that has the old C library as a system would
 * @throws {Error} where a part is not installed
 */
export function toolchain(architecture) {
  // As Debian names its compilers.
  const prefix = `${MACHINES[architecture]}-linux-gnu-`;
  const sysroot = unpackSysroot(architecture, prefix);
  const libraries = LIBRARIES.map((folder) => path.join(sysroot, folder));
  const command = (name, language, ...flags) =>
    [
      prefix + name,
      `--sysroot=${sysroot}`,
      '-nostdinc',
      ...[...listOwnHeaders(prefix + name, language), path.join(sysroot, 'usr/include')].map(
        (directory) => `-isystem ${directory}`,
      ),
      // Ahead of the compiler's own, which hold the C library that it came with.
      ...libraries.map((folder) => `-B${folder} -L${folder}`),
      ...flags,
    ].join(' ');
  const forCxx = ['-include', path.join(here, 'old-libc.h'), '-static-libgcc', '-static-libstdc++'];
  return {
    env: {
      CC: command('gcc', 'c'),
      CXX: command('g++', 'c++', ...forCxx),
      AR: `${prefix}ar`,
    },
    strip: `${prefix}strip`,
    sysroot,
  };
}
