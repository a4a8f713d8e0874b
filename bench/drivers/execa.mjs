// execa with the options nearest to a bare start: no buffering, no output kept.
import process from 'node:process';
import { loadPeer } from './peer.mjs';
import { busyTime, drain, fill } from './node-streams.mjs';
import { serve } from './serve.mjs';

const { module, version } = await loadPeer(process.argv[2], 'execa');

serve({
  version,
  start: (file) => module.execa(file, [], { stdio: 'ignore' }),
  startPiped: (file, args) =>
    module.execa(file, args, { buffer: false, encoding: 'buffer', reject: false }),
  exited: (child) => child,
  drain,
  fill,
  kill: (child) => child.kill('SIGKILL'),
  busyTime,
});
