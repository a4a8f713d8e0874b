// What drivers share that run in Node, their children EventEmitters with Node streams.
import { performance } from 'node:perf_hooks';

const BLOCK = Buffer.alloc(64 * 1024);

/** How long the event loop has been at work, in ns: it cannot serve others meanwhile. */
export const busyTime = () => performance.eventLoopUtilization().active * 1e6;

export function exited(child) {
  return new Promise((resolve, reject) => {
    child.once('exit', resolve);
    child.once('error', reject);
  });
}

export function drain(child) {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    child.stdout.on('data', (chunk) => {
      bytes += chunk.length;
    });
    child.stdout.once('end', () => resolve(bytes));
    child.stdout.once('error', reject);
  });
}

export function fill(child, bytes) {
  return new Promise((resolve, reject) => {
    const { stdin } = child;
    let left = bytes;
    const writeOn = () => {
      while (left > 0) {
        left -= BLOCK.length;
        if (!stdin.write(BLOCK)) return;
      }
      stdin.end(resolve);
    };
    stdin.on('drain', () => {
      if (left > -BLOCK.length && !stdin.writableEnded) writeOn();
    });
    stdin.once('error', reject);
    writeOn();
  });
}
