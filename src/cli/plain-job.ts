// Jobs without a part of the terminal: a child in a group of its own, and one in ours.
import { constants } from 'node:os';

import type { Child } from '../launch/child.js';
import { native } from '../native.js';
import { forwardToChild, forwardToGroup, Receiver } from './forward.js';
import type { Job } from './job.js';
import { isGroupOrphaned } from './process-group.js';
import type { Terminal } from './terminal.js';

/** In a session or group of its own: the keyboard's signals reach the child only through us. */
export class SeparateJob implements Job {
  readonly session;
  readonly foreground = undefined;
  beforeStop: (() => void) | undefined;
  readonly #receiver = new Receiver();

  constructor(session: 'new' | 'group') {
    this.session = session;
    forwardToGroup(this.#receiver);
    process.on('SIGCONT', () => {
      this.#receiver.sendToGroup('SIGCONT');
    });
    for (const signal of ['SIGTSTP', 'SIGTTIN', 'SIGTTOU'] as const) {
      process.on(signal, () => {
        this.#stop(signal);
      });
    }
  }

  watch(child: Child): void {
    this.#receiver.begin(child);
  }

  abandon(): void {
    // Nothing was changed.
  }

  end(): void {
    // Nothing was changed.
  }

  #stop(signal: NodeJS.Signals): void {
    // The kernel would have discarded it, had we no handler.
    if (isGroupOrphaned(native().processGroup())) return;
    this.beforeStop?.();
    // SIGTSTP it would discard too: a session of its own is an orphaned group.
    this.#receiver.sendToGroup('SIGSTOP');
    native().raiseDefault(constants.signals[signal], false);
  }
}

/** In our own group: what the terminal sends to the group the child gets without us. */
export class FollowingJob implements Job {
  readonly session = 'inherit';
  readonly foreground = undefined;
  beforeStop: (() => void) | undefined;
  readonly #receiver = new Receiver();

  constructor(terminal: Terminal | null) {
    forwardToChild(this.#receiver, ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGCONT']);
    for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
      process.on(signal, () => {
        // From the keyboard the child has it already, and to many programs a second ^C means more.
        if (terminal?.isOurs() !== true) this.#receiver.send(signal);
      });
    }
    if (terminal === null) return;
    process.on('SIGCHLD', () => {
      this.#followStop();
    });
  }

  watch(child: Child): void {
    this.#receiver.begin(child);
  }

  abandon(): void {
    // Nothing was changed.
  }

  end(): void {
    // Nothing was changed.
  }

  /** A child that stops itself alone (`suspend` in a shell): our shell waits for us and not for it. */
  #followStop(): void {
    const { child } = this.#receiver;
    if (child === null) return;
    const signal = native().takeStop(child.pid);
    if (signal === 0) return;
    this.beforeStop?.();
    if (isGroupOrphaned(native().processGroup())) this.#receiver.send('SIGCONT');
    else native().raiseDefault(signal, false);
  }
}
