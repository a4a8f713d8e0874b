// Launches with what glibc 2.28 has: no step for the directory, for closing the rest, for a terminal.
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { runNode } from '../support/programs.js';
import { fixture, makeScratch, root } from '../support/fixtures.js';

const library = JSON.stringify(root);

async function run(body: string): Promise<unknown> {
  const script = `
    const sallyport = require(${library});
    const { text } = require('node:stream/consumers');
    const stdio = ['null', 'pipe', 'inherit'];
    const ask = async (how, script, options = {}) => {
      const child = await sallyport[how]('sh', ['-c', script], { stdio, ...options });
      const said = await text(child.stdout);
      await child.exited;
      return [child.plan.route.kind, ...said.trim().split('\\n')];
    };
    (async () => { ${body} })().then((seen) => console.log(JSON.stringify(seen)));`;
  const env = { LD_PRELOAD: fixture('old_c_library.so') };
  const { stdout, stderr } = await runNode(process.execPath, ['-e', script], { env });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

describe.each(['spawn', 'launch'])('%s with an old C library', (how) => {
  it('gives the child its directory and exactly its table', async () => {
    const seen = await run(`
      const leaky = require('node:fs').openSync('/etc/passwd');
      return [
        await ask('${how}', 'pwd; ls /proc/self/fd', { cwd: '/usr' }),
        await ask('${how}', 'pwd', { cwd: '/' }),
        // By the thread that calls, where the C library could close the rest.
        await ask('${how}', 'pwd', { cwd: '/usr', noNewPrivileges: false }),
        await ask('${how}', 'pwd; umask', { cwd: '/usr', umask: 0o7 }),
      ];`);
    expect(seen).toEqual([
      // 3 is ls's own.
      ['lane', '/usr', '0', '1', '2', '3'],
      ['lane', '/'],
      ['lane', '/usr'],
      ['lane', '/usr', '0007'],
    ]);
  });

  it('follows the directory and the umask of this process', async () => {
    const seen = await run(`
      const before = await ask('${how}', 'pwd', { cwd: '/usr' });
      process.umask(0o37);
      process.chdir('/etc');
      return [before, await ask('${how}', 'pwd; umask'), process.cwd(), process.umask()];`);
    expect(seen).toEqual([['lane', '/usr'], ['lane', '/etc', '0037'], '/etc', 0o37]);
  });

  it('says of a directory what any C library says', async () => {
    const seen = await run(`
      try { await ask('${how}', 'pwd', { cwd: '/no/such' }); }
      catch ({ code, stage, stagePath }) { return { code, stage, stagePath }; }`);
    expect(seen).toEqual({ code: 'ENOENT', stage: 'cwd', stagePath: '/no/such' });
  });
});

describe('where nothing can close the rest: no private tables, and glibc before 2.34', () => {
  const wrap = [fixture('seccomp_deny'), 'EPERM', 'close_range,unshare', '--'];

  /** By node, in which those calls are refused. */
  const runRefused = async (script: string, flags: readonly string[] = []) => {
    const env = { LD_PRELOAD: fixture('old_c_library.so'), OLD_C_LIBRARY: '33' };
    const options = { env, flags, wrap, cwd: makeScratch() };
    const { stdout, stderr } = await runNode(process.execPath, ['-e', script], options);
    expect(stderr).toBe('');
    return JSON.parse(stdout) as unknown;
  };

  it('nothing is started, in whatever way, and the error says what is missing', async () => {
    const seen = await runRefused(`
      const { existsSync } = require('node:fs');
      const sallyport = require(${library});
      const touch = ['touch', ['was-started']];
      const starts = {
        spawn: () => sallyport.spawn(...touch),
        direct: () => sallyport.spawn(...touch, { noNewPrivileges: false }),
        launch: () => sallyport.launch(...touch),
        launcher: () => sallyport.launch(...touch, { umask: 0o22 }),
        run: async () => { throw (await sallyport.run(...touch)).outcome.error; },
        runSync: () => { throw sallyport.runSync(...touch).outcome.error; },
      };
      (async () => {
        const seen = {};
        for (const [name, start] of Object.entries(starts)) {
          try { await start(); } catch ({ code, stage, message }) {
            seen[name] = [code, stage, message.includes('addclosefrom_np')];
          }
        }
        console.log(JSON.stringify({ seen, started: existsSync('was-started') }));
      })();`);
    const refused = ['ERR_SALLYPORT_NO_EXACT_CLOSE', 'descriptor', true];
    expect(seen).toEqual({
      seen: Object.fromEntries(
        ['spawn', 'direct', 'launch', 'launcher', 'run', 'runSync'].map((name) => [name, refused]),
      ),
      started: false,
    });
  });

  it('the drop-in refuses too, as libuv would', async () => {
    const script = `
      const { spawn, spawnSync } = require('node:child_process');
      const codes = [spawnSync('true').error?.code];
      try { spawn('true'); } catch ({ code }) { codes.push(code); }
      console.log(JSON.stringify(codes));`;
    const register = ['--require', path.join(root, 'dist/register.js')];
    expect(await runRefused(script, register)).toEqual(['ENOSYS', 'ENOSYS']);
    // The control: a plain one starts, with all that is open.
    expect(await runRefused(script)).toEqual([null]);
  });
});
