// spawn: what a child writes, all of it and in order, whoever reads it and however.
const { spawn } = require('node:child_process');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const { text } = require('node:stream/consumers');

(async () => {
  const both = spawn('sh', ['-c', 'echo out; echo err >&2']);
  console.log(await Promise.all([text(both.stdout), text(both.stderr), once(both, 'close')]));

  const big = spawn('sh', ['-c', 'head -c 5000000 /dev/zero | tr "\\0" x']);
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of big.stdout) {
    size += chunk.length;
    hash.update(chunk);
  }
  console.log(size, hash.digest('hex'));

  const encoded = spawn('printf', ['\\303\\244\\303\\266']);
  encoded.stdout.setEncoding('utf8');
  encoded.stdout.on('data', (data) => console.log(typeof data, data));
  await once(encoded, 'close');

  // Nobody reads: `close` comes all the same.
  const unread = spawn('sh', ['-c', 'head -c 10000 /dev/zero']);
  console.log('unread', await once(unread, 'close'));

  const closed = spawn('sh', ['-c', 'trap "" PIPE; sleep 0.1; echo x || echo refused >&2']);
  closed.stdout.destroy();
  console.log('destroyed', JSON.stringify(await text(closed.stderr)).includes('refused'));

  const reopened = spawn('sh', ['-c', 'test -p /dev/stdin; echo x']);
  console.log('again', (await text(reopened.stdout)).trim());
})();
