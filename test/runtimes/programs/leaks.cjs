'use strict';
// What 200 launches, 50 runs and failing launches leave: descriptors, zombies, threads.
const { readFileSync, readdirSync, readlinkSync } = require('node:fs');

const { launch, run, spawn } = require('sallyport');
const { observe, readText } = require('./observe.cjs');

const storm = require(process.env.STORM);

const unlessGone = (look, otherwise) => {
  try {
    return look();
  } catch {
    return otherwise;
  }
};

/** Of every thread's table: lanes have their own. */
const listDescriptors = () =>
  readdirSync('/proc/self/task').flatMap((thread) =>
    unlessGone(() => readdirSync(`/proc/self/task/${thread}/fd`), [])
      .map(
        (fd) =>
          `${fd} ${unlessGone(() => readlinkSync(`/proc/self/task/${thread}/fd/${fd}`), 'gone')}`,
      )
      // The number that the listing took for itself.
      .filter((line) => !line.endsWith(' gone')),
  );
const own = () => new Set(listDescriptors());

const ours = () =>
  readdirSync('/proc/self/task').filter((thread) =>
    unlessGone(() => readFileSync(`/proc/self/task/${thread}/comm`, 'utf8'), '').startsWith(
      'sallyport',
    ),
  ).length;

const zombies = (parentPid = process.pid) =>
  readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    const text = unlessGone(() => readFileSync(`/proc/${pid}/stat`, 'latin1'), '');
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' && Number(parent) === parentPid;
  }).length;

const settle = async (isSettled) => {
  for (let look = 0; look < 1_000 && !isSettled(); look += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return isSettled();
};

async function work(launches) {
  for (let done = 0; done < launches; done += 20) {
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const child = await launch('cat', [], { stdio: ['pipe', 'pipe', 'pipe'] });
        child.stdin.end('text');
        await Promise.all([readText(child.stdout), readText(child.stderr)]);
        await child.exited;
      }),
    );
  }
  for (let count = 0; count < 20; count += 1) {
    await run('echo', ['text'], { output: { stderr: { via: 'memfd' } } });
    await launch('no-such-program').catch(() => undefined);
    const abandoned = spawn('yes');
    abandoned.stdin?.destroy();
    await abandoned[Symbol.asyncDispose]();
  }
}

observe({
  async leaks() {
    // Lanes, and what the runtime opens at the first use of something: Deno a pair of sockets when it
    // first has to do with signals, whenever that is.
    const ignore = () => undefined;
    process.on('SIGUSR2', ignore);
    process.off('SIGUSR2', ignore);
    await work(100);
    const before = { descriptors: own(), threads: ours() };
    const more = () => [...own()].filter((line) => !before.descriptors.has(line));
    await work(200);
    await settle(() => more().length === 0 && zombies() === 0);
    const left = { descriptors: more(), zombies: zombies(), threads: ours() - before.threads };

    // Each would have been seen.
    storm.openInheritable('/etc/hosts');
    const mother = spawn('sh', ['-c', 'true & exec sleep 60'], { stdio: 'null' });
    await settle(() => zombies(mother.pid) === 1);
    const zombie = zombies(mother.pid);
    mother.kill('SIGKILL');
    await mother.exited;
    return {
      left,
      control: { descriptors: more().length > 0, zombie, threads: before.threads > 0 },
    };
  },
});
