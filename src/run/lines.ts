// Cuts bytes into lines, however they arrive.
import { GrowingBuffer } from './keeper.js';

/** A longer line is given in pieces: a child that never ends its line must not fill our memory. */
export const LONGEST_LINE = 1 << 20;

const NEWLINE = 0x0a;

export class LineCutter {
  readonly #begun = new GrowingBuffer(LONGEST_LINE);

  /** The lines that end in this chunk, without their newline. */
  cut(chunk: Uint8Array): string[] {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    const lines: string[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      this.#begin(bytes.subarray(start, end), lines);
      lines.push(this.#take());
      start = end + 1;
    }
    this.#begin(bytes.subarray(start), lines);
    return lines;
  }

  /** The last line, where it has no newline. */
  flush(): string[] {
    return this.#begun.length === 0 ? [] : [this.#take()];
  }

  #begin(part: Uint8Array, lines: string[]): void {
    for (let rest = part; rest.length > 0;) {
      rest = rest.subarray(this.#begun.append(rest));
      if (rest.length > 0) lines.push(this.#take());
    }
  }

  #take(): string {
    const line = this.#begun.view().toString();
    this.#begun.clear();
    return line;
  }
}
