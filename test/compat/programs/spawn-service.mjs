// A service that stays and speaks over stdin and stdout, as esbuild and sass-embedded have it.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const service = spawn('sh', ['-c', 'while read -r line; do echo "answer to $line"; done'], {
  windowsHide: true,
  stdio: ['pipe', 'pipe', 'inherit'],
});
// The service must not keep the program running.
service.unref();
service.stdin.unref();
service.stdout.unref();
const answers = createInterface({ input: service.stdout })[Symbol.asyncIterator]();
for (let i = 0; i < 1000; i++) {
  service.stdout.ref();
  service.stdin.write(`question ${i}\n`);
  const { value } = await answers.next();
  if (value !== `answer to question ${i}`) throw new Error(value);
  service.stdout.unref();
}
console.log('1000 answers, and the service still runs:', service.exitCode);
