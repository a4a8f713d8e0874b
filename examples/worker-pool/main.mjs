// Uses the pool: two workers for six jobs, one of which breaks its worker; then four pools that ask
// for something else than what was approved.
//   node examples/worker-pool/main.mjs
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { strictProfile } from 'sallyport/review';

import { Pool, Refused } from './pool.mjs';

const script = fileURLToPath(new URL('worker.mjs', import.meta.url));
const environment = { LANG: 'C.UTF-8' };

// What somebody has read and approved. From a file: `readProfile(path)`.
const approved = strictProfile({
  executable: process.execPath,
  arguments: [script],
  environment,
  cwd: '/',
  stdin: { channel: 'pipe', reason: 'its jobs' },
});

const file = process.execPath;
const args = [script];
const options = { env: environment, cwd: '/', stdio: 'pipe' };

const pool = new Pool(approved, { file, args, options });
for (let count = 0; count < 2; count += 1) {
  const { pid, evidence } = await pool.add();
  const numbers = evidence.descriptors.map(({ target }) => target).join(' ');
  console.log(`worker ${pid}: looked at ${evidence.when}, holds ${numbers}`);
}

const words = ['stressed', 'drawer', 'crash', 'lager', 'reward', 'parts'];
await Promise.all(
  words.map(async (word) => {
    try {
      const { pid, word: answer } = await pool.do({ word });
      console.log(`${word}: ${answer}, by ${pid}`);
    } catch (error) {
      console.log(`${word}: ${error.message}`);
    }
  }),
);
const ended = await pool.close();
console.log(`${ended.length} workers ended with ${ended.map(({ code }) => code).join(' ')}`);

// None of these starts.
const fd = openSync('/etc/passwd', 'r');
const others = {
  'a variable more': { env: { ...environment, NODE_OPTIONS: '--inspect' } },
  'a descriptor more': { pass: [fd] },
  'another directory': { cwd: '/tmp' },
  'setuid programs': { noNewPrivileges: false },
};
for (const [name, change] of Object.entries(others)) {
  const other = new Pool(approved, { file, args, options: { ...options, ...change } });
  try {
    await other.add();
    console.log(`${name}: it was started`);
    process.exitCode = 1;
    await other.close();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    console.log(`${name}: ${error.message}`);
  }
}
closeSync(fd);
