'use strict';
// The package's install step: a fitting prebuilt addon is kept, otherwise node-gyp compiles one.

const { spawnSync } = require('node:child_process');
const path = require('node:path');

const { environment } = require('./node-headers.js');

// The variable lets a test on Linux see what a colleague's laptop does.
const platform = process.env.SALLYPORT_FORCE_PLATFORM || process.platform;

if (platform !== 'linux') {
  // Not an error: a project that deploys to Linux is also installed on laptops.
  console.log(`sallyport: nothing to build on ${platform}; importing works, using it throws.`);
  process.exit(0);
}

const result = spawnSync(process.execPath, [require.resolve('node-gyp-build/bin.js')], {
  cwd: path.join(__dirname, '..'),
  env: environment(),
  stdio: 'inherit',
});

if (result.status !== 0) {
  console.error(
    'sallyport: the native addon was not built. Compiling it needs python3, make, a C++17 ' +
      'compiler (g++ or clang++) and the headers of Node; the reason is in the lines above.',
  );
  process.exit(result.status ?? 1);
}
