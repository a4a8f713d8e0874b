'use strict';
// spawn: channels, exit, signals, the pass list, refusals, the end of a child by us.
const { openSync, closeSync } = require('node:fs');
const { once } = require('node:events');

const { spawn } = require('sallyport');
const { observe, readText, refusalOf } = require('./observe.cjs');

const { WITNESS } = process.env;

observe({
  async channels() {
    const child = spawn('sh', ['-c', 'cat; echo problem >&2; exit 3'], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.write('hel');
    child.stdin.end('lo\n');
    const [stdout, stderr] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
    const { code, signal, lost, resourceUsage } = await child.exited;
    return {
      stdout,
      stderr,
      code,
      signal,
      lost,
      exitCode: child.exitCode,
      rss: resourceUsage.maxRSS > 0,
    };
  },
  async events() {
    const child = spawn('true');
    const names = [];
    for (const name of ['spawn', 'exit', 'close']) child.on(name, () => names.push(name));
    const during = names.length;
    await once(child, 'close');
    return { during, names };
  },
  async unreadOutput() {
    const child = spawn('sh', ['-c', 'echo nobody reads this']);
    await once(child, 'close');
    return child.stdout.destroyed;
  },
  async signals() {
    const ended = [];
    for (const signal of ['SIGTERM', 'SIGKILL', 'SIGUSR1']) {
      const child = spawn('sleep', ['60'], { stdio: 'null' });
      const sent = child.kill(signal);
      ended.push([sent, (await child.exited).signal, child.signalCode, child.kill()]);
    }
    return ended;
  },
  async endings() {
    const withTimeout = spawn('sleep', ['60'], { timeout: 50, stdio: 'null' });
    const aborting = new AbortController();
    const withSignal = spawn('sleep', ['60'], { signal: aborting.signal, stdio: 'null' });
    aborting.abort();
    const group = spawn('sh', ['-c', 'sleep 60 & wait'], { session: 'new', stdio: 'null' });
    group.killGroup('SIGKILL');
    const disposed = spawn('sleep', ['60']);
    await disposed[Symbol.asyncDispose]();
    const statuses = await Promise.all([withTimeout.exited, withSignal.exited, group.exited]);
    return [...statuses.map(({ signal }) => signal), disposed.signalCode];
  },
  async passList() {
    const given = openSync('/etc/passwd', 'r');
    const kept = openSync('/etc/hosts', 'r');
    const child = spawn(WITNESS, ['one', 'two words'], {
      env: { GREETING: 'hello' },
      cwd: '/tmp',
      pass: [{ fd: given, as: 7, expect: { kind: 'file', access: 'read', path: '/etc/passwd' } }],
    });
    closeSync(given);
    const seen = JSON.parse(await readText(child.stdout));
    closeSync(kept);
    return {
      descriptors: seen.descriptors.map(({ fd, type, access }) => `${fd} ${type} ${access}`),
      passed: seen.descriptors.find(({ fd }) => fd === 7)?.link,
      arguments: seen.argv.slice(1),
      environment: seen.environment,
      cwd: seen.cwd,
      leadsSession: seen.sid === seen.pid,
      signals: [seen.status.SigBlk, seen.status.SigIgn].map((set) => BigInt(`0x${set}`) === 0n),
      noNewPrivileges: seen.status.NoNewPrivs,
    };
  },
  async attributes() {
    const child = spawn(WITNESS, [], { umask: 0o77, nice: 5, limits: { nofile: 64 }, env: {} });
    const { umask, nice, limits } = JSON.parse(await readText(child.stdout));
    return { umask, nice, limits: limits.nofile };
  },
  refusals: () => [
    refusalOf(() => spawn('/no/such/program')),
    refusalOf(() => spawn('true', [], { cwd: '/no/such/directory' })),
    refusalOf(() => spawn('true', [], { pass: [{ fd: 4000, as: 5 }] })),
    refusalOf(() => spawn('true', [], { shell: true })),
  ],
});
