// fork: options of its own.
const { fork } = require('node:child_process');
const { once } = require('node:events');
const { text } = require('node:stream/consumers');

if (process.argv[2] === 'child') {
  console.log(
    'says',
    process.argv[3],
    process.execArgv.filter((flag) => /stack/.test(flag)),
  );
  if (process.connected) process.disconnect();
} else {
  (async () => {
    const silent = fork(__filename, ['child', 'silent'], { silent: true });
    console.log(await text(silent.stdout), silent.stdio.length, silent.stdio[3]);
    const loud = fork(__filename, ['child', 'loud']);
    console.log(loud.stdout, await once(loud, 'close'));
    const flags = [...process.execArgv, '--stack-size=900'];
    const flagged = fork(__filename, ['child', 'flagged'], { execArgv: flags });
    await once(flagged, 'close');
    const fifth = fork(__filename, ['child', 'fifth'], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'ignore', 'ipc'],
    });
    console.log(fifth.stdio.length, fifth.stdio[3].constructor.name, await once(fifth, 'close'));
    const detached = fork(__filename, ['child', 'detached'], { detached: true });
    console.log(await once(detached, 'close'));
    const aborter = new AbortController();
    const aborted = fork(__filename, ['child', 'never'], { signal: aborter.signal, silent: true });
    aborted.on('error', (error) => console.log(error.name));
    aborter.abort();
    await new Promise((resolve) => aborted.on('close', resolve));
    console.log(aborted.signalCode);
    const missing = fork('/no/such/module.cjs', { silent: true });
    console.log((await text(missing.stderr)).includes('Cannot find module'), missing.exitCode);
    try {
      fork(__filename, { stdio: ['pipe', 'pipe', 'pipe'] });
    } catch (error) {
      console.log(error.code);
    }
    const elsewhere = fork(__filename, ['child', 'elsewhere'], {
      execPath: '/no/such/node',
      silent: true,
    });
    console.log((await once(elsewhere, 'error'))[0].message);
  })();
}
