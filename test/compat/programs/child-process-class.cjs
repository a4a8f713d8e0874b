// ChildProcess: used by itself.
const { ChildProcess, spawn } = require('node:child_process');
const { once } = require('node:events');
const { text } = require('node:stream/consumers');
const { inspect } = require('node:util');

(async () => {
  const child = new ChildProcess();
  console.log(child.pid, child.connected, child.exitCode);
  child.spawn({ file: 'echo', args: ['echo', 'by itself'], envPairs: ['A=b'], stdio: 'pipe' });
  console.log(await text(child.stdout), await once(child, 'close'));

  const bare = new ChildProcess();
  bare.spawn({ file: '/bin/true', args: ['true'] });
  console.log(bare.spawnfile, bare.spawnargs, await once(bare, 'close'));

  const cut = new ChildProcess();
  const look = 'echo $#; printf "%s," "$@"; env | grep -c ^CUT';
  const words = ['sh', '-c', look, 'sh', 'one\0two', 'three', 4];
  const envPairs = [`PATH=${process.env.PATH}`, 'CUT=1\0CUT2=2'];
  cut.spawn({ file: 'sh', args: words, envPairs, stdio: ['ignore', 'pipe', 'inherit'] });
  console.log(await text(cut.stdout), await once(cut, 'close'));

  for (const options of [undefined, null, {}, { file: 5 }, { file: 'x', args: 'y' }]) {
    try {
      new ChildProcess().spawn(options);
    } catch (error) {
      console.log(error.code, error.message);
    }
  }
  const started = spawn('true');
  console.log(started instanceof ChildProcess, inspect(started).startsWith('ChildProcess {'));
  console.log(Object.keys(started._handle), started._handle.constructor.name);
  console.log(Object.getOwnPropertySymbols(started._handle).map(String));
  await once(started, 'close');
})();
