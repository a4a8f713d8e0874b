// A worker: one job a line on stdin, one answer a line on stdout, until stdin ends.
import { createInterface } from 'node:readline';

for await (const line of createInterface({ input: process.stdin })) {
  const { word } = JSON.parse(line);
  // A job that breaks its worker, for the example.
  if (word === 'crash') process.exit(70);
  const answer = { pid: process.pid, word: [...word].reverse().join('') };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
