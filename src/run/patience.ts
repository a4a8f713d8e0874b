// Waiting that leaves nothing behind: for a time, for a look at the descriptors.

import { lookAtPipes } from '../launch/watched-pipes.js';

export class Patience {
  readonly over: Promise<undefined>;
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number) {
    this.over = new Promise((resolve) => {
      this.#timer = setTimeout(() => {
        resolve(undefined);
      }, milliseconds);
    });
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}

/** Until everything that can be read now has been looked at. */
export async function pollOnce(): Promise<void> {
  // Twice: the first turn may be the present one, after its look.
  await nextTurn();
  await nextTurn();
  lookAtPipes();
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
