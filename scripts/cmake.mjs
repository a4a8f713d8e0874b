// Configures and builds the developer builds, each in a folder of its own and always with the same
// settings, so that the lint and the native tests do not undo each other's work.
import { isInstalled, runNode } from './tools.mjs';

/** @typedef {{ folder: string, sanitize: string, tests?: string[] }} Build */

/** @type {Build} */
export const developerBuild = {
  folder: 'build-cmake',
  sanitize: process.env.SALLYPORT_SANITIZE ?? 'address,undefined',
};

/** @param {Build} build */
function cmakeJs(command, { folder, sanitize, tests = ['all'] }, ...args) {
  return runNode(
    'node_modules/cmake-js/bin/cmake-js',
    command,
    `--out=${folder}`,
    '--config=RelWithDebInfo',
    '--log-level=warn',
    `--CDSALLYPORT_SANITIZE=${sanitize}`,
    `--CDSALLYPORT_TESTS=${tests.join(';')}`,
    ...args,
  );
}

/** Writes compile_commands.json into the build's folder, among others. */
export function configure(build = developerBuild) {
  return isInstalled('cmake') && cmakeJs('configure', build);
}

/** Builds one target of the build, or all. */
export function build(which = developerBuild, target = 'all') {
  return configure(which) && cmakeJs('build', which, `--target=${target}`, '--parallel=2');
}
