// One line on the terminal that says how a run is doing, for as long as it is under way.
import { isatty } from 'node:tty';

import { native } from '../native.js';
import { phraseCount } from '../phrase-count.js';
import type { RunUnderWay } from '../run/handle.js';
import { RunTree } from '../run/run-tree.js';
import { phraseSize, phraseTime } from './quantities.js';
import type { Terminal } from './terminal.js';

/** Milliseconds between two looks at the run. */
const INTERVAL = 500;
/** A line that fits is not broken in two when the window gets narrower. */
const LONGEST = 78;

const ECHO = 3;

const STDERR = 2;
const NEWLINE = 0x0a;

export class StatusLine {
  readonly #running: RunUnderWay;
  readonly #terminal: Terminal | null;
  readonly #tree: RunTree;
  readonly #start = performance.now();
  readonly #timer: NodeJS.Timeout;
  /** What stands there now. */
  #shown = '';
  /** The program has written part of a line, which must not be written over. */
  #isMidLine = false;

  /** @returns null where stderr is no terminal */
  static open(running: RunUnderWay, terminal: Terminal | null): StatusLine | null {
    return isatty(STDERR) ? new StatusLine(running, terminal) : null;
  }

  private constructor(running: RunUnderWay, terminal: Terminal | null) {
    this.#running = running;
    this.#terminal = terminal;
    this.#tree = new RunTree(running.child.pid);
    this.#timer = setInterval(() => {
      this.#draw();
    }, INTERVAL);
  }

  /** Something is about to be written by the program, to this terminal or elsewhere. */
  makeWay(chunk: Uint8Array, isTerminal: boolean): void {
    if (!isTerminal) return;
    this.hide();
    this.#isMidLine = chunk.at(-1) !== NEWLINE;
  }

  /** It comes back by itself while the run goes on. */
  hide(): void {
    if (this.#shown === '') return;
    write(`\r${this.#blank(this.#shown.length)}\r`);
    this.#shown = '';
  }

  close(): void {
    clearInterval(this.#timer);
    this.hide();
  }

  #draw(): void {
    const columns = native().terminalColumns(STDERR);
    if (this.#isMidLine || columns <= ECHO || !this.#isInForeground()) {
      this.hide();
      return;
    }
    // Room is left for what the terminal echoes, ^C and ^Z.
    const text = this.#phrase().slice(0, Math.min(LONGEST, columns - ECHO));
    // In one write, so that it does not flicker.
    write(`\r${text}${this.#blank(this.#shown.length - text.length)}`);
    this.#shown = text;
  }

  /** What is at the cursor and behind it. Blanks would stay as such when the window gets narrower. */
  #blank(length: number): string {
    const { TERM = 'dumb' } = process.env;
    return TERM === 'dumb' ? ' '.repeat(Math.max(0, length)) : '\u001b[K';
  }

  /** In the background it would write into whatever is in the foreground. */
  #isInForeground(): boolean {
    const terminal = this.#terminal;
    return terminal === null || terminal.isOurs() || terminal.isAt(this.#running.child.pid);
  }

  #phrase(): string {
    const { stdout, stderr } = this.#running;
    const now = performance.now();
    const silent = now - Math.max(stdout.lastOutput, stderr.lastOutput);
    const processes = this.#tree.members().length;
    return [
      `sallyport: ${phraseTime(now - this.#start)}`,
      phraseSize(stdout.bytesSeen + stderr.bytesSeen),
      `last output ${phraseTime(silent)} ago`,
      phraseCount(processes, 'process', 'processes'),
    ].join(', ');
  }
}

/** Quietly where the terminal takes nothing: the next one comes soon. */
function write(text: string): void {
  native().writeTerminal(STDERR, Buffer.from(text));
}
