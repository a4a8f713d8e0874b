// Node's own child_process, of whichever Node runs this file.
import { execSync, spawn, spawnSync } from 'node:child_process';
import process from 'node:process';
import { busyTime, drain, exited, fill } from './node-streams.mjs';
import { serve } from './serve.mjs';

serve({
  version: process.versions.node,
  start: (file) => spawn(file, [], { stdio: 'ignore' }),
  startPiped: (file, args) => spawn(file, args),
  startSync: (file) => spawnSync(file, [], { stdio: 'ignore' }),
  startShell: (file) => execSync(file),
  exited,
  drain,
  fill,
  kill: (child) => child.kill('SIGKILL'),
  busyTime,
});
