// Whether what is in prebuilds/ is whole, and runs on the oldest system that is promised.
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';

import { readElf } from './elf.mjs';

/** The oldest glibc that Node 20 runs on. */
export const OLDEST_GLIBC = '2.28';

/** node-gyp-build reads the tags: any Node with Node-API, glibc only. */
export const ADDON = 'node.napi.glibc.node';

export const ARCHITECTURES = ['x64', 'arm64'];
export const PROGRAMS = ['sallyport-launcher', 'sallyport-probe'];

/** Below 0 where `left` is the older. */
function compareVersions(left, right) {
  const [a, b] = [left, right].map((text) => text.split('.').map(Number));
  const at = a.findIndex((part, index) => part !== (b[index] ?? 0));
  return at < 0 ? a.length - b.length : a[at] - (b[at] ?? 0);
}

/**
 * @param {ReturnType<typeof readElf>} elf
 * @returns {string | undefined} the highest version of glibc that it needs: `2.17`
 */
export function highestGlibc({ versions }) {
  return versions
    .filter((version) => /^GLIBC_\d/.test(version))
    .map((version) => version.slice('GLIBC_'.length))
    .sort(compareVersions)
    .at(-1);
}

/**
 * @param {ReturnType<typeof readElf>} elf
 * @returns {string[]} what keeps the addon from being loaded somewhere; empty: nothing
 */
export function judgeAddon(elf) {
  const problems = [];
  const highest = highestGlibc(elf);
  if (highest === undefined) problems.push('it names no version of glibc');
  else if (compareVersions(highest, OLDEST_GLIBC) > 0) problems.push(`it needs glibc ${highest}`);
  const others = elf.versions.filter((version) => !/^GLIBC_\d/.test(version));
  if (others.length > 0) problems.push(`it needs ${others.join(', ')}`);
  // Node has these. Anything else is a function that the C library linked with did not have.
  const unknown = elf.unversioned.filter((name) => !/^(napi|node_api)_/.test(name));
  if (unknown.length > 0) problems.push(`nothing is known to have ${unknown.join(', ')}`);
  return problems;
}

/**
 * @param {string} folder prebuilds/
 * @returns {string[]} what is wrong with it, one line each; empty: nothing
 */
export function checkPrebuilds(folder) {
  const problems = [];
  for (const architecture of ARCHITECTURES) {
    for (const name of [ADDON, ...PROGRAMS]) {
      const file = path.join(folder, `linux-${architecture}`, name);
      const say = (problem) => problems.push(`linux-${architecture}/${name}: ${problem}`);
      try {
        const elf = readElf(readFileSync(file));
        if (elf.machine !== architecture) say(`it is for ${elf.machine}`);
        if (name === ADDON) judgeAddon(elf).forEach(say);
        else if (elf.isDynamic) say('it needs a loader');
        if ((statSync(file).mode & 0o777) !== 0o755) say('its mode is not 755');
      } catch (error) {
        say(error.message);
      }
    }
  }
  return problems;
}
