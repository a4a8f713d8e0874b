'use strict';
// The package's install step: a prebuilt addon that works is kept, otherwise node-gyp compiles one.

const { spawnSync } = require('node:child_process');
const { chmodSync } = require('node:fs');
const path = require('node:path');

const { environment } = require('./node-headers.js');

const root = path.join(__dirname, '..');
const finder = require.resolve('node-gyp-build');

// The variable lets a test on Linux see what a colleague's laptop does.
const platform = process.env.SALLYPORT_FORCE_PLATFORM || process.platform;

if (platform !== 'linux') {
  // Not an error: a project that deploys to Linux is also installed on laptops.
  console.log(`sallyport: nothing to build on ${platform}; importing works, using it throws.`);
  process.exit(0);
}

/** Directory of an addon that can be loaded here. Tried, not told from its name, as musl is. */
function findWorking() {
  // In a process of its own: what fits badly may take it along.
  const script =
    'const [, finder, root] = process.argv; const find = require(finder);' +
    'find(root); process.stdout.write(find.resolve(root));';
  const { status, stdout } = spawnSync(process.execPath, ['-e', script, finder, root], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 ? path.dirname(stdout) : undefined;
}

/** Whether `npm install --build-from-source`, with or without our name, asks for it. */
function wantsSource() {
  const asked = process.env.npm_config_build_from_source;
  return asked === 'true' || asked === '' || (asked ?? '').split(',').includes('sallyport');
}

/** Some ways to copy or pack a package lose the modes. Best effort: src/native.ts tries it as well. */
function allowExecution(directory) {
  for (const program of ['sallyport-launcher', 'sallyport-probe']) {
    try {
      chmodSync(path.join(directory, program), 0o755);
    } catch (error) {
      console.error(`sallyport: ${program} may not be executable: ${error.message}`);
    }
  }
}

const working = wantsSource() ? undefined : findWorking();
if (working !== undefined) {
  allowExecution(working);
  process.exit(0);
}

// It finds node-gyp: one that is installed, or the package manager's.
const builder = path.join(path.dirname(finder), 'bin.js');
const result = spawnSync(process.execPath, [builder], {
  cwd: root,
  env: { ...environment(), npm_config_build_from_source: 'true' },
  stdio: 'inherit',
});

if (result.status !== 0) {
  console.error(
    'sallyport: no prebuilt addon works here, and none was built. Compiling it needs python3, make, ' +
      'a C++17 compiler (g++ or clang++) and the headers of Node; the reason is in the lines above.',
  );
  process.exit(result.status ?? 1);
}
