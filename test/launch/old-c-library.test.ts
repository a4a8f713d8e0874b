// Launches with what glibc 2.28 has: no step for the directory, for closing the rest, for a terminal.
import { describe, expect, it } from 'vitest';

import { runNode } from '../support/programs.js';
import { fixture, root } from '../support/fixtures.js';

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
