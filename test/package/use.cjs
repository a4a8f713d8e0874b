// What a user does with the package: uses each part that needs one of its binaries, prints what came.
'use strict';

const { text } = require('node:stream/consumers');

const { auditProcess, launch, reportGaps, run, spawn } = require('sallyport');

const output = { stdio: ['null', 'pipe', 'pipe'] };

async function main() {
  const listing = spawn('ls', ['/proc/self/fd'], output);
  const held = await text(listing.stdout);
  const { code } = await listing.exited;

  const limited = await launch('sh', ['-c', 'ulimit -n'], { ...output, limits: { nofile: 64 } });
  const limit = await text(limited.stdout);
  await limited.exited;

  const sleeper = spawn('sleep', ['1000']);
  const { verdict } = auditProcess(sleeper.pid, { against: sleeper.plan });
  sleeper.kill('SIGKILL');
  const { signal } = await sleeper.exited;

  const report = await run('sh', ['-c', 'setsid sleep 1000 & echo begun'], {
    deadline: 60_000,
    drain: 100,
  });
  const { gaps } = await reportGaps({ options: { pass: [] } });

  console.log(
    JSON.stringify({
      node: process.version,
      held: held.trim().split('\n'),
      code,
      limit: limit.trim(),
      verdict,
      signal,
      outcome: report.outcome.kind,
      method: report.cleanup.method,
      survivors: report.cleanup.survivors,
      text: report.output.stdout.text,
      descriptors: gaps.find(({ kind }) => kind === 'descriptors').state,
      addon: /\S*sallyport\S*\.node/.exec(
        require('node:fs').readFileSync('/proc/self/maps', 'utf8'),
      )?.[0],
    }),
  );
}

main();
