// Deno.Command.
import { serve } from './serve.mjs';

const { Deno } = globalThis;
const BLOCK = new Uint8Array(64 * 1024);

serve({
  version: Deno.version.deno,
  start: (file) =>
    new Deno.Command(file, { stdin: 'null', stdout: 'null', stderr: 'null' }).spawn(),
  startPiped: (file, args) =>
    new Deno.Command(file, { args, stdin: 'piped', stdout: 'piped', stderr: 'piped' }).spawn(),
  exited: (child) => child.status,
  async drain(child) {
    let bytes = 0;
    for await (const chunk of child.stdout) bytes += chunk.length;
    return bytes;
  },
  async fill(child, bytes) {
    const writer = child.stdin.getWriter();
    for (let left = bytes; left > 0; left -= BLOCK.length) await writer.write(BLOCK);
    await writer.close();
  },
  kill: (child) => child.kill('SIGKILL'),
});
