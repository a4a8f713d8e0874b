// Tries, as a program in a container would, what docs/containers.md has a row for; prints JSON. The
// package is in sallyport/dist beside it.
import { spawn as plainSpawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

const sallyport = createRequire(import.meta.url)(process.argv[2]);

async function code(child) {
  const { code, signal } = await (await child).exited;
  if (code !== 0) throw new Error(`the child ended with ${code ?? signal}`);
  return 'yes';
}

const start = (options, file = '/bin/true') => sallyport.launch(file, [], { cwd: '/', ...options });

/**
 * Once its exec is over, which on a busy machine takes longer than an audit waits for, and its loader
 * has closed the libraries: what is still open after so many looks was handed over.
 */
async function auditSettled(pid, options) {
  for (let looks = 0; ; looks += 1) {
    const audit = sallyport.auditProcess(pid, options);
    const isOver = audit.unreadable === undefined && audit.verdict !== 'leaks';
    if (isOver || looks === 100) return audit;
    await once(sallyport.spawn('true'), 'close');
  }
}

/** A process that is our child, sleeps, and has a copy of a listener that nobody serves. */
async function makeStray() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const stdio = ['ignore', 'ignore', 'ignore', server._handle.fd];
  const child = plainSpawn('sleep', ['60'], { stdio });
  await once(child, 'spawn');
  server.close();
  return { port, child };
}

const rows = {
  launch: async () => {
    const child = await start();
    await code(child);
    return child.plan.route.kind;
  },
  limits: () => code(start({ limits: { nofile: 64 }, umask: 0o27, nice: 5, dieWithParent: true })),
  priority: () => code(start({ nice: -5 })),
  user: () => code(start({ user: 65534 })),
  verify: () => code(start({ verify: 'at-exec' })),
  'verify, user': () => code(start({ verify: 'at-exec', user: 65534 })),
  pinned: async () => code(start({ pinned: await sallyport.pinExecutable('/bin/true') })),
  init: () => contained('init'),
  cgroup: () => contained('cgroup'),
  audit: async () => {
    const child = sallyport.spawn('sleep', ['60'], { stdio: 'null' });
    const { verdict } = await auditSettled(child.pid, { against: child.plan });
    child.kill('SIGKILL');
    return verdict === 'clean' ? 'yes' : 'no';
  },
  origin: async () => {
    const fd = openSync('/dev/null', 'r');
    const child = sallyport.spawn('sleep', ['60'], { stdio: 'null', pass: [{ fd, as: 3 }] });
    const { descriptors } = await auditSettled(child.pid);
    child.kill('SIGKILL');
    return descriptors.find((each) => each.fd === 3).origin.by;
  },
  release: async () => {
    const { port, child } = await makeStray();
    try {
      // Its role can be told once it sleeps.
      for (let looks = 0; looks < 100; looks += 1) {
        const [listener] = sallyport.listListeners({ port }).listeners;
        if (listener?.holders[0]?.role === 'copy') break;
        await once(sallyport.spawn('true'), 'close');
      }
      return sallyport.releaseListener({ port, force: true }).length === 1 ? 'yes' : 'no';
    } finally {
      child.kill('SIGKILL');
    }
  },
  workspace: async () => {
    await sallyport.prepareWorkspace(mkdtempSync('/tmp/sallyport-probe-')).remove();
    return 'yes';
  },
  gaps: async () =>
    (await sallyport.reportGaps({ options: { cwd: '/' } })).gaps.length > 5 ? 'yes' : 'no',
  seal: () => {
    sallyport.sealDescriptors({ kinds: 'all' });
    sallyport.shieldParent();
    return 'yes';
  },
};

/** A descendant that leaves its session is ended all the same. */
async function contained(containment) {
  const script = 'setsid sleep 60 >/dev/null & echo';
  const { outcome, cleanup } = await sallyport.run('sh', ['-c', script], { containment, cwd: '/' });
  return outcome.kind === 'exited' && cleanup.survivors.length === 0 ? 'yes' : 'no';
}

const seen = {};
for (const [name, attempt] of Object.entries(rows)) {
  try {
    seen[name] = await attempt();
  } catch (error) {
    seen[name] = 'no';
    // Only a refusal that says what it is counts as "no".
    if (typeof error.code !== 'string') throw error;
    if (process.env.EXPLAIN) console.error(name, error.message);
  }
}
process.stdout.write(JSON.stringify(seen));
process.exit();
