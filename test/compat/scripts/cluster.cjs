// A cluster of four behind one port, under load, all of its workers replaced one after the other.
const cluster = require('node:cluster');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');

const REQUESTS = Number(process.argv[2]);
const CONNECTIONS = 32;
const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

if (!cluster.isPrimary) {
  const body = `worker ${cluster.worker.id}`;
  const server = http.createServer((_, response) => {
    // Whoever is asked to leave says so, and gets no further request on this connection.
    if (!cluster.worker.isConnected() || leaving) response.setHeader('Connection', 'close');
    response.end(body);
  });
  let leaving = false;
  process.on('message', (message) => {
    if (message !== 'leave') return;
    leaving = true;
    cluster.worker.disconnect();
  });
  server.listen(0, '127.0.0.1');
} else {
  void main();
}

async function main() {
  const start = async () => {
    const worker = cluster.fork();
    const [address] = await once(worker, 'listening');
    return { worker, port: address.port };
  };
  const { worker, port } = await start();
  const workers = [worker];
  while (workers.length < 4) workers.push((await start()).worker);

  const count = { sent: 0, answered: 0, repeated: 0, unexpected: 0, byWorker: {} };
  const clients = Array.from({ length: CONNECTIONS }, () => askUntilDone(port, count));

  // The rolling restart, once a quarter has been answered.
  const exits = [];
  for (const [index, old] of workers.entries()) {
    const due = (REQUESTS / 4) * (1 + index / 2);
    while (count.answered < due) await new Promise(setImmediate);
    const next = await start();
    const exit = once(old, 'exit');
    old.send('leave');
    exits.push((await exit).join());
    workers[index] = next.worker;
  }
  await Promise.all(clients);
  for (const last of workers) {
    const exit = once(last, 'exit');
    last.send('leave');
    exits.push((await exit).join());
  }
  console.log(JSON.stringify({ ...count, exits, left: Object.keys(cluster.workers).length }));
}

/** One connection after the other, one request at a time. */
async function askUntilDone(port, count) {
  while (count.sent < REQUESTS) {
    count.sent += 1;
    let answer = null;
    while (answer === null) answer = await askOn(port, count);
  }
}

/** Asks as often as this connection lets us; null where the first request was not answered. */
function askOn(port, count) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    let text = '';
    let first = true;
    socket.setEncoding('latin1');
    socket.on('connect', () => socket.write(REQUEST));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (first) count.repeated += 1;
      // A further request on it that was not answered goes to the next connection.
      else if (text !== 'done') count.sent -= 1;
      resolve(first ? null : true);
    });
    socket.on('data', (data) => {
      text += data;
      const end = text.indexOf('\r\n\r\n');
      const length = /content-length: (\d+)/i.exec(text)?.[1];
      if (end === -1 || length === undefined || text.length < end + 4 + Number(length)) return;
      const who = text.slice(end + 4);
      first = false;
      count.answered += 1;
      count.byWorker[who] = (count.byWorker[who] ?? 0) + 1;
      if (!text.startsWith('HTTP/1.1 200 ')) count.unexpected += 1;
      const isLast = /connection: close/i.test(text) || count.sent >= REQUESTS;
      text = isLast ? 'done' : '';
      if (isLast) socket.end();
      else {
        count.sent += 1;
        socket.write(REQUEST);
      }
    });
  });
}
