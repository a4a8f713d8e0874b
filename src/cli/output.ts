// Writes to our own 1 and 2 at once and whole, whatever they are connected to.
import { writeSync } from 'node:fs';

import { pause } from '../pause.js';

/**
 * A reader that went away has seen what it wanted: no error, as for `sallyport --help | head -1`.
 *
 * @throws the system's refusal otherwise, such as a full disk
 */
export function print(text: string): void {
  writeAll(1, text);
}

let redact = (text: string): string => text;

/** What is complained of from now on goes through it: secrets of a run are in no line of ours. */
export function redactBy(redactor: (text: string) => string): void {
  redact = redactor;
}

/** One paragraph: what, where, what to do. Where 2 is closed or full there is nobody left to tell. */
export function complain(sentence: string): void {
  complainAs(`sallyport: ${sentence.replaceAll(/\s*\n\s*/g, ' ').trim()}\n`);
}

/** What belongs to a complaint, as it is. */
export function complainAs(text: string): void {
  try {
    writeAll(2, redact(text));
  } catch {
    // Nobody left to tell.
  }
}

// Not process.stdout: it would make pipes and terminals non-blocking, for the child too, and would
// add a SIGWINCH listener.
function writeAll(fd: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'EPIPE') return;
      if (code !== 'EAGAIN') throw error;
      // Somebody who shares the pipe made it non-blocking, and it is full.
      pause(10);
    }
  }
}
