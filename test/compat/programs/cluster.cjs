// cluster: workers behind one port, one that leaves, one that is killed.
const cluster = require('node:cluster');
const { once } = require('node:events');
const http = require('node:http');
const { text } = require('node:stream/consumers');

if (cluster.isPrimary) {
  (async () => {
    for (const policy of [cluster.SCHED_RR, cluster.SCHED_NONE]) {
      cluster.schedulingPolicy = policy;
      const workers = [cluster.fork(), cluster.fork({ GIVEN: 'x' })];
      const [[, address]] = await Promise.all(workers.map(() => once(cluster, 'listening')));
      const answers = [];
      for (let i = 0; i < 4; i++) {
        const request = http.get({ port: address.port, host: '127.0.0.1', agent: false });
        const [response] = await once(request, 'response');
        answers.push(await text(response));
      }
      console.log(new Set(answers));
      const [first, second] = workers;
      first.disconnect();
      console.log(await once(first, 'exit'), first.exitedAfterDisconnect);
      second.kill('SIGKILL');
      console.log(await once(second, 'exit'), second.exitedAfterDisconnect, second.isDead());
    }
  })();
} else {
  const server = http.createServer((_, response) =>
    response.end(`by a worker of ${process.env.x}`),
  );
  server.listen(0, '127.0.0.1');
}
