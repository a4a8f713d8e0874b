// Configures and builds the developer build in build-cmake/, always with the same settings, so
// that the lint and the native tests do not undo each other's work.
import { isInstalled, runNode } from './tools.mjs';

const settings = ['--out=build-cmake', '--config=RelWithDebInfo', '--log-level=warn'];
const sanitize = `--CDSALLYPORT_SANITIZE=${process.env.SALLYPORT_SANITIZE ?? 'address,undefined'}`;

function cmakeJs(command, ...args) {
  return runNode('node_modules/cmake-js/bin/cmake-js', command, ...settings, sanitize, ...args);
}

/** Writes build-cmake/compile_commands.json, among others. */
export function configure() {
  return isInstalled('cmake') && cmakeJs('configure');
}

export function build() {
  return configure() && cmakeJs('build', '--parallel=2');
}
