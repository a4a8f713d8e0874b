// Fetches an object again and again by the AWS SDK; prints a line of JSON for each call.
// node s3.mjs <endpoint> <milliseconds in all> <milliseconds between calls> [continue]
import { setTimeout as pause } from 'node:timers/promises';

import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';

const [endpoint, duration, interval, mode] = process.argv.slice(2);
const client = new S3Client({ endpoint, forcePathStyle: true });
const end = Date.now() + Number(duration);
let failed = false;
do {
  const start = Date.now();
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: 'b', Key: 'k' }));
    console.log(JSON.stringify({ ok: await Body.transformToString() }));
  } catch (error) {
    failed = true;
    const { name, Code, Message, message } = error;
    console.log(JSON.stringify({ error: name, Code, Message, message, ms: Date.now() - start }));
    if (mode !== 'continue') break;
  }
  await pause(Number(interval));
} while (Date.now() < end);
process.exitCode = failed ? 1 : 0;
