// What drivers share whose children are EventEmitters with Node streams.

const BLOCK = Buffer.alloc(64 * 1024);

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
