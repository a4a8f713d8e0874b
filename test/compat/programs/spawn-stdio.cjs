// spawn: every way to write stdio.
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { closeSync, mkdtempSync, openSync, readFileSync, rmSync } = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { text } = require('node:stream/consumers');

const scratch = mkdtempSync('/tmp/compat-');
const file = path.join(scratch, 'out');

(async () => {
  const fd = openSync(file, 'w+');
  await once(spawn('echo', ['to a file'], { stdio: ['ignore', fd, 'ignore'] }), 'close');
  await once(spawn('sh', ['-c', 'echo both; echo of them >&2'], { stdio: [0, fd, fd] }), 'close');
  closeSync(fd);
  console.log(readFileSync(file, 'utf8'));

  const ignored = spawn('sh', ['-c', 'cat; echo x; readlink /proc/self/fd/0 >&2'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  console.log(ignored.stdin, ignored.stdout, await text(ignored.stderr));

  const extra = spawn('sh', ['-c', 'read line <&3; echo "got $line" >&3; echo more >&4'], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'overlapped', 'ignore', null],
  });
  extra.stdio[3].write('a line\n');
  const answers = await Promise.all([text(extra.stdio[3]), text(extra.stdio[4])]);
  console.log(answers, extra.stdio.length, extra.stdio[5], extra.stdio[6]);

  const duplex = spawn('sh', ['-c', 'cat <&3 >&3'], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  duplex.stdio[3].end('there and back');
  console.log(await text(duplex.stdio[3]));

  const sharing = spawn('sh', ['-c', 'echo shared'], { stdio: [process.stdin, process.stdout, 2] });
  console.log(sharing.stdout, await once(sharing, 'close'));

  for (const stdio of [
    'pipe',
    'ignore',
    'inherit',
    'overlapped',
    [],
    [null],
    ['pipe', undefined],
  ]) {
    const child = spawn('true', { stdio });
    console.log(
      JSON.stringify(stdio),
      child.stdio.map((stream) => stream?.constructor.name),
    );
    await once(child, 'close');
  }
  for (const stdio of ['other', 'ipc', {}, ['x'], [{}]]) {
    try {
      spawn('true', { stdio });
    } catch (error) {
      console.log(JSON.stringify(stdio), error.code, error.message);
    }
  }

  // A socket of ours as the child's output.
  const server = net.createServer((socket) => {
    const child = spawn('echo', ['over a socket'], { stdio: ['ignore', socket, 'ignore'] });
    child.on('close', () => socket.end());
  });
  server.listen(path.join(scratch, 'socket'));
  await once(server, 'listening');
  console.log(await text(net.connect(path.join(scratch, 'socket'))));
  server.close();

  // One child's output is another's input.
  const first = spawn('echo', ['from one to the other']);
  const second = spawn('cat', { stdio: [first.stdout, 'pipe', 'inherit'] });
  console.log(await text(second.stdout));

  // A path of its own output.
  const names = spawn('sh', ['-c', 'test -e /dev/stdout && echo there']);
  console.log(await text(names.stdout));
  rmSync(scratch, { recursive: true });
})();
