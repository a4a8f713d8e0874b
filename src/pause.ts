// A pause of the calling thread, for what has to be synchronous.
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** @param milliseconds for so long this thread, and its event loop, does nothing */
export function pause(milliseconds: number): void {
  Atomics.wait(sleeper, 0, 0, milliseconds);
}
