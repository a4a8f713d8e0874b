// Bun.spawn.
import { serve } from './serve.mjs';

const { Bun } = globalThis;
const BLOCK = new Uint8Array(64 * 1024);

serve({
  version: Bun.version,
  start: (file) => Bun.spawn([file], { stdio: ['ignore', 'ignore', 'ignore'] }),
  startPiped: (file, args) => Bun.spawn([file, ...args], { stdio: ['pipe', 'pipe', 'pipe'] }),
  exited: (child) => child.exited,
  async drain(child) {
    let bytes = 0;
    for await (const chunk of child.stdout) bytes += chunk.length;
    return bytes;
  },
  async fill(child, bytes) {
    for (let left = bytes; left > 0; left -= BLOCK.length) {
      child.stdin.write(BLOCK);
      await child.stdin.flush();
    }
    await child.stdin.end();
  },
  kill: (child) => child.kill('SIGKILL'),
});
