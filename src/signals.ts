// Signals by name and number, signal(7).
import { constants } from 'node:os';

import { invalid } from './errors.js';

const HIGHEST = 64; // SIGRTMAX on Linux

/** @throws {SallyportTypeError} `ERR_SALLYPORT_UNKNOWN_SIGNAL` */
export function signalNumber(signal: unknown, option: string): number {
  if (typeof signal === 'number' && Number.isInteger(signal) && signal >= 0 && signal <= HIGHEST)
    return signal;
  if (typeof signal === 'string' && Object.hasOwn(constants.signals, signal)) {
    return constants.signals[signal as NodeJS.Signals];
  }
  throw invalid(
    'ERR_SALLYPORT_UNKNOWN_SIGNAL',
    option,
    `must be a signal name such as 'SIGTERM', or a number from 0 to ${HIGHEST}`,
  );
}

const NAMES = new Map<number, NodeJS.Signals>();
for (const [name, number] of Object.entries(constants.signals)) {
  // The first name wins: SIGABRT before SIGIOT, SIGIO before SIGPOLL.
  if (!NAMES.has(number)) NAMES.set(number, name as NodeJS.Signals);
}

/** Realtime signals have no name in Node's table: `SIG34` as bash prints them is `SIGRTMIN`. */
export function signalName(number: number): NodeJS.Signals {
  return NAMES.get(number) ?? (`SIG${number}` as NodeJS.Signals);
}
