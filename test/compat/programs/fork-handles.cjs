// fork: servers and sockets on their way to a child and back.
const { fork } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const dgram = require('node:dgram');
const { text } = require('node:stream/consumers');

if (process.argv[2] === 'child') {
  process.on('message', (name, handle) => {
    if (name === 'socket') handle.end('from the child');
    if (name === 'server') {
      handle.on('connection', (socket) => socket.end('accepted by the child'));
      process.send('listening');
    }
    if (name === 'datagram') {
      handle.close(() => process.send('closed'));
    }
    if (name === 'back') {
      const socket = net.connect(handle === undefined ? process.env.PORT : 0, '127.0.0.1');
      socket.on('connect', () => process.send('here', socket));
    }
    if (name === 'leave') process.disconnect();
  });
} else {
  (async () => {
    for (const serialization of ['json', 'advanced']) {
      const server = net.createServer({ pauseOnConnect: true });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address();
      const env = { ...process.env, PORT: String(port) };
      const child = fork(__filename, ['child'], { serialization, env });
      const client = net.connect(port, '127.0.0.1');
      const [accepted] = await once(server, 'connection');
      child.send('socket', accepted);
      console.log(await text(client));

      child.send('back');
      const [[message, handle], [other]] = await Promise.all([
        once(child, 'message'),
        once(server, 'connection'),
      ]);
      other.end('to whoever has it');
      console.log(message, handle.constructor.name, await text(handle));

      child.send('server', server);
      await once(child, 'message');
      server.close();
      console.log(await text(net.connect(port, '127.0.0.1')));

      const socket = dgram.createSocket('udp4');
      socket.bind(0, '127.0.0.1');
      await once(socket, 'listening');
      child.send('datagram', socket);
      console.log(await once(child, 'message'));
      socket.close();
      child.send('leave');
      // It has a server.
      await once(child, 'disconnect');
      child.kill();
      console.log(await once(child, 'close'));
    }
  })();
}
