// Passes signals that we receive on to the child.
import type { Child } from '../launch/child.js';
import { complain } from './output.js';

/** A refusal (the program runs as another user) is told: throwing would leave the child without us. */
export function sendToChild(child: Child | null, signal: NodeJS.Signals): void {
  attempt(signal, () => child?.kill(signal));
}

export function sendToGroup(child: Child | null, signal: NodeJS.Signals): void {
  attempt(signal, () => child?.killGroup(signal));
}

/** For a child that leads a group of its own. */
export function forwardToGroup(child: () => Child | null): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGWINCH'] as const) {
    process.on(signal, () => {
      sendToGroup(child(), signal);
    });
  }
  forwardToChild(child, ['SIGUSR1', 'SIGUSR2']); // In its group they would end whoever does not expect them.
}

export function forwardToChild(
  child: () => Child | null,
  signals: readonly NodeJS.Signals[],
): void {
  for (const signal of signals) {
    process.on(signal, () => {
      sendToChild(child(), signal);
    });
  }
}

function attempt(signal: NodeJS.Signals, send: () => unknown): void {
  try {
    send();
  } catch (error) {
    complain(`run: ${signal} was not passed on: ${(error as Error).message}`);
  }
}
