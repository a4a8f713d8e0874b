// sallyport, by the call that the argument names.
import { createRequire } from 'node:module';
import process from 'node:process';
import * as sallyport from 'sallyport';
import { drain, exited, fill } from './node-streams.mjs';
import { serve } from './serve.mjs';

const call = sallyport[process.argv[2]];
if (typeof call !== 'function') {
  console.error(`this build of sallyport has no ${process.argv[2]}()`);
  process.exit(1);
}

serve({
  version: createRequire(import.meta.url)('sallyport/package.json').version,
  start: (file) => call(file, [], { stdio: 'null' }),
  startPiped: (file, args) => call(file, args, { stdio: 'pipe' }),
  exited,
  drain,
  fill,
  kill: (child) => child.kill('SIGKILL'),
});
