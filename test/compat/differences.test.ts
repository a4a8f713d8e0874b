// docs/compatibility.md: what a registered program does otherwise than a plain one.
import { describe, expect, it } from 'vitest';

import { runNode, runRegistered } from '../support/programs.js';
import { onEachNode } from '../support/runtimes.js';
import { needs } from '../support/tools.js';

/** What a script prints, plainly and registered. */
async function both(node: string, script: string, flags: readonly string[] = []) {
  const options = { flags };
  const plain = await runNode(node, ['-e', script], options);
  const registered = await runRegistered(node, ['-e', script], options);
  expect([plain.stderr, registered.stderr]).toEqual(['', '']);
  return [plain.stdout.trim(), registered.stdout.trim()];
}

onEachNode((node, major) => {
  it('the standard channels are pipes, others and those for messages sockets', async () => {
    const script = `
      const { spawn } = require('node:child_process');
      const look = 'for n in 0 1 2 3 4; do stat -Lc %F /proc/self/fd/$n; done; ' +
        'if (: >/dev/stdout) 2>/dev/null; then echo opened; else echo refused; fi';
      const stdio = ['pipe', 'pipe', 'pipe', 'pipe', 'ipc'];
      const child = spawn('sh', ['-c', look], { stdio });
      child.stdout.on('data', (data) => process.stdout.write(data));`;
    const [plain = '', registered = ''] = await both(node, script);
    expect(plain.split('\n')).toEqual([...Array<string>(5).fill('socket'), 'refused']);
    expect(registered.split('\n')).toEqual([
      ...['fifo', 'fifo', 'fifo', 'socket', 'socket', 'opened'],
    ]);
  });

  it('ends a child by SIGPIPE whose output is not read any more', async () => {
    const script = `
      const child = require('node:child_process').spawn('yes', { stdio: ['ignore', 'pipe', 'ignore'] });
      child.stdout.once('data', () => child.stdout.destroy());
      child.on('exit', (...ending) => console.log(...ending));`;
    const [plain, registered] = await both(node, script);
    expect(registered).toBe('null SIGPIPE');
    // Of a socket ECONNRESET, unless nothing was left unread when it was closed.
    expect(['1 null', 'null SIGPIPE']).toContain(plain);
  });

  it('opens /dev/null for an ignored stdin to read and write', async () => {
    const script = `
      const { spawnSync } = require('node:child_process');
      const words = ['-c', 'grep -h flags /proc/self/fdinfo/0'];
      console.log(spawnSync('sh', words, { stdio: ['ignore', 'pipe', 2], encoding: 'utf8' }).stdout);`;
    const access = (await both(node, script)).map((text) => text.slice(-1));
    expect(access).toEqual(['0', '2']);
  });

  it('puts realtime signals to their default', async () => {
    const script = `console.log(String(require('node:child_process').execFileSync('grep', ['SigIgn', '/proc/self/status'])))`;
    const wrap = ['env', '--ignore-signal=RTMIN'];
    const plain = await runNode(node, ['-e', script], { wrap });
    const registered = await runRegistered(node, ['-e', script], { wrap });
    expect(plain.stdout).toContain('SigIgn:\t0000000200000000');
    expect(registered.stdout).toContain('SigIgn:\t0000000000000000');
  });

  it('keeps little of the children that have ended', async () => {
    const script = `
      const { spawn } = require('node:child_process');
      const ended = () => new Promise((resolve) => spawn('true', { stdio: 'ignore' }).on('close', resolve));
      const seen = [];
      const registry = new FinalizationRegistry((what) => seen.push(what));
      (async () => {
        for (let i = 0; i < 20; i++) {
          const child = spawn('true', { stdio: 'ignore' });
          registry.register(child, 'child');
          await new Promise((resolve) => child.on('close', resolve));
        }
        for (let i = 0; i < 10; i++) {
          gc();
          await new Promise(setImmediate);
          await ended();
        }
        console.log(seen.length >= 18 ? 'collected' : seen.length);
      })();`;
    expect(await both(node, script, ['--expose-gc'])).toEqual(['collected', 'collected']);
  });

  it('lists children among what is active, where libuv knows them', async () => {
    const script = `
      const child = require('node:child_process').spawn('sleep', ['20'], { stdio: 'ignore' });
      console.log(process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length);
      child.kill();
      console.log(process.versions.uv);`;
    const [plain = '', registered = ''] = await both(node, script);
    const [, uv = ''] = plain.split('\n');
    const isKnown = Number(uv.split('.')[1]) < 52;
    expect([plain, registered]).toEqual([`1\n${uv}`, `${isKnown ? 1 : 0}\n${uv}`]);
  });

  it('ends a Worker that waits in spawnSync, and leaves no descriptor of it', async () => {
    const script = `
      const { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } = require('node:fs');
      const { setTimeout } = require('node:timers/promises');
      const { Worker } = require('node:worker_threads');
      const pipes = () => readdirSync('/proc/self/fd').filter((fd) => {
        try { return /^(pipe|socket)/.test(require('node:fs').readlinkSync('/proc/self/fd/' + fd)); }
        catch { return false; }
      }).length;
      const code = \`const { workerData } = require('node:worker_threads');
        const look = 'echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 6';
        const input = Buffer.alloc(1_000_000);
        require('node:child_process').spawnSync('sh', ['-c', look, workerData], { input });\`;
      (async () => {
        const scratch = mkdtempSync('/tmp/compat-');
        const before = pipes();
        const worker = new Worker(code, { eval: true, workerData: scratch + '/pid' });
        while (!existsSync(scratch + '/pid')) await setTimeout(20);
        await worker.terminate();
        const pid = Number(readFileSync(scratch + '/pid'));
        rmSync(scratch, { recursive: true });
        let lives = true;
        try { process.kill(pid); } catch { lives = false; }
        while (pipes() > before) await setTimeout(20);
        console.log(lives);
      })();`;
    expect(await both(node, script)).toEqual(['false', 'true']);
  }, 60_000);

  it('is not installed under the permission model', async () => {
    const flag = major === 20 ? '--experimental-permission' : '--permission';
    const net = major < 25 ? [] : ['--allow-net'];
    const flags = [flag, '--allow-fs-read=*', '--allow-child-process', '--allow-addons', ...net];
    const { code, stderr } = await runRegistered(node, ['-e', '1'], { flags });
    expect([code, stderr]).toEqual([1, expect.stringContaining('ERR_SALLYPORT_CANNOT_INSTALL')]);
  });
});

describe('creation', () => {
  needs('strace').it('does not fork', async () => {
    const script = `require('node:child_process').spawnSync('true')`;
    const trace = [
      'strace',
      '-f',
      '-qq',
      '-e',
      'trace=clone,clone3,fork,vfork',
      '-o',
      '/dev/stderr',
    ];
    const plain = await runNode(process.execPath, ['-e', script], { wrap: trace });
    const registered = await runRegistered(process.execPath, ['-e', script], { wrap: trace });
    expect(plain.stderr).not.toContain('CLONE_VFORK');
    expect(registered.stderr).toContain('CLONE_VFORK');
  });
});
