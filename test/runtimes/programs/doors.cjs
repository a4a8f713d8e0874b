'use strict';
// The drop-in for child_process. Beside a careless native library.
const { observe } = require('./observe.cjs');

const storm = require(process.env.STORM);
const leak = storm.openInheritable('/etc/hosts');
const LOOK = ['-c', `test -e /proc/self/fd/${leak} && echo leaks || echo clean`];

const codeOf = (call) => {
  try {
    call();
    return 'works';
  } catch (error) {
    return [error.name, error.code, error.message.includes(process.env.RUNTIME)];
  }
};

observe({
  plain: () =>
    require('node:child_process').spawnSync('sh', LOOK, { encoding: 'utf8' }).stdout.trim(),
  module: () =>
    codeOf(() => {
      const { stdout } = require('sallyport/child_process').spawnSync('sh', LOOK, {
        encoding: 'utf8',
      });
      if (stdout !== 'clean\n') throw new Error(stdout);
    }),
  register: () => codeOf(() => require('sallyport/register')),
  registered: () =>
    require('node:child_process').spawnSync('sh', LOOK, { encoding: 'utf8' }).stdout.trim(),
});
