// SHA-256 of all that was seen, off the main thread.
import type { Hash } from 'node:crypto';
import { Worker } from 'node:worker_threads';

import { GrowingBuffer } from './keeper.js';

// Measured (Node 20, with SHA extensions): hashing takes the main thread 49 µs for 64 KiB and cuts
// the reading of a flood from 1.8 to 0.6 GiB/s; handing a finished buffer to the thread pool takes
// 30 µs; a worker thread needs 50 ms to begin. Hence three ways.

/** Up to here hashing costs less than giving it away. */
const HASHED_AT_ONCE = 16_384;
/** Up to here the thread pool gets all of it in one piece, at the end. */
const HASHED_AS_A_WHOLE = 1 << 18;
/** What the worker thread gets at a time, and how many of these there are for each channel. */
const BLOCK = 1 << 18;
const BLOCKS = 3;
/** There is always room for so much more, so that what has been read need not be set aside. */
const RESERVE = 1 << 16;

export const HASH_OF_NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** In pieces and on this thread, for whoever has to wait for it anyway. */
export function startHash(): Hash {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous and late
  const { createHash } = require('node:crypto') as typeof import('node:crypto');
  return createHash('sha256');
}

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
    if (whole.length === 0) return HASH_OF_NOTHING;
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- synchronous and late
    const crypto = require('node:crypto') as typeof import('node:crypto');
    if (whole.length <= HASHED_AT_ONCE) {
      return crypto.createHash('sha256').update(whole).digest('hex');
    }
    return Buffer.from(await crypto.webcrypto.subtle.digest('SHA-256', whole)).toString('hex');
  }
}

/** A number of bytes of a block, or the memory at the beginning, or nothing at the end. */
interface Request {
  id: number;
  memory?: SharedArrayBuffer;
  block?: number;
  length?: number;
}
type Answer = { id: number; block: number } | { id: number; digest: string };

// As text: beside a source file that is tested there is no compiled one to start.
const WORKER = `
const { createHash } = require('node:crypto');
const { parentPort } = require('node:worker_threads');
const hashes = new Map();
parentPort.on('message', ({ id, memory, block, length }) => {
  if (memory !== undefined) {
    const blocks = Array.from({ length: ${BLOCKS} }, (_, block) =>
      new Uint8Array(memory, block * ${BLOCK}, ${BLOCK}));
    hashes.set(id, { hash: createHash('sha256'), blocks });
  } else if (block !== undefined) {
    const { hash, blocks } = hashes.get(id);
    hash.update(length === ${BLOCK} ? blocks[block] : blocks[block].subarray(0, length));
    parentPort.postMessage({ id, block });
  } else {
    const { hash } = hashes.get(id);
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
  const started = new Worker(WORKER, {
    eval: true,
    env: {},
    execArgv: [],
    argv: [],
    // It makes next to no garbage; with Node's own limits it would take 16 MiB before it collects.
    resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
  });
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

/**
 * Blocks of shared memory that are filled here, hashed there, and filled again: shared because blocks
 * that are handed over leave 10 MiB more behind until they are collected.
 */
class HashStream {
  readonly #id = ++lastId;
  readonly #thread: Worker;
  readonly #blocks: readonly Uint8Array[];
  readonly #free: number[] = [];
  #block: number | undefined;
  #filled = 0;
  #finished = false;
  /** What no block was free for: nothing, unless somebody writes without waiting. */
  #waiting: Buffer[] = [];
  #awaited: { promise: Promise<void>; resolve: () => void } | undefined;
  #failure: Error | undefined;
  #settle: { resolve: (digest: string) => void; reject: (error: Error) => void } | undefined;

  constructor() {
    streams.set(this.#id, this);
    this.#thread = hashingThread();
    const memory = new SharedArrayBuffer(BLOCK * BLOCKS);
    this.#blocks = Array.from({ length: BLOCKS }, (_, block) => {
      this.#free.push(block);
      return new Uint8Array(memory, block * BLOCK, BLOCK);
    });
    this.#post({ id: this.#id, memory });
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#failure !== undefined) return undefined;
    const taken = this.#waiting.length === 0 ? this.#fill(chunk) : 0;
    if (taken < chunk.length) this.#waiting.push(Buffer.from(chunk.subarray(taken)));
    if (this.#hasReserve()) return undefined;
    this.#awaited ??= makeWait();
    return this.#awaited.promise;
  }

  digest(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      if (this.#failure !== undefined) this.fail(this.#failure);
      else if (this.#waiting.length === 0) this.#finish();
    });
  }

  receive(answer: Answer): void {
    if ('digest' in answer) {
      this.#leave();
      this.#settle?.resolve(answer.digest);
      return;
    }
    this.#free.push(answer.block);
    for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift()) {
      const taken = this.#fill(chunk);
      if (taken < chunk.length) {
        this.#waiting.unshift(chunk.subarray(taken));
        return;
      }
    }
    if (this.#settle !== undefined) this.#finish();
    else if (this.#hasReserve()) this.#wake();
  }

  fail(error: Error): void {
    this.#failure = error;
    this.#leave();
    this.#waiting = [];
    this.#wake();
    this.#settle?.reject(error);
  }

  #hasReserve(): boolean {
    if (this.#waiting.length > 0) return false;
    return this.#free.length > 0 || (this.#block !== undefined && BLOCK - this.#filled >= RESERVE);
  }

  #wake(): void {
    this.#awaited?.resolve();
    this.#awaited = undefined;
  }

  #leave(): void {
    streams.delete(this.#id);
    endWithTheLast();
  }

  #finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    if (this.#filled > 0) this.#send();
    this.#post({ id: this.#id });
  }

  #fill(chunk: Uint8Array): number {
    let taken = 0;
    while (taken < chunk.length) {
      this.#block ??= this.#free.pop();
      if (this.#block === undefined) break;
      const room = BLOCK - this.#filled;
      const isWhole = taken === 0 && chunk.length <= room;
      const part = isWhole ? chunk : chunk.subarray(taken, taken + room);
      this.#blocks[this.#block]?.set(part, this.#filled);
      this.#filled += part.length;
      taken += part.length;
      if (this.#filled === BLOCK) this.#send();
    }
    return taken;
  }

  #send(): void {
    if (this.#block === undefined) return;
    this.#post({ id: this.#id, block: this.#block, length: this.#filled });
    this.#block = undefined;
    this.#filled = 0;
  }

  #post(request: Request): void {
    this.#thread.postMessage(request);
  }
}

function makeWait(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
