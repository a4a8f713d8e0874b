// What Node calls the signal that ended a child.
import { constants } from 'node:os';

/** Realtime signals have no name there, and '' stands for them. */
export function nodeSignalName(signal: string): string {
  return Object.hasOwn(constants.signals, signal) ? signal : '';
}
