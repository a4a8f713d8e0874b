// launch: many at once, its promise, its events, what is verified and pinned.
import { existsSync } from 'node:fs';

import { launch, pinExecutable, planDigest, planLaunch } from 'sallyport';
import observing from './observe.cjs';

const { fieldsOf, observe, readText } = observing;

await observe({
  async one() {
    const child = await launch('echo', ['hello']);
    return [await readText(child.stdout), (await child.exited).code];
  },
  async manyAtOnce() {
    const one = async (index) => {
      const child = await launch('sh', ['-c', `echo ${index}; exit ${index}`]);
      const text = await readText(child.stdout);
      const { code } = await child.exited;
      return { pid: child.pid, right: text === `${index}\n` && code === index };
    };
    const children = await Promise.all(Array.from({ length: 100 }, (_, index) => one(index)));
    return {
      pids: new Set(children.map(({ pid }) => pid)).size,
      right: children.filter(({ right }) => right).length,
    };
  },
  async heardOfBeforeItsExit() {
    const child = await launch('true', [], { stdio: 'null' });
    return new Promise((resolve) => {
      child.once('exit', (code) => resolve(code));
    });
  },
  async refused() {
    return fieldsOf(await launch('no-such-program').catch((error) => error));
  },
  async takenBack() {
    const aborting = new AbortController();
    const starting = launch('sleep', ['60'], { signal: aborting.signal, stdio: 'null' });
    aborting.abort();
    return (await starting.catch((error) => error)).name;
  },
  async verified() {
    const child = await launch('true', [], { verify: 'at-exec', stdio: 'null' });
    await child.exited;
    return { when: child.evidence.when, descriptors: child.evidence.descriptors.length };
  },
  async pinned() {
    const pinned = await pinExecutable('/usr/bin/env');
    const child = await launch('/usr/bin/env', [], { pinned, env: { A: 'b' } });
    const text = await readText(child.stdout);
    pinned[Symbol.dispose]();
    return { text, bytes: pinned.identity.bytes > 1000, sha256: pinned.identity.sha256.length };
  },
  plan() {
    const plan = planLaunch('true', [], { env: {} });
    return [existsSync(plan.executable), planDigest(plan).length, Object.isFrozen(plan)];
  },
});
