// SHA-256 of all that was seen, off the main thread.
import { Worker } from 'node:worker_threads';

import { GrowingBuffer } from './keeper.js';

// Measured (Node 20, with SHA extensions): hashing takes the main thread 49 µs for 64 KiB and cuts
// the reading of a flood from 1.8 to 0.6 GiB/s; handing a finished buffer to the thread pool takes
// 30 µs; a worker thread needs 50 ms to begin. Hence three ways.

/** Up to here hashing costs less than giving it away. */
const HASHED_AT_ONCE = 16_384;
/** Up to here the thread pool gets all of it in one piece, at the end. */
const HASHED_AS_A_WHOLE = 1 << 20;
/** What the worker thread gets at a time, and how many of these there are for each channel. */
const BLOCK = 1 << 18;
const BLOCKS = 4;

const OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export class Hasher {
  #first = new GrowingBuffer(HASHED_AS_A_WHOLE);
  #stream: HashStream | undefined;

  /** Takes a copy. @returns what to wait for before the next one */
  add(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#stream === undefined) {
      const taken = this.#first.append(chunk);
      if (taken === chunk.length) return undefined;
      this.#stream = new HashStream();
      const before = this.#stream.write(this.#first.view());
      this.#first = new GrowingBuffer(0);
      const rest = this.#stream.write(chunk.subarray(taken));
      return rest ?? before;
    }
    return this.#stream.write(chunk);
  }

  /** In hexadecimal. Rejects where the worker thread failed. */
  async digest(): Promise<string> {
    if (this.#stream !== undefined) return this.#stream.digest();
    const whole = this.#first.view();
    if (whole.length === 0) return OF_NOTHING;
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous and late
    const crypto = require('node:crypto') as typeof import('node:crypto');
    if (whole.length <= HASHED_AT_ONCE) {
      return crypto.createHash('sha256').update(whole).digest('hex');
    }
    return Buffer.from(await crypto.webcrypto.subtle.digest('SHA-256', whole)).toString('hex');
  }
}

type Request =
  | { id: number; block: ArrayBuffer; length: number }
  | { id: number; block?: undefined };
type Answer = { id: number; block: ArrayBuffer } | { id: number; digest: string };

// As text: beside a source file that is tested there is no compiled one to start.
const WORKER = `
const { createHash } = require('node:crypto');
const { parentPort } = require('node:worker_threads');
const hashes = new Map();
parentPort.on('message', ({ id, block, length }) => {
  let hash = hashes.get(id);
  if (hash === undefined) hashes.set(id, (hash = createHash('sha256')));
  if (block !== undefined) {
    hash.update(new Uint8Array(block, 0, length));
    parentPort.postMessage({ id, block }, [block]);
  } else {
    hashes.delete(id);
    parentPort.postMessage({ id, digest: hash.digest('hex') });
  }
});`;

let worker: Worker | undefined;
let lastId = 0;
const streams = new Map<number, HashStream>();

/** One for all channels; it ends with the last of them, so that it holds no memory meanwhile. */
function hashingThread(): Worker {
  if (worker !== undefined) return worker;
  const started = new Worker(WORKER, { eval: true, env: {}, execArgv: [], argv: [] });
  started.on('message', (answer: Answer) => {
    streams.get(answer.id)?.receive(answer);
  });
  started.on('error', (error) => {
    if (worker === started) worker = undefined;
    for (const stream of [...streams.values()]) stream.fail(error);
  });
  worker = started;
  return started;
}

function endWithTheLast(): void {
  if (streams.size > 0 || worker === undefined) return;
  void worker.terminate();
  worker = undefined;
}

/** Blocks of memory go to the worker thread and come back: at most so many are on their way. */
class HashStream {
  readonly #id = ++lastId;
  readonly #thread: Worker;
  readonly #free: ArrayBuffer[] = [];
  #made = 0;
  #block: Uint8Array | undefined;
  #filled = 0;
  /** What no block was free for; less than what is read at once, or what was gathered first. */
  #waiting: Buffer[] = [];
  #awaited: { promise: Promise<void>; resolve: () => void } | undefined;
  #failure: Error | undefined;
  #settle: { resolve: (digest: string) => void; reject: (error: Error) => void } | undefined;

  constructor() {
    streams.set(this.#id, this);
    this.#thread = hashingThread();
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#failure !== undefined) return undefined;
    const taken = this.#awaited === undefined ? this.#fill(chunk) : 0;
    if (taken === chunk.length) return undefined;
    this.#waiting.push(Buffer.from(chunk.subarray(taken)));
    this.#awaited ??= makeWait();
    return this.#awaited.promise;
  }

  digest(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      if (this.#failure !== undefined) this.fail(this.#failure);
      else if (this.#awaited === undefined) this.#finish();
    });
  }

  receive(answer: Answer): void {
    if ('digest' in answer) {
      this.#leave();
      this.#settle?.resolve(answer.digest);
      return;
    }
    this.#free.push(answer.block);
    if (this.#awaited === undefined) return;
    for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift()) {
      const taken = this.#fill(chunk);
      if (taken < chunk.length) {
        this.#waiting.unshift(chunk.subarray(taken));
        return;
      }
    }
    this.#awaited.resolve();
    this.#awaited = undefined;
    if (this.#settle !== undefined) this.#finish();
  }

  fail(error: Error): void {
    this.#failure = error;
    this.#leave();
    this.#waiting = [];
    this.#awaited?.resolve();
    this.#awaited = undefined;
    this.#settle?.reject(error);
  }

  #leave(): void {
    streams.delete(this.#id);
    endWithTheLast();
  }

  #finish(): void {
    if (this.#filled > 0) this.#send();
    this.#thread.postMessage({ id: this.#id } satisfies Request);
  }

  #fill(chunk: Uint8Array): number {
    let taken = 0;
    while (taken < chunk.length) {
      this.#block ??= this.#nextBlock();
      if (this.#block === undefined) break;
      const part = chunk.subarray(taken, taken + BLOCK - this.#filled);
      this.#block.set(part, this.#filled);
      this.#filled += part.length;
      taken += part.length;
      if (this.#filled === BLOCK) this.#send();
    }
    return taken;
  }

  #nextBlock(): Uint8Array | undefined {
    const free = this.#free.pop();
    if (free !== undefined) return new Uint8Array(free);
    if (this.#made === BLOCKS) return undefined;
    this.#made += 1;
    return new Uint8Array(BLOCK);
  }

  #send(): void {
    const block = this.#block?.buffer as ArrayBuffer;
    this.#thread.postMessage({ id: this.#id, block, length: this.#filled } satisfies Request, [
      block,
    ]);
    this.#block = undefined;
    this.#filled = 0;
  }
}

function makeWait(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
