// Ends a child that was started and that nobody holds.
import { constants } from 'node:os';

import { native } from '../native.js';
import { ignoreExit } from './events.js';
import type { Launched } from './outcomes.js';
import { COMMAND } from './init-protocol.js';

const { SIGKILL } = constants.signals;

export function discard(launched: Launched): void {
  endUnheld(launched);
  native().releaseDescriptors(Int32Array.from(launched.ours));
}

/**
 * The same where somebody has our ends of its pipes already. With its group, where it leads one: it
 * may have started something. An init is told to end all that it has started: killed itself, it would
 * leave that behind.
 */
export function endUnheld({ id, pid, program }: Launched): void {
  ignoreExit(id);
  if (program !== pid) native().commandInit(id, COMMAND.kill, 0);
  else if (native().signalGroup(id, SIGKILL) !== 0) native().signal(id, SIGKILL);
  native().releaseZombie(id);
}
