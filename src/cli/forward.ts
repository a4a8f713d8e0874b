// Passes signals that we receive on to the child.
import type { Child } from '../launch/child.js';
import { complain } from './output.js';

/** Whom signals are for: nobody before the child is known to us, and nobody after its end. */
export class Receiver {
  #child: Child | null = null;
  /** Each once, as the kernel keeps them for a process. */
  readonly #early = new Map<NodeJS.Signals, (child: Child) => unknown>();

  get child(): Child | null {
    return this.#child;
  }

  /** It may have run for a while: what came meanwhile was meant for it. */
  begin(child: Child): void {
    this.#child = child;
    for (const [signal, send] of this.#early) attempt(signal, () => send(child));
    this.#early.clear();
  }

  end(): void {
    this.#child = null;
  }

  send(signal: NodeJS.Signals): void {
    this.#pass(signal, (child) => child.kill(signal));
  }

  sendToGroup(signal: NodeJS.Signals): void {
    this.#pass(signal, (child) => child.killGroup(signal));
  }

  #pass(signal: NodeJS.Signals, send: (child: Child) => unknown): void {
    const child = this.#child;
    if (child === null) this.#early.set(signal, send);
    else attempt(signal, () => send(child));
  }
}

/** For a child that leads a group of its own. */
export function forwardToGroup(receiver: Receiver): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGWINCH'] as const) {
    process.on(signal, () => {
      receiver.sendToGroup(signal);
    });
  }
  forwardToChild(receiver, ['SIGUSR1', 'SIGUSR2']); // In its group they would end whoever does not expect them.
}

export function forwardToChild(receiver: Receiver, signals: readonly NodeJS.Signals[]): void {
  for (const signal of signals) {
    process.on(signal, () => {
      receiver.send(signal);
    });
  }
}

/** A refusal (the program runs as another user) is told: throwing would leave the child without us. */
function attempt(signal: NodeJS.Signals, send: () => unknown): void {
  try {
    send();
  } catch (error) {
    complain(`run: ${signal} was not passed on: ${(error as Error).message}`);
  }
}
