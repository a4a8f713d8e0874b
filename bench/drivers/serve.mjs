// The driver's half of the protocol, for every JavaScript runtime: a request a line, fields parted
// by tabs; an answer a line, in JSON. The other half is ../driver-process.mjs.
//
// A driver gives what differs between packages:
//   version                    text
//   start(file)                starts without standard channels; the time inside is what is measured
//   startPiped(file, args)     starts with three pipes
//   exited(child)              promise: its exit was seen
//   drain(child)               promise of the bytes read from its stdout until the end
//   fill(child, bytes)         promise: all written to its stdin, and that closed
//   kill(child)
// and where there is such a thing
//   started(child)             promise: what start gave has become a child
//   startSync(file)            starts, and waits for the exit
//   startShell(file)           the same through a shell, with its output
//   busyTime()                 ns in which the event loop has been at work so far
//
// `child` is what start or startPiped gave, be it a promise.
import { openSync } from 'node:fs';
import process from 'node:process';
import { createInterface } from 'node:readline';

const MEBIBYTE = 1024 * 1024;
const ballast = [];
const live = [];

const now = () => process.hrtime.bigint();
const since = (start) => Number(now() - start);

function collectGarbage() {
  if (globalThis.Bun) globalThis.Bun.gc(true);
  else globalThis.gc?.();
}

async function measureCalls(driver, file, count) {
  const blocked = [];
  const exited = [];
  const busyBefore = driver.busyTime?.();
  for (let i = 0; i < count; i++) {
    const start = now();
    const child = driver.start(file);
    blocked.push(since(start));
    await driver.exited(child);
    exited.push(since(start));
  }
  const busy = driver.busyTime && [(driver.busyTime() - busyBefore) / count];
  return { blocked, exited, busy };
}

function measureSync(start, file, count) {
  const elapsed = [];
  for (let i = 0; i < count; i++) {
    const from = now();
    start(file);
    elapsed.push(since(from));
  }
  return elapsed;
}

async function measureThroughput(driver, file, inFlight, count) {
  let left = count;
  const runShare = async () => {
    while (left-- > 0) await driver.exited(driver.start(file));
  };
  const start = now();
  await Promise.all(Array.from({ length: inFlight }, runShare));
  return { elapsed: since(start) };
}

async function measureRead(driver, pour, bytes) {
  const start = now();
  const child = driver.startPiped(pour, ['out', String(bytes)]);
  const [total] = await Promise.all([driver.drain(child), driver.exited(child)]);
  return { elapsed: since(start), bytes: total };
}

async function measureWrite(driver, pour, bytes) {
  const start = now();
  const child = driver.startPiped(pour, ['in']);
  await Promise.all([driver.fill(child, bytes), driver.exited(child)]);
  return { elapsed: since(start), bytes };
}

function holdBuffers(mebibytes) {
  for (let left = mebibytes; left > 0; left -= 64) ballast.push(Buffer.alloc(64 * MEBIBYTE, 1));
}

/** Small arrays of about 1 KiB each: ordinary pages of the collector's heap, quick to build. */
function holdObjects(mebibytes) {
  for (let i = 0; i < mebibytes; i++) {
    ballast.push(Array.from({ length: 1024 }, () => new Array(126).fill(i)));
  }
}

async function answer(driver, [name, ...fields]) {
  const numbers = fields.map(Number);
  switch (name) {
    case 'calls':
      return measureCalls(driver, fields[0], numbers[1]);
    case 'sync':
      return {
        sync: measureSync(driver.startSync, fields[0], numbers[1]),
        shell: measureSync(driver.startShell, fields[0], numbers[1]),
      };
    case 'throughput':
      return measureThroughput(driver, fields[0], numbers[1], numbers[2]);
    case 'read':
      return measureRead(driver, fields[0], numbers[1]);
    case 'write':
      return measureWrite(driver, fields[0], numbers[1]);
    case 'live':
      while (live.length < numbers[1]) live.push(driver.startPiped(fields[0], ['in']));
      await Promise.all(live.map((child) => driver.started?.(child)));
      collectGarbage();
      return {};
    case 'release':
      for (const child of live) driver.kill(child);
      await Promise.all(live.map((child) => driver.exited(child)));
      live.length = 0;
      return {};
    case 'buffers':
      holdBuffers(numbers[0]);
      collectGarbage();
      return {};
    case 'objects':
      holdObjects(numbers[0]);
      collectGarbage();
      return {};
    case 'descriptors':
      for (let i = 0; i < numbers[0]; i++) openSync('/dev/null', 'r');
      return {};
    default:
      return { error: `unknown request ${name}` };
  }
}

export async function serve(driver) {
  const reply = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
  reply({ version: driver.version });
  for await (const line of createInterface({ input: process.stdin })) {
    let result;
    try {
      result = await answer(driver, line.split('\t'));
    } catch (error) {
      result = { error: String(error) };
    }
    reply(result);
  }
  process.exit(0);
}
