'use strict';
// What is open, in a child and here; sealing; listeners.
const { createServer } = require('node:net');
const { once } = require('node:events');

const sallyport = require('sallyport');
const { observe } = require('./observe.cjs');

const { spawn, launch } = sallyport;
const storm = require(process.env.STORM);
const careless = storm.openInheritable('/etc/hosts');

observe({
  leaky: () => sallyport.auditSelf().leaky.some(({ fd }) => fd === careless),
  seal() {
    const sealed = sallyport.sealDescriptors({ kinds: 'all' });
    return [
      sealed.some(({ fd }) => fd === careless),
      sallyport.auditSelf().leaky.map(({ fd }) => fd),
    ];
  },
  async audit() {
    const child = spawn('cat', [], { stdio: ['pipe', 'pipe', 'null'] });
    // Loaded by then: its loader opens files of its own.
    child.stdin.write('ready');
    await once(child.stdout, 'data');
    const { verdict, descriptors } = sallyport.auditProcess(child.pid, { against: child.plan });
    const tree = sallyport
      .auditTree(process.pid)
      .map(({ pid }) => pid)
      .includes(child.pid);
    child.stdin.end();
    await child.exited;
    return [verdict, descriptors.map(({ fd, kind }) => `${fd} ${kind}`), tree];
  },
  async leak() {
    const child = spawn('sh', ['-c', 'exec 9</etc/hosts; echo ready; read go'], {
      stdio: ['pipe', 'pipe', 'null'],
    });
    await once(child.stdout, 'data');
    const { verdict, descriptors } = sallyport.auditProcess(child.pid, { against: child.plan });
    child.stdin.end('go\n');
    await child.exited;
    return [verdict, descriptors.some(({ fd }) => fd === 9)];
  },
  async listeners() {
    const server = createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    const { listeners } = sallyport.listListeners({ port });
    const holders = listeners.flatMap((one) => one.holders.map(({ pid }) => pid));
    const causes = sallyport.explainPort(port).causes.map(({ kind }) => kind);
    const found = sallyport.findHolders({ port }).holders.length;
    await new Promise((resolve) => server.close(resolve));
    return [listeners.length, holders.includes(process.pid), causes, found];
  },
  async handedOn() {
    // A stray child that holds our listener, as child_process would have made it.
    const server = createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    const { listeners } = sallyport.listListeners({ port });
    const { fd } = listeners[0].holders.find(({ pid }) => pid === process.pid);
    const child = await launch('sleep', ['60'], { pass: [{ fd, as: 5 }], stdio: 'null' });
    await new Promise((resolve) => server.close(resolve));
    const before = sallyport.listListeners({ port }).listeners.length;
    sallyport.releaseListener({ port });
    const after = sallyport.listListeners({ port }).listeners.length;
    const lives = child.kill(0);
    child.kill();
    await child.exited;
    return [before, after, lives];
  },
});
