// Makes prebuilds/: for each architecture the addon, the launcher and the probe, for glibc 2.28 on.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';

import { environment } from '../node-headers.js';
import { root, run } from '../tools.mjs';
import { ADDON, ARCHITECTURES, checkPrebuilds, PROGRAMS } from './check.mjs';
import { toolchain } from './toolchain.mjs';

const here = import.meta.dirname;

/** node-gyp builds in its working directory: build/ of the project, which tests use, is left alone. */
function makeStage(architecture) {
  const folder = path.join(here, 'stage', architecture);
  mkdirSync(folder, { recursive: true });
  for (const part of ['binding.gyp', 'native', 'package.json', 'node_modules']) {
    const link = path.join(folder, part);
    if (!existsSync(link)) symlinkSync(path.join(root, part), link);
  }
  return folder;
}

/** @returns where what was built is */
function compile(architecture, env) {
  const folder = makeStage(architecture);
  const nodeGyp = path.join(root, 'node_modules/node-gyp/bin/node-gyp.js');
  const args = ['configure', 'build', `--arch=${architecture}`, '--loglevel=warn', '--jobs=2'];
  // Of a static library only what is used: the rest asks for functions that old systems lack.
  const flags = ['--gc-sections', `--version-script=${path.join(here, 'exports.map')}`];
  const { status } = spawnSync(process.execPath, [nodeGyp, ...args], {
    cwd: folder,
    stdio: 'inherit',
    env: { ...environment(), ...env, LDFLAGS: flags.map((flag) => `-Wl,${flag}`).join(' ') },
  });
  if (status !== 0) throw new Error(`node-gyp for ${architecture} ended with ${status}`);
  return path.join(folder, 'build/Release');
}

/** Whole or not at all: an interrupted run leaves nothing that looks finished. */
function collect(architecture, built, strip) {
  const target = path.join(root, 'prebuilds', `linux-${architecture}`);
  const unfinished = `${target}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  for (const name of [ADDON, ...PROGRAMS]) {
    const file = path.join(unfinished, name);
    cpSync(path.join(built, name === ADDON ? 'sallyport.node' : name), file);
    // npm packs the modes that it finds: they must not depend on this machine's umask.
    chmodSync(file, 0o755);
    if (!run(strip, ['--strip-all', file])) throw new Error(`${strip} failed on ${file}`);
  }
  rmSync(target, { recursive: true, force: true });
  renameSync(unfinished, target);
}

try {
  for (const architecture of ARCHITECTURES) {
    const { env, strip } = toolchain(architecture);
    collect(architecture, compile(architecture, env), strip);
  }
} catch (error) {
  console.error(`prebuilds: ${error.message}`);
  process.exit(1);
}
const problems = checkPrebuilds(path.join(root, 'prebuilds'));
for (const problem of problems) console.error(`prebuilds: ${problem}`);
process.exitCode = problems.length === 0 ? 0 : 1;
