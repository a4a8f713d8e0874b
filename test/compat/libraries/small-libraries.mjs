// tinyexec, nano-spawn and cross-spawn: output, input, errors, lines.
import crossSpawn from 'cross-spawn';
import spawn from 'nano-spawn';
import { x } from 'tinyexec';

const { stdout, stderr, exitCode } = await x('sh', ['-c', 'echo o; echo e >&2; exit 4']);
console.log(stdout, stderr, exitCode);
const lines = [];
for await (const line of x('printf', ['a\\nb\\n'])) lines.push(line);
console.log(lines);
console.log((await x('echo', ['piped']).pipe('cat')).stdout);
await x('no-such-program-anywhere').then(null, (error) => console.log(error.message));
await x('sleep', ['20'], { timeout: 100 }).then(
  (result) => console.log('ended', result.exitCode),
  (error) => console.log(error.name),
);

console.log((await spawn('echo', ['by nano-spawn'])).output);
await spawn('sh', ['-c', 'exit 5']).catch((error) => console.log(error.message, error.exitCode));
await spawn('no-such-program-anywhere').catch((error) =>
  console.log(error.message, error.cause.code),
);
console.log(
  (await spawn('echo', ['x']).pipe('cat')).stdout,
  (await spawn('cat', { stdin: { string: 'in' } })).stdout,
);

const child = crossSpawn('sh', ['-c', 'echo $0 "$@"', 'a', 'b "c'], {
  stdio: ['ignore', 'pipe', 2],
});
child.stdout.on('data', (data) => console.log(String(data)));
await new Promise((resolve) => child.on('close', resolve));
console.log(crossSpawn.sync('echo', ['sync'], { encoding: 'utf8' }).stdout);
console.log(crossSpawn.sync('no-such-program-anywhere').error.message);
crossSpawn('no-such-program-anywhere').on('error', (error) => console.log({ ...error }));
