// An HTTP server that is restarted without a moment in which nobody listens.
//   node examples/zero-downtime/server.mjs [port]      then, to restart it:      kill -USR2 <pid>
// At SIGUSR2 it starts its successor, which may be a newer file, and hands it the listener, as a
// service manager would (sd_listen_fds(3)). Both accept until the successor says that it is ready;
// then the old one accepts no more, answers what it has begun, and leaves. The kernel's queue of
// connections belongs to the listener and not to a process, so none is lost.
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

import {
  createEnvironment,
  explainPort,
  launch,
  listListeners,
  receiveListeners,
  sealDescriptors,
} from 'sallyport';

const self = fileURLToPath(import.meta.url);
/** Milliseconds that a successor may take until it is ready. */
const PATIENCE = 10_000;

// To stderr: stdout of a successor is where it says that it is ready, and leads nowhere afterwards.
const log = (text) => process.stderr.write(`${process.pid}: ${text}\n`);

let isLeaving = false;
const server = createServer(async (request, response) => {
  let bytes = 0;
  for await (const chunk of request) bytes += chunk.length;
  // A client that keeps its connection would come back to a process that is about to leave.
  if (isLeaving) response.setHeader('connection', 'close');
  response.end(`answered by ${process.pid}: ${bytes} bytes\n`);
});

// Handed over by our predecessor, or by systemd; or there is none, and it is ours to open.
const [handed] = receiveListeners();
const wanted = Number(process.argv[2] ?? 8080);
server.on('error', (error) => {
  // Who has the port, how that came about, and what to do.
  log(error.code === 'EADDRINUSE' ? explainPort(wanted).text : error.message);
  process.exit(1);
});
server.listen(handed === undefined ? wanted : { fd: handed.fd }, () => {
  const { port } = server.address();
  // Whatever else this server starts gets neither the listener nor a connection, by whatever library.
  sealDescriptors({ kinds: 'all' });
  log(`listens on ${port}`);
  if (handed !== undefined) process.stdout.write('ready\n');
  // When the old server has left, nobody reads this any more.
  process.stdout.on('error', () => {});
});

process.on('SIGUSR2', () => {
  if (isLeaving) return;
  isLeaving = true;
  handOver().then(leave, (error) => {
    isLeaving = false;
    log(`goes on, since the new one did not come up: ${error.message}`);
  });
});
process.on('SIGTERM', leave);

/** Starts the successor with the listener, and nothing else of ours. */
async function handOver() {
  const successor = await launch(process.execPath, [self], {
    listeners: [{ fd: findListener(), name: 'http' }],
    stdio: ['null', 'pipe', 'inherit'],
    env: createEnvironment(),
    // It outlives us: a session of its own, and no wish to die with its parent.
    session: 'new',
  });
  const timer = setTimeout(() => successor.kill('SIGKILL'), PATIENCE);
  try {
    let said = '';
    for await (const chunk of successor.stdout) {
      said += chunk;
      if (said === 'ready\n') break;
    }
    // The pipe ended: whatever became of it, it does not serve.
    if (said !== 'ready\n') throw new Error(`it ended with ${(await successor.exited).code}`);
  } finally {
    clearTimeout(timer);
  }
  // We are not to stay for as long as it runs.
  successor.unref();
  log(`hands over to ${successor.pid}`);
}

/** Node has no public way to the number of a server's descriptor; the kernel's tables have it. */
function findListener() {
  const { listeners } = listListeners({ port: server.address().port });
  const ours = listeners.flatMap(({ holders }) => holders).find(({ pid }) => pid === process.pid);
  return ours.fd;
}

/** Our copy of the listener is closed, and not the listener: `closeListener` would deafen both. */
function leave() {
  if (!server.listening) return;
  isLeaving = true;
  server.close(() => log('has answered everything and leaves'));
  server.closeIdleConnections();
}
