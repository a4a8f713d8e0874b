// The caller's terminal: which process group has the keyboard, and in which modes the terminal is.
import { fstatSync } from 'node:fs';

import { native } from '../native.js';

/** The first of 0, 1, 2 that is our controlling terminal, or null. */
export function findTerminal(): Terminal | null {
  const fd = [0, 1, 2].find((number) => native().isControllingTerminal(number));
  return fd === undefined ? null : new Terminal(fd);
}

/** A call that the terminal refuses changes nothing: it was hung up, and nobody is at its keyboard. */
export class Terminal {
  readonly fd: number;
  readonly #ownGroup = native().processGroup();
  #ownModes: ArrayBuffer | null = null;
  #childModes: ArrayBuffer | null = null;

  constructor(fd: number) {
    this.fd = fd;
  }

  isOurs(): boolean {
    return this.#foreground() === this.#ownGroup;
  }

  isAt(group: number): boolean {
    return this.#foreground() === group;
  }

  /**
   * Whether a program that is started here should have the keyboard from its first moment. Not where
   * 0 or 1 lead elsewhere: then something else of the caller's job may be at the keyboard
   * (`sallyport run git log | less`, `sallyport run server &` in a script), and the child gets it
   * when it asks, that is when the kernel stops it for reading.
   */
  isWanted(): boolean {
    return this.isOurs() && native().isControllingTerminal(0) && !isPipe(1);
  }

  /** Remembers the modes to come back to. */
  keepModes(): void {
    this.#ownModes = native().saveTerminalModes(this.fd);
  }

  /** Gives the keyboard to `group`, in the modes in which that group left the terminal. */
  give(group: number): void {
    this.keepModes();
    if (this.#childModes !== null) native().restoreTerminalModes(this.fd, this.#childModes);
    // Last: a ^Z between this and the SIGCONT that follows is lost, in every shell.
    native().setForegroundGroup(this.fd, group);
  }

  /**
   * Takes the keyboard back.
   *
   * @param restore also the modes: a program that ended by itself may have set them on purpose
   *   (`stty`), one that was stopped or killed may have been in the middle of anything.
   */
  take(restore: boolean): void {
    this.#childModes = restore ? native().saveTerminalModes(this.fd) : null;
    native().setForegroundGroup(this.fd, this.#ownGroup);
    if (restore && this.#ownModes !== null) native().restoreTerminalModes(this.fd, this.#ownModes);
  }

  #foreground(): number | null {
    return native().foregroundGroup(this.fd);
  }
}

function isPipe(fd: number): boolean {
  try {
    const about = fstatSync(fd);
    return about.isFIFO() || about.isSocket();
  } catch {
    return false;
  }
}
