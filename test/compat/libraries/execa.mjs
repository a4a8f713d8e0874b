// execa: output, input, pipes between programs, IPC, files, cancellation, errors, the synchronous form.
import { execa, execaNode, execaSync, getOneMessage, sendMessage } from 'execa';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(import.meta.url);
if (process.argv[2] === 'child') {
  const message = await getOneMessage();
  await sendMessage({ ...message, answered: true });
  process.exit(0);
}
const show = ({
  shortMessage,
  exitCode,
  signal,
  isCanceled,
  timedOut,
  isTerminated,
  stdout,
  code,
}) => [...[shortMessage, exitCode, signal, isCanceled, timedOut, isTerminated, stdout, code]];

console.log(show(await execa('echo', ['a', 'b c'])));
console.log(show(await execa({ input: 'given' })`cat`));
console.log(
  show(await execa('sh', ['-c', 'echo o; echo e >&2; exit 3'], { all: true, reject: false })),
);
console.log(show(await execa('no-such-program-anywhere').catch((error) => error)));
console.log(show(await execa('sleep', ['20'], { timeout: 100 }).catch((error) => error)));
console.log((await execa('printf', ['one\\ntwo\\n']).pipe('sort', ['-r'])).stdout);
const lines = [];
for await (const line of execa('printf', ['1\\n2\\n3\\n'])) lines.push(line);
console.log(lines);
const cancel = new AbortController();
const canceled = execa('sleep', ['20'], { cancelSignal: cancel.signal });
cancel.abort();
console.log(show(await canceled.catch((error) => error)));
const forked = execaNode(file, ['child'], { ipc: true });
await forked.sendMessage({ a: [1] });
console.log(await forked.getOneMessage());
await forked;
console.log(
  show(execaSync('cat', { input: 'sync' })),
  execaSync('sh', ['-c', 'exit 2'], { reject: false }).exitCode,
);
console.log(
  (await execa('sh', ['-c', 'echo third >&3'], { stdio: ['pipe', 'pipe', 'pipe', 'pipe'] }))
    .stdio[3],
);
console.log(
  (await execa('head', ['-c', '3000000', '/dev/zero'], { encoding: 'buffer' })).stdout.length,
);
console.log(
  show(await execa('head', ['-c', '3000', '/dev/zero'], { maxBuffer: 10 }).catch((e) => e))[0],
);
