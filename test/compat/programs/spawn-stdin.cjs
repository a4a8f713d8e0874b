// spawn: what a child is given to read.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { Readable } = require('node:stream');
const { buffer, text } = require('node:stream/consumers');

(async () => {
  const cat = spawn('cat');
  cat.stdin.write('one ');
  cat.stdin.end('two');
  console.log(await text(cat.stdout), cat.stdin.writableEnded);

  const big = Buffer.alloc(3_000_000, 'abc');
  const echo = spawn('cat');
  echo.stdin.end(big);
  console.log(big.equals(await buffer(echo.stdout)));

  const piped = spawn('wc', ['-c']);
  Readable.from(['a', 'bc', 'def']).pipe(piped.stdin);
  console.log((await text(piped.stdout)).trim());

  const events = [];
  const ended = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
  for (const event of ['finish', 'close', 'end', 'error']) {
    ended.stdin.on(event, () => events.push(event));
  }
  ended.stdin.end();
  console.log(await once(ended, 'close'), events);

  // The child does not read.
  const deaf = spawn('true');
  const errors = [];
  deaf.stdin.on('error', (error) => errors.push(error.code));
  const deafClosed = once(deaf, 'close');
  await once(deaf, 'exit');
  deaf.stdin.write('x', (error) => console.log('write', error?.code));
  await deafClosed;

  const dying = spawn('sh', ['-c', 'exec <&-; echo ready; exec sleep 5']);
  await once(dying.stdout, 'data');
  dying.stdin.on('error', (error) => {
    console.log(error.code, error.syscall, error.errno);
    dying.kill();
  });
  dying.stdin.write(Buffer.alloc(10));
  console.log(await once(dying, 'close'));
})();
