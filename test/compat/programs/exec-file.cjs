// execFile: callback, promise, and everything that an error holds.
const { execFile } = require('node:child_process');
const { promisify } = require('node:util');

const show = (error) => error && { ...error, message: error.message, name: error.name };

function run(name, ...words) {
  return new Promise((resolve) => {
    execFile(...words, (error, stdout, stderr) => {
      console.log(name, show(error), stdout, stderr);
      resolve();
    });
  });
}

(async () => {
  await run('success', 'echo', ['a b', '$HOME', '"']);
  await run('no arguments', 'true');
  await run('failure', 'sh', ['-c', 'echo no >&2; exit 9']);
  await run('missing', 'no-such-program-anywhere', ['a']);
  await run('denied', '/etc/hosts', []);
  await run('shell', 'echo $((1+2))', [], { shell: true });
  await run('timeout', 'sleep', ['20'], { timeout: 50 });
  await run('maxBuffer', 'sh', ['-c', 'echo 12345678901234567890'], { maxBuffer: 5 });
  await run('input closed', 'sh', ['-c', 'exit 1']);
  console.log(await promisify(execFile)('echo', ['promised']));
  console.log(show(await promisify(execFile)('false').catch((error) => error)));
  const child = execFile('cat', (error, stdout) => console.log(error, stdout));
  child.stdin.end('through cat');
  try {
    execFile('x', {}, {}, 'no function');
  } catch (error) {
    console.log(error.code);
  }
})();
