// Many children at once, each with what is its own.
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { text } = require('node:stream/consumers');

(async () => {
  const results = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const child = spawn('sh', ['-c', `cat; exit ${index}`]);
      child.stdin.end(`input ${index}`);
      const [output, ending] = await Promise.all([text(child.stdout), once(child, 'close')]);
      return `${output}: ${ending}`;
    }),
  );
  console.log(results.join('\n'));
  // While others run.
  const sleeper = spawn('sleep', ['20']);
  const codes = Array.from({ length: 20 }, (_, i) => spawnSync('sh', ['-c', `exit ${i}`]).status);
  console.log(codes.join());
  sleeper.kill();
  console.log(await once(sleeper, 'close'));
})();
