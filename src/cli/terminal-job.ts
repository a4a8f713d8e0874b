// Job control on a terminal: between the caller's shell and a child with a process group of its own.
import { constants } from 'node:os';
import { setImmediate, setTimeout } from 'node:timers/promises';

import type { Child } from '../launch/child.js';
import type { ExitStatus } from '../launch/outcomes.js';
import { native } from '../native.js';
import { forwardToGroup, Receiver } from './forward.js';
import type { Job } from './job.js';
import { isGroupOrphaned, isGroupShared } from './process-group.js';
import type { Terminal } from './terminal.js';

const { SIGINT, SIGSTOP, SIGTTIN, SIGTTOU } = constants.signals;

/** Milliseconds in which a shell looks at what its children do. */
const SHELL_LOOKS = 50;

/**
 * To its shell this process is the program: when the child stops it stops, when it is continued it
 * continues the child, and in between it hands the keyboard (the terminal's foreground group) on.
 */
export class TerminalJob implements Job {
  readonly session = 'group';
  foreground: number | undefined;
  beforeStop: (() => void) | undefined;
  passedOn: (() => Promise<void>) | undefined;
  readonly #terminal: Terminal;
  readonly #ownGroup = native().processGroup();
  readonly #receiver = new Receiver();
  /** The child's group has the keyboard, from us. */
  #hasGiven = false;
  /** The signal by which we were told to stop, and others of our job by the same hand. */
  #toldToStop: NodeJS.Signals | null = null;
  #isChildStopped = false;
  /** It was seen to be stopped, and what it printed before is still on its way. */
  #isPassingOn = false;
  /** Others of our job wanted the keyboard while the child had it, and were stopped by the kernel. */
  #arePeersStopped = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.foreground = terminal.isWanted() ? terminal.fd : undefined;
    terminal.keepModes();
    forwardToGroup(this.#receiver);
    process.on('SIGCHLD', () => {
      this.#checkChild();
    });
    process.on('SIGCONT', () => {
      this.#continue();
    });
    process.on('SIGTSTP', () => {
      this.#passStop('SIGTSTP');
    });
    for (const signal of ['SIGTTIN', 'SIGTTOU'] as const) {
      process.on(signal, () => {
        // The kernel sends these to a whole group: somebody else of our job wants the keyboard.
        if (this.#hasGiven) this.#arePeersStopped = true;
        else this.#passStop(signal);
      });
    }
  }

  watch(child: Child): void {
    this.#hasGiven = this.foreground !== undefined;
    if (!this.#hasGiven && this.#terminal.isWanted()) this.#give(child);
    this.#receiver.begin(child);
    // It may have wanted the keyboard at once, and been stopped for it before we knew it.
    this.#checkChild();
  }

  abandon(): void {
    // The foreground group is set before exec, and may be that of a child that never was.
    if (this.foreground !== undefined) this.#terminal.take(false);
    this.foreground = undefined;
  }

  async end(status: ExitStatus): Promise<void> {
    this.#receiver.end();
    if (!this.#hasGiven) return;
    this.#terminal.take(status.signal !== null);
    await this.#continuePeers();
    this.#passInterrupt(status.signal);
  }

  async #continuePeers(): Promise<void> {
    // Twice, so that a signal which crossed the child's end has become an event.
    await setImmediate();
    await setImmediate();
    if (!this.#arePeersStopped) return;
    process.kill(0, 'SIGCONT');
    // The shell takes a job whose other processes are stopped for stopped when we end, unless it has
    // seen by then that they go on.
    await setTimeout(SHELL_LOOKS);
  }

  /**
   * ^C and ^\ went to the child alone. Where our job is more than us (a script, make), it would have
   * ended too: `sallyport run a; sallyport run b` must not go on to b. We end by the signal and not
   * with a code, because that is what bash looks at.
   */
  #passInterrupt(signal: NodeJS.Signals | null): void {
    if (signal !== 'SIGINT' && signal !== 'SIGQUIT') return;
    if (!isGroupShared(this.#ownGroup)) return;
    if (signal === 'SIGINT') native().raiseDefault(SIGINT, true);
    else process.kill(0, signal); // Not by default here: that would leave a core of node.
  }

  #checkChild(): void {
    const { child } = this.#receiver;
    if (child === null) return;
    const signal = native().takeStop(child.pid);
    if (signal === 0) return;
    if (isKeyboardWish(signal) && this.#toldToStop === null) {
      if (!this.#hasGiven && this.#terminal.isOurs()) this.#give(child);
      if (this.#terminal.isAt(child.pid)) {
        this.#receiver.sendToGroup('SIGCONT');
        return;
      }
    }
    if (this.passedOn === undefined) this.#stop(child, signal);
    else void this.#stopAfterwards(child, signal, this.passedOn);
  }

  /** While we are stopped nobody reads its pipes. */
  async #stopAfterwards(
    child: Child,
    signal: number,
    passedOn: () => Promise<void>,
  ): Promise<void> {
    this.#isPassingOn = true;
    await passedOn();
    // Continued meanwhile, or ended.
    if (!this.#isPassingOn || this.#receiver.child !== child) return;
    this.#isPassingOn = false;
    this.#stop(child, signal);
  }

  #stop(child: Child, signal: number): void {
    this.#isChildStopped = true;
    this.beforeStop?.();
    if (this.#hasGiven) this.#terminal.take(true);
    this.#hasGiven = false;
    if (!isGroupOrphaned(this.#ownGroup)) {
      // The keyboard's ^Z and the kernel's SIGTTIN are for a whole job: the shell gets its prompt
      // back when all of it is stopped. SIGSTOP is for one process.
      if (this.#toldToStop === null) native().raiseDefault(signal, signal !== SIGSTOP);
      else native().raiseDefault(constants.signals[this.#toldToStop], false);
      return; // SIGCONT is an event of its own.
    }
    // Nobody is there to continue us (`docker run -it … sallyport run sh`): never stop. Who wants a
    // keyboard that is somebody else's will never get it; the kernel ends such groups like this.
    if (isKeyboardWish(signal)) {
      if (this.#terminal.isOurs()) this.#give(child);
      else this.#receiver.sendToGroup('SIGHUP');
    }
    this.#continue();
  }

  #continue(): void {
    this.#toldToStop = null;
    this.#isPassingOn = false;
    const { child } = this.#receiver;
    if (child === null) return;
    // Stopped by SIGSTOP we had no time to take the keyboard back; our shell took it.
    if (this.#hasGiven && !this.#terminal.isAt(child.pid)) this.#hasGiven = false;
    if (!this.#hasGiven && this.#terminal.isWanted()) this.#give(child);
    this.#isChildStopped = false;
    this.#receiver.sendToGroup('SIGCONT');
  }

  #passStop(signal: NodeJS.Signals): void {
    const { child } = this.#receiver;
    if (child === null) {
      this.#stopAlone(signal);
      return;
    }
    this.#toldToStop = signal;
    // ^Z so soon after `fg` that it cancelled the SIGCONT: the child has nothing to do any more.
    if (this.#isChildStopped) this.#stop(child, constants.signals[signal]);
    // It may put the screen right first; we stop when it has stopped.
    else this.#receiver.sendToGroup(signal);
  }

  /** Before there is a child (credentials may be minted for it), or after its end. */
  #stopAlone(signal: NodeJS.Signals): void {
    // The kernel would have discarded it, had we no handler.
    if (isGroupOrphaned(this.#ownGroup)) return;
    native().raiseDefault(constants.signals[signal], false);
    // Continued, perhaps in the background. The child is given the keyboard then, if we have it.
    this.foreground = undefined;
  }

  #give(child: Child): void {
    this.#terminal.give(child.pid);
    this.#hasGiven = true;
  }
}

/** The kernel stopped a background process that reads from the terminal, or changes its modes. */
function isKeyboardWish(signal: number): boolean {
  return signal === SIGTTIN || signal === SIGTTOU;
}
