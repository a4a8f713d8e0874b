'use strict';
// Hands one open file to a child, under a number of its own, and says what it must be.
const { openSync, closeSync } = require('node:fs');
const { spawn, SallyportError } = require('sallyport');

const fd = openSync(__filename, 'r');
const child = spawn('head', ['-n', '2', '/dev/fd/3'], {
  stdio: ['null', 'inherit', 'inherit'],
  pass: [{ fd, as: 3, expect: { kind: 'file', access: 'read', path: __filename } }],
});
// The child has its own copy since spawn returned.
closeSync(fd);

// An expectation that does not hold is refused before anything starts.
const wrong = openSync('/dev/null', 'r');
try {
  spawn('head', ['/dev/fd/3'], {
    pass: [{ fd: wrong, as: 3, expect: { kind: 'file', access: 'read' } }],
  });
} catch (error) {
  if (!(error instanceof SallyportError)) throw error;
  console.log(`refused: ${error.message}`);
} finally {
  closeSync(wrong);
}

child.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
