// sallyport, by the call that the first argument names, with the options (JSON) of the second.
import { createRequire } from 'node:module';
import process from 'node:process';
import * as sallyport from 'sallyport';
import { busyTime, drain, exited, fill } from './node-streams.mjs';
import { serve } from './serve.mjs';

const [name, options = '{}'] = process.argv.slice(2);
const call = sallyport[name];
if (typeof call !== 'function') {
  console.error(`this build of sallyport has no ${name}()`);
  process.exit(1);
}
const given = JSON.parse(options);

// `launch` gives promises: they are awaited here, after the call whose time is taken.
serve({
  version: createRequire(import.meta.url)('sallyport/package.json').version,
  start: (file) => call(file, [], { stdio: 'null', ...given }),
  startPiped: (file, args) => call(file, args, { ...given, stdio: 'pipe' }),
  started: (child) => child,
  // A plan, as planLaunch gives it, has no exit; what run gives is awaited itself.
  exited: async (child) => {
    const started = await child;
    if (name !== 'planLaunch' && name !== 'run') await exited(started);
  },
  drain: async (child) => drain(await child),
  fill: async (child, bytes) => fill(await child, bytes),
  kill: async (child) => (await child).kill('SIGKILL'),
  busyTime,
});
