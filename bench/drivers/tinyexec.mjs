// tinyexec, whose children are child_process's with promises around them.
import process from 'node:process';
import { loadPeer } from './peer.mjs';
import { busyTime, drain, exited, fill } from './node-streams.mjs';
import { serve } from './serve.mjs';

const { module, version } = await loadPeer(process.argv[2], 'tinyexec');
const { x } = module;

serve({
  version,
  start: (file) => x(file, [], { nodeOptions: { stdio: 'ignore' } }),
  startPiped: (file, args) => x(file, args),
  exited: (child) => exited(child.process),
  drain: (child) => drain(child.process),
  fill: (child, bytes) => fill(child.process, bytes),
  kill: (child) => child.kill('SIGKILL'),
  busyTime,
});
