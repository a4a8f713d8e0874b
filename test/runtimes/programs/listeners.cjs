'use strict';
// A listener handed on to a program under the same runtime; a server that is closed for all copies.
const { connect, createServer } = require('node:net');
const { once } = require('node:events');

const {
  closeListener,
  launch,
  listListeners,
  receiveListeners,
  watchProcess,
} = require('sallyport');
const { fieldsOf, observe, readText } = require('./observe.cjs');

async function listen(answer) {
  const server = createServer((socket) => socket.end(answer));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const holders = listListeners({ port }).listeners.flatMap((one) => one.holders);
  return { server, port, fd: holders.find(({ pid }) => pid === process.pid).fd };
}

const isFree = (port) => listListeners({ port }).listeners.length === 0;

function serveReceived() {
  const [received] = receiveListeners({ expect: [{ kind: 'listener', access: 'both' }] });
  const server = createServer((socket) =>
    socket.end(`received as ${received.fd} ${received.name}`),
  );
  server.listen({ fd: received.fd }, () => process.stdout.write('listens\n'));
}

function observeAll() {
  return observe({
    async received() {
      const { server, port, fd } = await listen('from the parent');
      const [file, ...words] = JSON.parse(process.env.RUNTIME_COMMAND);
      const child = await launch(file, [...words, __filename, 'receiver'], {
        env: process.env,
        listeners: [{ fd, name: 'web' }],
        stdio: ['null', 'pipe', 'pipe'],
      });
      await new Promise((resolve) => server.close(resolve));
      const problems = readText(child.stderr);
      await Promise.race([once(child.stdout, 'data'), child.exited]);
      if (child.exitCode !== null) return problems;
      const socket = connect(port, '127.0.0.1');
      const text = await readText(socket);
      child.kill();
      await child.exited;
      return [text, isFree(port)];
    },
    async closed() {
      const { server, port, fd } = await listen('nobody asks');
      const child = await launch('sleep', ['60'], { pass: [{ fd, as: 5 }], stdio: 'null' });
      await closeListener(server);
      const free = isFree(port);
      child.kill();
      await child.exited;
      return free;
    },
    notAServer: () => closeListener({}).catch((error) => fieldsOf(error).code),
    async watched() {
      // Open after one line, closed after the next, until it has been seen.
      const script = 'while read go; do exec 9</etc/hosts; read go; exec 9<&-; done';
      const child = await launch('sh', ['-c', script], { stdio: ['pipe', 'null', 'null'] });
      const writing = setInterval(() => child.stdin.write('go\n'), 50);
      const seen = [];
      for await (const { record } of watchProcess(child.pid, { interval: 10 })) {
        seen.push(record.fd);
        if (record.fd !== 9) continue;
        clearInterval(writing);
        child.stdin.end();
      }
      await child.exited;
      return seen.includes(9);
    },
  });
}

if (process.argv[2] === 'receiver') serveReceived();
else void observeAll();
