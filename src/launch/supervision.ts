// What happens to a child after its start: abort, timeout. Not part of the plan: the child never sees it.
import { addAbortListener } from 'node:events';

import { invalid } from '../errors.js';
import type { RawOptions } from '../plan/options.js';
import { abortError } from './cancellation.js';
import type { Child } from './child.js';
import { signalNumber } from '../signals.js';

export interface Supervision {
  readonly signal: AbortSignal | undefined;
  /** Milliseconds; 0: none. */
  readonly timeout: number;
  readonly killSignal: NodeJS.Signals | number;
}

/** @throws {SallyportTypeError} */
export function takeSupervision({ signal, timeout, killSignal }: RawOptions): Supervision {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'signal',
      'must be an AbortSignal; write killSignal for a signal to send',
    );
  }
  if (
    timeout !== undefined &&
    (typeof timeout !== 'number' || !(timeout >= 0) || timeout > 0x7fffffff)
  ) {
    throw invalid(
      'ERR_SALLYPORT_INVALID_ARGUMENT',
      'timeout',
      'must be milliseconds from 0 to 2147483647',
    );
  }
  if (killSignal !== undefined) signalNumber(killSignal, 'killSignal');
  return {
    signal,
    timeout: timeout ?? 0,
    killSignal: (killSignal ?? 'SIGTERM') as NodeJS.Signals | number,
  };
}

export function supervise(child: Child, { signal, timeout, killSignal }: Supervision): void {
  if (timeout > 0) {
    const timer = setTimeout(() => child.kill(killSignal), timeout);
    timer.unref();
    child.once('exit', () => {
      clearTimeout(timer);
    });
  }
  if (signal !== undefined) {
    const abort = (): void => {
      child.kill(killSignal);
      // As Node does, but only for those who listen: `exited` tells everybody else.
      if (child.listenerCount('error') > 0) child.emit('error', abortError(signal));
    };
    const listener = addAbortListener(signal, abort);
    child.once('exit', () => {
      listener[Symbol.dispose]();
    });
  }
}
