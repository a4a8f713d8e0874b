// spawnSync: results of every kind.
const { spawnSync } = require('node:child_process');
const { closeSync, mkdtempSync, openSync, readFileSync, rmSync } = require('node:fs');
const path = require('node:path');

const show = (value) => value && { ...value, message: value.message, name: value.name };
function run(name, file, args, options) {
  let result;
  try {
    result = spawnSync(file, args, options);
  } catch (error) {
    console.log(name, 'thrown', show(error));
    return;
  }
  const { pid, error, output, ...rest } = result;
  const shorten = (value) => (value?.length > 300 ? `${value.length} long` : value);
  console.log(name, pid > 0, Object.keys(result).sort().join(), show(error), output?.map(shorten));
  console.log(rest.status, rest.signal, shorten(rest.stdout), shorten(rest.stderr));
}

run('success', 'echo', ['x']);
run('failure', 'sh', ['-c', 'echo o; echo e >&2; exit 7'], { encoding: 'utf8' });
run('signal', 'sh', ['-c', 'kill -SEGV $$']);
run('realtime signal', 'sh', ['-c', 'kill -40 $$']);
run('missing', 'no-such-program-anywhere', ['a', 'b']);
run('denied', '/etc/hosts');
run('missing directory', 'true', [], { cwd: '/no/such/directory' });
run('below a file', '/etc/hosts/x');
run('descriptor', 'true', [], { stdio: ['pipe', 'pipe', 'pipe', 1234] });
run('too long', 'true', ['x'.repeat(200_000)]);
run('input', 'cat', [], { input: 'some input', encoding: 'utf8' });
run('buffer', 'cat', [], { input: Buffer.from([0, 255, 1]) });
run('words', 'cat', [], { input: new Uint16Array([1, 2]) });
const words = new Uint16Array(200_000).fill(0x6162);
run('many words', 'wc', ['-c'], { input: words.subarray(1), encoding: 'utf8' });
run('view', 'cat', [], { input: new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2) });
run('empty input', 'cat', [], { input: '' });
run('big input', 'wc', ['-c'], { input: Buffer.alloc(2_000_000), encoding: 'utf8' });
run('big both ways', 'cat', [], { input: Buffer.alloc(900_000, 'x') });
run('input unread', 'sleep', ['0.1'], { input: 'few' });
run('much unread', 'sh', ['-c', 'exec <&-; exec sleep 0.2'], { input: Buffer.alloc(5_000_000) });
run('timeout', 'sleep', ['20'], { timeout: 50 });
run('timeout, signal', 'sleep', ['20'], { timeout: 50, killSignal: 'SIGKILL' });
run('timeout, output', 'sh', ['-c', 'echo begun; exec sleep 20'], {
  timeout: 300,
  encoding: 'utf8',
});
run('no timeout', 'true', [], { timeout: 20_000 });
run('maxBuffer', 'sh', ['-c', 'echo 1234567890; exec sleep 20'], {
  maxBuffer: 5,
  encoding: 'utf8',
});
run('maxBuffer of both', 'sh', ['-c', 'printf 12345; printf 12345 >&2'], { maxBuffer: 10 });
run('maxBuffer, signal', 'sh', ['-c', 'echo 123456; exec sleep 20'], {
  maxBuffer: 5,
  killSignal: 'SIGUSR1',
});
run('maxBuffer 0', 'echo', ['x'], { maxBuffer: 0 });
run('maxBuffer Infinity', 'sh', ['-c', 'head -c 3000000 /dev/zero'], { maxBuffer: Infinity });
run('much', 'sh', ['-c', 'head -c 1000000 /dev/zero']);
run('stdio ignore', 'echo', ['x'], { stdio: 'ignore' });
run('stdio inherit', 'echo', ['inherited'], { stdio: 'inherit' });
run('stdio of each', 'sh', ['-c', 'echo o; echo e >&2; echo f >&3'], {
  stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  encoding: 'utf8',
});
run('ipc', 'true', [], { stdio: ['ipc'] });
run('shell', 'echo $((1 + 2)); exit 4', { shell: true, encoding: 'utf8' });
run('hex', 'echo', ['x'], { encoding: 'hex' });
run('a grandchild has the pipe', 'sh', ['-c', 'sleep 0.3 & echo first'], { encoding: 'utf8' });
run('a grandchild has the pipe, timeout', 'sh', ['-c', 'sleep 20 & echo first'], {
  encoding: 'utf8',
  timeout: 300,
});
run('options', 'true', [], { timeout: -1 });
run('options', 'true', [], { killSignal: 'SIGNONE' });
run('options', 'true', [], { input: 5 });

const scratch = mkdtempSync('/tmp/compat-');
const fd = openSync(path.join(scratch, 'out'), 'w');
run('file', 'echo', ['to a file'], { stdio: ['ignore', fd, fd] });
closeSync(fd);
console.log(readFileSync(path.join(scratch, 'out'), 'utf8'));
rmSync(scratch, { recursive: true });
